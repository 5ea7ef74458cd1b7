"""What all tests share: those that need a GPU are skipped, by name, where there is none."""

from __future__ import annotations

import pytest
import torch


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    no_gpu = pytest.mark.skip(reason="needs a CUDA GPU; make gpu-test runs it where there is one")
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(no_gpu)
