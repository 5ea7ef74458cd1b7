"""What all tests share: the same random numbers in any order, and those that need a GPU are skipped, by name, without one."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, settings

# A busy machine is slow, and no test here is about time.
settings.register_profile("course", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("course")


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
