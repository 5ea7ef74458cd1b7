"""What all tests share: the same random numbers in any order."""

from __future__ import annotations

import os
import sys

# nbformat imports jsonschema, which builds 38 Earley parsers of web addresses where this package is installed: 1.5 s for
# each process. No schema here asks for them.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")

# Workers share the processors: each with a thread for every one of them spends its time on waiting for the others.
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
torch.set_num_threads(max(1, torch.get_num_threads() // WORKERS))


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
