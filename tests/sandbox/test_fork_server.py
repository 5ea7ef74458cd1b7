"""The fork server: workers that share memory, each with the rights of the user who connected."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.sandbox import Sandbox, forked_worker
from classroom.workshop import simulated
from tests.sandbox.conftest import kernel, launch

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534


@pytest.fixture(scope="module")
def address() -> Iterator[Path]:
    """A running fork server's socket, where every user may reach it."""
    folder = Path(tempfile.mkdtemp(prefix="tbt-fork-"))
    folder.chmod(0o755)
    path = folder / "socket"
    command = [sys.executable, "-m", "checker.sandbox.fork_server", str(path)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert "forks workers" in server.stdout.readline()
    yield path
    server.terminate()
    server.wait(10)
    server.stdout.close()
    shutil.rmtree(folder)


@pytest.fixture
def forked(address: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.setenv(forked_worker.VARIABLE, str(address))
    with Sandbox() as sandbox:
        sandbox.ping()
        yield sandbox


def passes(sandbox: Sandbox) -> bool:
    return [result.status for result in sandbox.simulate(kernel(), [launch()])] == ["passed"]


def test_a_forked_worker_runs_kernels_as_any_other(forked: Sandbox, sandbox: Sandbox) -> None:
    assert isinstance(forked._worker._process, forked_worker.ForkedWorker)
    assert passes(forked)
    assert forked.tier == sandbox.tier
    assert set(forked.gaps) <= set(sandbox.gaps)


def test_its_memory_is_shared(forked: Sandbox) -> None:
    assert forked._worker.pid is not None
    assert simulated.private(forked._worker.pid) < 60, (
        "MB of its own; a worker that starts by itself has more than a hundred"
    )


def test_a_worker_that_died_is_replaced(forked: Sandbox) -> None:
    before = forked._worker.pid
    assert before is not None
    os.kill(before, 9)
    time.sleep(0.2)
    assert passes(forked)
    assert forked._worker.pid != before


def test_it_ends_with_its_notebook(forked: Sandbox) -> None:
    worker = forked._worker._process
    assert worker is not None
    forked.close()
    assert worker.poll() == 0


@pytest.mark.parametrize("socket", ["missing", "other code"])
def test_without_a_server_that_will_do_a_worker_is_started(
    address: Path, socket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if socket == "other code":
        monkeypatch.setattr(forked_worker, "stamp", lambda: "another")
    monkeypatch.setenv(forked_worker.VARIABLE, str(tmp_path / "none" if socket == "missing" else address))
    with Sandbox() as sandbox:
        assert passes(sandbox)
        assert isinstance(sandbox._worker._process, subprocess.Popen)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can fork workers for other users")
def test_a_worker_has_the_rights_of_who_asked(address: Path) -> None:
    """Somebody without any rights asks a server that runs as root."""
    asking = (
        "import os, pathlib, socket, sys, tempfile; sys.path.insert(0, sys.argv[1])\n"
        "from checker.sandbox import forked_worker; own = forked_worker.stamp(); forked_worker.stamp = lambda: own\n"
        f"os.setgroups([]); os.setresgid({NOBODY}, {NOBODY}, {NOBODY}); os.setresuid({NOBODY}, {NOBODY}, {NOBODY})\n"
        "near, far = socket.socketpair(); folder = pathlib.Path(tempfile.mkdtemp()); log = open(folder / 'log', 'wb')\n"
        "worker = forked_worker.fork(far, log.fileno(), folder, '', {'PATH': '/usr/bin'})\n"
        "status = pathlib.Path(f'/proc/{worker.pid}/status').read_text()\n"
        "print([line.split()[1:] for line in status.splitlines() if line.startswith(('Uid', 'Gid', 'Groups'))])\n"
    )
    environment = {"PATH": os.environ["PATH"], forked_worker.VARIABLE: str(address)}
    ran = subprocess.run(
        [sys.executable, "-c", asking, str(ROOT)], env=environment, capture_output=True, text=True, check=False
    )
    user, group, others = ast.literal_eval(ran.stdout or ran.stderr)
    assert user == group == [str(NOBODY)] * 4
    assert set(others) <= {str(NOBODY)}
