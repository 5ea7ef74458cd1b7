"""Jobs that try to do harm, each with a real attack. After every attack, the next job works."""

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
from tests.sandbox.conftest import ROOT, does, kernel, launch, soon, works

# Finds the socket to the trusted side as an attacker would, by looking at every open descriptor.
FIND = """
import os, socket, stat
def sockets():
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                yield fd
        except OSError:
            pass
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


FIFTY_MB = "torch.empty(50_000_000, dtype=torch.uint8)"
"""Never written, because a busy machine needs seconds for so many pages."""
HUGE_FILE = "open(os.environ['TMPDIR'] + '/x', 'wb').write(bytes(1 << 29))"


def run(sandbox: Sandbox, before: str) -> RunResult:
    results = list(sandbox.simulate(kernel(before), [launch(), launch()]))
    assert len(results) == 1, "the first result that does not pass is the last"
    works(sandbox)
    return results[0]


@pytest.mark.parametrize(
    ("before", "status", "words"),
    [
        pytest.param("while True: pass", "timeout", "did not finish within 2.5 s", id="endless loop"),
        pytest.param("import time; time.sleep(1000)", "timeout", "did not finish", id="sleep"),
        pytest.param("import os; os.abort()", "runtime_error", "crashed", id="abort"),
        pytest.param("import ctypes; ctypes.string_at(0)", "runtime_error", "SIGSEGV", id="segfault"),
        pytest.param("1 / 0", "runtime_error", "ZeroDivisionError", id="exception"),
        pytest.param("raise SystemExit(0)", "runtime_error", "ended the process", id="sys.exit"),
        pytest.param("raise KeyboardInterrupt", "protocol_error", "ended by itself", id="keyboard interrupt"),
        pytest.param("import os; os._exit(0)", "protocol_error", "exit code 0", id="os._exit"),
        pytest.param("import os; os.closerange(0, 1024); raise OSError", "protocol_error", "", id="closes all files"),
        pytest.param("x = bytearray(10 << 30)", "resource_limit", "memory", id="ten gigabytes"),
        pytest.param("import torch; x = torch.ones(10 << 28)", "resource_limit", "memory", id="a tensor of as many"),
        pytest.param(
            f"import torch; x = []\nwhile True: x.append({FIFTY_MB})", "resource_limit", "memory", id="growing"
        ),
        pytest.param(f"import os\n{HUGE_FILE}", "runtime_error", "", id="huge file"),
    ],
)
def test_a_job_that_does_not_end_well(sandbox: Sandbox, before: str, status: str, words: str) -> None:
    result = run(sandbox, before)
    assert result.status == status, result
    assert words in result.message
    assert not result.tensors


def test_endless_recursion_is_stopped_by_whichever_limit_comes_first(sandbox: Sandbox) -> None:
    result = run(sandbox, "def f(): f()\nimport sys; sys.setrecursionlimit(10**9); f()")
    assert result.status in ("resource_limit", "timeout", "protocol_error"), result
    assert not result.tensors


def test_an_endless_kernel_names_its_line(sandbox: Sandbox) -> None:
    (result,) = sandbox.simulate(does("i = 0", "while i < N:", "    i = i * 1"), [launch()])
    assert result.status == "timeout"
    assert result.line in (7, 8)
    works(sandbox)


def test_a_tile_of_ten_gigabytes_exceeds_the_memory_limit(sandbox: Sandbox) -> None:
    big = "big = tl.zeros((65536, 65536), dtype=tl.float32) + 1.0"
    (result,) = sandbox.simulate(does(big, "tl.store(z_ptr, tl.sum(tl.sum(big, axis=0), axis=0))"), [launch()])
    assert result.status in ("resource_limit", "runtime_error"), result
    assert result.status == "resource_limit" or "tensor" in result.message
    works(sandbox)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("b'A' * 4096", id="garbage"),
        pytest.param("b'\\xff' * 64", id="a frame of many exabytes"),
        pytest.param("struct.pack('<Q', 1 << 31)", id="a frame of two gigabytes"),
        pytest.param("frame(['list'])", id="no object"),
        pytest.param("frame({'type': 'JobStarted'})", id="a second start"),
        pytest.param("report(number=1)", id="late"),
        pytest.param("report(status='infra_error')", id="blames the checker"),
        pytest.param("report(verdict='passed')", id="sends a verdict"),
        pytest.param("report(message='x' * 100_000)", id="words without end"),
        pytest.param("report(trace=b'\\x91' * 100_000)", id="a trace without end"),
        pytest.param("report(trace=b'\\xdd' + b'\\xff' * 4)", id="a trace of four billion"),
        pytest.param("report(trace=msgspec.msgpack.encode([b'{}', [['|O', bytes(8)]]]))", id="an array of objects"),
        pytest.param("report(trace=msgspec.msgpack.encode([b'{}', []]))", id="half a trace"),
        pytest.param("report()", id="no trace"),
        pytest.param("report(trace=trace(grid=(1, 1, 1)))", id="the grid of another launch"),
        pytest.param("report(trace=trace(tensors={}, traffic={}, writers={}))", id="no tensors"),
        pytest.param("report(trace=trace(writers={}))", id="outputs that nobody stored"),
        pytest.param("report(trace=trace(traffic=traffic(0)))", id="stores without bytes"),
    ],
)
def test_frames_that_are_not_results(sandbox: Sandbox, data: str) -> None:
    result = run(sandbox, FIND + FORGED + f"for fd in sockets(): os.write(fd, {data})")
    assert result.status == "protocol_error", result
    assert "something that is no result" in result.message


def test_a_forged_pass_gains_nothing_but_its_own_bytes(sandbox: Sandbox) -> None:
    """An honest kernel's report without its output: the judge compares what is there."""
    attack = "for fd in sockets(): os.write(fd, report(trace=trace()))\nos._exit(0)"
    first, *rest = sandbox.simulate(kernel(FIND + FORGED + attack), [launch(), launch()])
    assert first.status == "passed", first
    assert torch.isnan(first.tensors["z_ptr"]).all()
    assert [r.status for r in rest] == ["protocol_error"]
    works(sandbox)


def test_outputs_written_without_a_store_are_noticed(sandbox: Sandbox) -> None:
    """The kernel finds the shared memory and writes the answer there, bypassing every count."""
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
    """It holds neither the control socket, nor the supervisor's report, nor another job's memory."""
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


# ------------------------------------------------------------------------------------------------ reaching outside


def test_the_network_is_out_of_reach(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        result = run(sandbox, f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)")
        assert result.status == "runtime_error"
        with pytest.raises(TimeoutError):
            server.accept()


PTRACE = """
import ctypes, os
def ptrace(pid):
    if ctypes.CDLL(None, use_errno=True).ptrace(16, pid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")
"""


def test_other_processes_are_out_of_reach(sandbox: Sandbox) -> None:
    for pid in (os.getpid(), sandbox.worker.pid):
        for call in (f"open('/proc/{pid}/mem', 'rb').read(1)", f"os.kill({pid}, 0)", f"ptrace({pid})"):
            result = run(sandbox, PTRACE + call)
            assert result.status == "runtime_error", call
            reasons = ("FileNotFoundError", "PermissionError", "ProcessLookupError")
            assert any(reason in result.message for reason in reasons), result


def test_nothing_is_written_outside(sandbox: Sandbox) -> None:
    places = [
        ROOT / "checker" / "forged.py",
        ROOT / "notebooks" / "forged",
        Path("/tmp/forged"),
        Path("/dev/shm/forged"),
    ]
    for place in places:
        result = run(sandbox, f"open({str(place)!r}, 'w').write('x')")
        assert result.status == "runtime_error", place
        assert not place.exists()


def test_solutions_and_secrets_are_not_readable(sandbox: Sandbox) -> None:
    system = ["/etc/shadow", "/etc/passwd", "/etc/ssh/sshd_config", "/dev/vda", "/root/.bashrc", "/etc/hosts"]
    for path in (str(ROOT / "solutions" / "row_softmax.py"), *system):
        result = run(sandbox, f"open({path!r}, 'rb').read(1)")
        assert result.status == "runtime_error", path
        assert "PermissionError" in result.message or not Path(path).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")
def test_root_is_given_up_wherever_python_lies(sandbox: Sandbox) -> None:
    """Even if only root may enter Python's folder."""
    assert "other_user" in sandbox.tier
    look = """
import os
assert (os.geteuid(), os.getegid(), os.getgroups()) == (65534, 65534, [])
held = [line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))]
assert all(int(bits, 16) in (0, 1 << 2) for bits in held), held
"""
    (result,) = sandbox.simulate(kernel(look), [launch()])
    assert result.status == "passed", result.message


def test_the_environment_is_scrubbed(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "42")
    with Sandbox() as fresh:
        (result,) = fresh.simulate(
            kernel("import os\nassert 'SECRET_OF_THE_PARENT' not in os.environ\nassert 'job-' in os.environ['HOME']"),
            [launch()],
        )
    assert result.status == "passed", result.message


# ----------------------------------------------------------------------------------------------------- descendants

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


@pytest.fixture(scope="module", params=["as strong as it gets", "without namespaces"])
def either(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[Sandbox]:
    if request.param == "without namespaces":
        with Sandbox(Limits(compile=30.0, simulate=1.0, processes=16), layers=("landlock", "seccomp")) as weaker:
            yield weaker
    else:
        yield sandbox


def test_orphans_die_with_their_job(either: Sandbox) -> None:
    """A compile job may start programs (the assembler). This one leaves a daemon in a session of its own."""
    seen = DAEMON + "\nimport glob\nassert os.path.exists('/proc/self')\n"
    results = list(either.compile(kernel(seen), [REQUEST]))
    assert results[-1].status in ("passed", "compile_error")
    assert soon(lambda: not survivors(MARK), seconds=5)
    works(either)


def test_a_job_that_forks_without_end_ends(either: Sandbox) -> None:
    bomb = "import os, time\nfor _ in range(1000):\n    if os.fork() == 0: time.sleep(300)\ntime.sleep(300)"
    results = list(either.compile(kernel(bomb), [REQUEST]))
    assert results[-1].status == "resource_limit"
    assert "more processes" in results[-1].message
    works(either)
    pid = either.worker.pid
    children = Path(f"/proc/{pid}/task/{pid}/children")
    assert soon(lambda: not children.read_text().split(), seconds=20), "the worker has descendants after its jobs"


def test_a_compiler_that_hangs_is_a_timeout() -> None:
    with Sandbox(Limits(compile=1.5)) as hasty:
        (result,) = hasty.compile(kernel("while True: pass"), [REQUEST])
        assert result.status == "timeout"
        assert "1.5 s" in result.message
        works(hasty)
