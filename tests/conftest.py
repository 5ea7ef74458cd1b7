"""What all tests share: the same random numbers in any order, and one fork server for all worker processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# nbformat imports jsonschema, which builds 38 Earley parsers of web addresses where this package is installed: 1.5 s for
# each process. No schema here asks for them.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from checker.sandbox import forked_worker, linux  # noqa: E402

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# Workers share the processors: each with a thread for every one of them spends its time on waiting for the others.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
torch.set_num_threads(max(1, torch.get_num_threads() // WORKERS))

ROOT = Path(__file__).resolve().parent.parent
FORK_SERVER = pytest.StashKey[tuple["subprocess.Popen[bytes]", Path]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests of several processes one fork server: a sandbox that starts by itself takes 2.5 s to import torch and Triton."""
    if not config.getoption("numprocesses", None) or config.option.collectonly:
        return
    folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-fork-"))
    folder.chmod(0o755)
    os.environ[forked_worker.VARIABLE] = str(folder / "socket")
    command = [sys.executable, "-m", "checker.sandbox.fork_server", str(folder / "socket")]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, preexec_fn=_end_with_this_process)
    config.stash[FORK_SERVER] = server, folder


def _end_with_this_process() -> None:
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGTERM)


def pytest_unconfigure(config: pytest.Config) -> None:
    if running := config.stash.get(FORK_SERVER, None):
        server, folder = running
        server.terminate()
        server.wait()
        shutil.rmtree(folder)


@pytest.fixture
def own_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sandboxes start their workers by themselves, as on a learner's machine."""
    monkeypatch.delenv(forked_worker.VARIABLE, raising=False)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need a GPU where there is none."""
    if torch.cuda.is_available():
        return
    no_gpu = pytest.mark.skip(reason="needs a CUDA GPU; `make gpu-test` runs it on a machine with one")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


@pytest.fixture(autouse=True)
def _the_same_random_numbers() -> None:
    """Whichever tests ran before: one that fails once in a hundred draws has to fail always, or never."""
    torch.manual_seed(0)
