"""What all tests share: random numbers that do not depend on the order, and the choice of tests that run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# nbformat imports jsonschema, which builds 38 Earley parsers of web addresses where this package is installed: 1.5 s for
# each process. No schema here asks for them.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from checker.puzzle import Puzzle  # noqa: E402
from checker.sandbox import forked_worker, linux  # noqa: E402
from tools import judged  # noqa: E402

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# Workers share the processors: each with a thread for every one of them spends its time on waiting for the others.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
torch.set_num_threads(max(1, torch.get_num_threads() // WORKERS))

JUDGE = os.environ.get("JUDGE", "")
ROOT = Path(__file__).resolve().parent.parent
STALE = pytest.StashKey[list[str]]()
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


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker process what this one found out."""
    node.workerinput["stale"] = stale(node.config)


def stale(config: pytest.Config) -> list[str]:
    """The subjects to judge again, computed once for all processes; not needed where the variable JUDGE says what to judge."""
    if STALE not in config.stash:
        known = getattr(config, "workerinput", {}).get("stale")
        config.stash[STALE] = known if known is not None else [] if JUDGE else judged.stale()
    return config.stash[STALE]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a GPU leave out, by name, what needs one; and the kernels whose verdicts are known (see `tools.judged`)."""
    tests = {item.nodeid: subject_of(item) for item in items if item.get_closest_marker("judged")}
    if unknown := [test for test, subject in tests.items() if subject not in judged.SUBJECTS]:
        raise pytest.UsageError(f"marked as judged, but of no puzzle, notebook or other subject: {', '.join(unknown)}")
    slow = {item.nodeid for item in items if item.get_closest_marker("slow")}
    if left_out := tests and tests.keys() - judged.chosen(tests, JUDGE, stale(config), slow):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]
    if torch.cuda.is_available():
        return
    no_gpu = pytest.mark.skip(reason="needs a CUDA GPU; make gpu-test runs it where there is one")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


def subject_of(item: pytest.Item) -> str:
    """What a test judges: what its mark says, or the puzzle or notebook that its parameters are of; empty where there is none."""
    mark = item.get_closest_marker("judged")
    if mark is not None and mark.args:
        return str(mark.args[0])
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    names = ("puzzle", "misconception", "key", "notebook", "name")
    named = next((parameters[name] for name in names if name in parameters), "")
    if isinstance(named, Puzzle):
        return named.name
    return str(getattr(named, "puzzle", named)).partition(":")[0]


@pytest.fixture(autouse=True)
def _the_same_random_numbers() -> None:
    """Whichever tests ran before: one that fails once in a hundred draws has to fail always, or never."""
    torch.manual_seed(0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Which kernels were judged is said where any was."""
    ran = [report for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "nodeid")]
    if any("judged" in getattr(report, "keywords", ()) for report in ran):
        terminalreporter.line(judged.summary(JUDGE, stale(config)))
