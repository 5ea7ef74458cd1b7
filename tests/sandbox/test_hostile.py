"""Real attacks on the sandbox. After each of them, the next job works."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from checker.compiler import CompileRequest
from checker.judge.runner import RunResult
from checker.sandbox import Limits, Sandbox
from tests.sandbox.conftest import ROOT, SECRET, does, kernel, launch, soon, works

# Finds the socket to the trusted side, and the memory it shares, as an attacker would: by looking at every open descriptor.
FIND = """
import os
def opened(kind):
    for fd in os.listdir("/proc/self/fd"):
        door = "/proc/self/fd/" + fd
        if os.path.lexists(door) and os.readlink(door).startswith(kind):
            yield int(fd)
def sockets(): return opened("socket:")
def memories(): return opened("/memfd:")
"""
FORGED = """
import msgspec, numpy, struct
from checker.simulator import trace_codec
from checker.simulator.trace import TensorInfo, Trace, Traffic
def traffic(stored):
    return {"x_ptr": Traffic(148, 0, 3, 0), "y_ptr": Traffic(148, 0, 3, 0), "z_ptr": Traffic(0, stored, 0, 3)}
def trace(**changes):
    '''What the simulator reports about an honest kernel.'''
    tensors = {name: TensorInfo((37,), (1,), "float32") for name in ("x_ptr", "y_ptr", "z_ptr")}
    fields = {"grid": (3, 1, 1), "tensors": tensors, "traffic": traffic(148), "writers": {"z_ptr": numpy.arange(37) // 16}}
    return trace_codec.encode(Trace(events=[], findings=[], **(fields | changes)))
def frame(*messages):
    text = b"".join(map(msgspec.msgpack.encode, messages))
    return struct.pack("<Q", len(text)) + text
def report(**changes):
    return frame({"type": "LaunchReport", "number": 0, "status": "passed"} | changes)
"""


def run(sandbox: Sandbox, before: str) -> RunResult:
    results = list(sandbox.simulate(kernel(before), [launch(), launch()]))
    assert len(results) == 1, "the first result that does not pass is the last"
    works(sandbox)
    return results[0]


BAD_ENDINGS = (
    ("while True: pass", "timeout", "did not finish within 2.5 s"),
    ("import ctypes; ctypes.string_at(0)", "runtime_error", "SIGSEGV"),
    ("1 / 0", "runtime_error", "ZeroDivisionError"),
    ("raise SystemExit(0)", "runtime_error", "ended the process"),
    ("raise KeyboardInterrupt", "protocol_error", "ended by itself"),
    ("import os; os._exit(0)", "protocol_error", "exit code 0"),
    ("import os; os.closerange(0, 1024); raise OSError", "protocol_error", ""),
    ("x = bytearray(10 << 30)", "resource_limit", "memory"),
    (f"{FIND}for fd in memories(): os.ftruncate(fd, 0)", "runtime_error", "PermissionError"),
    # The memory is never written, because a busy machine takes seconds for so many pages.
    (
        "import torch; x = []\nwhile True: x.append(torch.empty(50_000_000, dtype=torch.uint8))",
        "resource_limit",
        "memory",
    ),
    ("import os; open(os.environ['TMPDIR'] + '/x', 'wb').write(bytes(1 << 29))", "runtime_error", ""),
    ("def f(): f()\nimport sys; sys.setrecursionlimit(10**9); f()", "resource_limit|timeout|protocol_error", ""),
)


def test_a_job_that_hangs_crashes_or_grows_is_reported_without_results(sandbox: Sandbox) -> None:
    for attack, statuses, words in BAD_ENDINGS:
        result = run(sandbox, attack)
        assert result.status in statuses.split("|"), (attack, result)
        assert words in result.message, attack
        assert not result.tensors, attack


def test_an_endless_kernel_names_its_line(sandbox: Sandbox) -> None:
    (result,) = sandbox.simulate(does("i = 0", "while i < N:", "    i = i * 1"), [launch()])
    assert result.status == "timeout"
    assert result.line in (7, 8)
    works(sandbox)


NOT_RESULTS = {
    "garbage": "b'A' * 4096",
    "a frame of many exabytes": "b'\\xff' * 64",
    "a second start": "frame({'type': 'JobStarted'})",
    "late": "report(number=1)",
    "blames the checker": "report(status='infra_error')",
    "sends a verdict": "report(verdict='passed')",
    "a trace without end": "report(trace=b'\\x91' * 100_000)",
    "no trace": "report()",
    "the grid of another launch": "report(trace=trace(grid=(1, 1, 1)))",
    "no tensors": "report(trace=trace(tensors={}, traffic={}, writers={}))",
    "outputs that nobody stored": "report(trace=trace(writers={}))",
    "stores without bytes": "report(trace=trace(traffic=traffic(0)))",
}


def test_frames_that_are_not_results_are_protocol_errors(sandbox: Sandbox) -> None:
    for name, data in NOT_RESULTS.items():
        result = run(sandbox, FIND + FORGED + f"for fd in sockets(): os.write(fd, {data})")
        assert result.status == "protocol_error", (name, result)
        assert "something that is no result" in result.message, name


def test_a_forged_pass_gains_nothing(sandbox: Sandbox) -> None:
    """The attack sends an honest kernel's report without its output, but the judge compares the actual bytes."""
    attack = "for fd in sockets(): os.write(fd, report(trace=trace()))\nos._exit(0)"
    first, *rest = sandbox.simulate(kernel(FIND + FORGED + attack), [launch(), launch()])
    assert first.status == "passed", first
    assert torch.isnan(first.tensors["z_ptr"]).all()
    assert [r.status for r in rest] == ["protocol_error"]
    works(sandbox)


def test_an_output_written_without_a_store_is_a_protocol_error(sandbox: Sandbox) -> None:
    """The kernel finds the shared memory and writes the answer there, bypassing the counts."""
    attack = """
import gc, torch
def answer():
    tensors = [t for t in gc.get_objects() if isinstance(t, torch.Tensor) and t.shape == (37,)]
    assert tensors
    for tensor in tensors:
        tensor.fill_(1.0)
answer()
for fd in sockets(): os.write(fd, report(trace=trace(writers={"z_ptr": numpy.full(37, -1)})))
os._exit(0)
"""
    result = run(sandbox, FIND + FORGED + attack)
    assert result.status == "protocol_error", result
    assert "nothing stored" in result.message


def test_a_job_holds_one_socket_and_the_memory_of_its_launches(sandbox: Sandbox) -> None:
    """No control socket, no supervisor's report, no other job's memory."""
    look = """
doors = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
kinds = sorted(os.readlink(door).split(":")[0] for door in doors if os.path.lexists(door))
assert kinds == ["/memfd", "socket"], kinds
"""
    (result,) = sandbox.simulate(kernel(FIND + look), [launch()])
    assert result.status == "passed", result.message


def test_frames_on_stdout_are_only_output(sandbox: Sandbox) -> None:
    forged = FORGED + "import os\nfor fd in (1, 2): os.write(fd, report())\n"
    bound = launch()
    (result,) = sandbox.simulate(kernel(forged), [bound])
    assert result.status == "passed"
    assert torch.equal(result.tensors["z_ptr"], bound.arguments["x_ptr"] + 0.5)


def test_a_flood_of_output_is_capped(sandbox: Sandbox) -> None:
    result = run(
        sandbox, "import os\nfor _ in range(3000): os.write(1, b'x' * 65536)\nos.write(1, b'END')\nos._exit(3)"
    )
    assert result.status == "protocol_error"
    assert len(result.detail) <= 64 * 1024 + 100
    assert result.detail.endswith("END")


def test_inputs_and_earlier_results_are_copies(sandbox: Sandbox) -> None:
    bound = launch(16)
    before = bound.arguments["x_ptr"].clone()  # type: ignore[union-attr]
    results = sandbox.simulate(does("tl.store(x_ptr + tl.arange(0, BLOCK_N), 0.0)"), [bound, launch(), launch()])
    first = next(results).tensors["x_ptr"]
    kept = first.clone()
    list(results)
    assert torch.equal(bound.arguments["x_ptr"], before)  # type: ignore[arg-type]
    assert torch.equal(first, kept)
    assert not kept.any()


CALL = """
import ctypes
def call(name, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
"""
WRITABLE_BY_NOBODY = (
    ROOT / "checker/forged.py",
    ROOT / "notebooks/forged",
    Path("/tmp/forged"),
    Path("/dev/shm/forged"),
)
SECRETS = ("/etc/shadow", "/etc/passwd", "/etc/ssh/sshd_config", "/dev/vda", "/root/.bashrc", "/etc/hosts")


def test_a_job_reaches_no_network_process_file_or_secret_outside(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        attacks = [f"import socket; socket.create_connection({server.getsockname()}, 1)"]
        for pid in (os.getpid(), sandbox.worker.pid):
            attacks += [f"open('/proc/{pid}/mem', 'rb').read(1)", f"import os; os.kill({pid}, 0)"]
            attacks.append(f"{CALL}call('ptrace', 16, {pid}, None, None)")
        new_user, io_uring_setup = 0x10000000, 425
        attacks += [f"{CALL}call('unshare', {new_user})", f"{CALL}call('syscall', {io_uring_setup}, 8, None)"]
        attacks += [f"open({str(path)!r}, 'w').write('x')" for path in WRITABLE_BY_NOBODY]
        attacks += [f"open({str(path)!r}, 'rb').read(1)" for path in (ROOT / "solutions/row_softmax.py", *SECRETS)]
        denials = ("PermissionError", "FileNotFoundError", "ProcessLookupError", "unreachable")
        for attack in attacks:
            result = run(sandbox, attack)
            assert result.status == "runtime_error", attack
            assert any(denial in result.message for denial in denials), (attack, result)
            missing = [path for path in SECRETS if repr(path) in attack and "FileNotFoundError" in result.message]
            assert not any(Path(path).exists() for path in missing), attack
        with pytest.raises(TimeoutError):
            server.accept()
    assert not any(path.exists() for path in WRITABLE_BY_NOBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")
def test_a_job_gives_up_root(sandbox: Sandbox) -> None:
    """Even if Python is in a folder that only root may enter."""
    assert "other_user" in sandbox.tier
    look = """
import os
assert (os.geteuid(), os.getegid(), os.getgroups()) == (65534, 65534, [])
held = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))]
assert all(int(bits, 16) in (0, 1 << 2) for bits in held), held
"""
    (result,) = sandbox.simulate(kernel(look), [launch()])
    assert result.status == "passed", result.message


def test_a_job_sees_no_environment_variable_of_its_parent(sandbox: Sandbox) -> None:
    look = f"import os\nassert {SECRET!r} not in os.environ\nassert 'job-' in os.environ['HOME']"
    (result,) = sandbox.simulate(kernel(look), [launch()])
    assert result.status == "passed", result.message


MARK = "tile-by-tile-orphan"
DAEMON = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [{MARK!r}, "-S", "-c", "import time; time.sleep(300)"])
    os._exit(0)
time.sleep(0.5)
"""


def survivors(mark: str) -> list[int]:
    pids = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in entry.read_bytes().split(b"\0")[0].decode(errors="replace"):
                pids.append(int(entry.parent.name))
        except OSError:
            continue
    return pids


def test_a_simulation_starts_no_program(sandbox: Sandbox) -> None:
    result = run(sandbox, DAEMON)
    assert result.status == "runtime_error"
    assert "PermissionError" in result.message


REQUEST = CompileRequest(
    80, {"x_ptr": "*fp32", "y_ptr": "*fp32", "z_ptr": "*fp32", "N": "i32"}, {"BLOCK_N": 16}, {"num_warps": 4}
)


@pytest.fixture(scope="module", params=["every layer", "without namespaces"])
def either(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[Sandbox]:
    if request.param == "without namespaces":
        with Sandbox(Limits(compile=30.0, simulate=1.0, processes=16), layers=("landlock", "seccomp")) as weaker:
            yield weaker
    else:
        yield sandbox


def test_a_daemon_dies_with_its_job(either: Sandbox) -> None:
    """A compile job may start programs, such as the assembler. This one leaves a daemon in a new session."""
    seen = DAEMON + "\nimport glob\nassert os.path.exists('/proc/self')\n"
    results = list(either.compile(kernel(seen), [REQUEST]))
    assert results[-1].status in ("passed", "compile_error")
    assert soon(lambda: not survivors(MARK), seconds=5)
    works(either)


def test_a_fork_bomb_ends(either: Sandbox) -> None:
    bomb = "import os, time\nfor _ in range(1000):\n    if os.fork() == 0: time.sleep(300)\ntime.sleep(300)"
    results = list(either.compile(kernel(bomb), [REQUEST]))
    assert results[-1].status == "resource_limit"
    assert "more processes" in results[-1].message
    works(either)
    pid = either.worker.pid
    children = Path(f"/proc/{pid}/task/{pid}/children")
    assert soon(lambda: not children.read_text().split(), seconds=20), "the worker has descendants after its jobs"
