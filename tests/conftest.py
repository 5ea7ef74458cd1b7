"""What all tests share: the same random numbers in any order, and those that need a GPU are skipped, by name, without one."""

from __future__ import annotations

import os

import pytest
import torch
from hypothesis import HealthCheck, settings

from tools import judged

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# Workers share the processors: each with a thread for every one of them spends its time on waiting for the others.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
torch.set_num_threads(max(1, torch.get_num_threads() // WORKERS))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    no_gpu = pytest.mark.skip(reason="needs a CUDA GPU; make gpu-test runs it where there is one")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)


@pytest.fixture(autouse=True)
def _the_same_random_numbers() -> None:
    """Whichever tests ran before: one that fails once in a hundred draws has to fail always, or never."""
    torch.manual_seed(0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many kernels were judged is said where any was to be."""
    ran = [report for reports in terminalreporter.stats.values() for report in reports if hasattr(report, "nodeid")]
    if any(report.nodeid.startswith(judged.TESTS) for report in ran):
        terminalreporter.line(judged.summary(os.environ.get("JUDGE", "")))
