"""What all tests share: the same random numbers in any order, and those that need a GPU are skipped, by name, without one."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import HealthCheck, settings

from checker.puzzle import Puzzle
from tools import judged

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# Workers share the processors: each with a thread for every one of them spends its time on waiting for the others.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
torch.set_num_threads(max(1, torch.get_num_threads() // WORKERS))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a GPU leave out, by name, what needs one; and the kernels whose verdicts are known (see `tools.judged`)."""
    tests = {item.nodeid: subject_of(item) for item in items if item.get_closest_marker("judged")}
    if unknown := [test for test, subject in tests.items() if subject not in judged.SUBJECTS]:
        raise pytest.UsageError(f"marked as judged, but of no puzzle or notebook: {', '.join(unknown)}")
    left_out = tests.keys() - judged.chosen(tests, os.environ.get("JUDGE", ""))
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
    named = parameters.get(
        "puzzle", parameters.get("misconception", parameters.get("key", parameters.get("notebook", "")))
    )
    if isinstance(named, Puzzle):
        return named.name
    return str(getattr(named, "puzzle", named)).partition(":")[0]


@pytest.fixture(autouse=True)
def _the_same_random_numbers() -> None:
    """Whichever tests ran before: one that fails once in a hundred draws has to fail always, or never."""
    torch.manual_seed(0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which kernels were judged is said where any was."""
    ran = [report for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "nodeid")]
    if any("judged" in getattr(report, "keywords", ()) for report in ran):
        terminalreporter.line(judged.summary(os.environ.get("JUDGE", "")))
