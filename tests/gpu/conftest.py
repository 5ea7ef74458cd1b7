"""Tests marked `gpu` are skipped, and say so, where there is no GPU that PyTorch can use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checker import gpu
from checker.sandbox import Limits, Sandbox


@pytest.fixture
def cuda() -> None:
    if not gpu.available():
        pytest.skip("no GPU that PyTorch can use")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    if not gpu.available():
        pytest.skip("no GPU that PyTorch can use")
    with Sandbox(Limits(launch=20.0)) as one:
        yield one
