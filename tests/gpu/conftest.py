"""Fixtures for tests that need a GPU that PyTorch can use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from triton import JITFunction

from checker import gpu
from checker.sandbox import Limits, Sandbox
from checker.submission.load import load_kernel
from tests.judge.helpers import solution


@pytest.fixture(scope="module")
def cuda() -> None:
    if not gpu.available():
        pytest.skip("no GPU that PyTorch can use")


@pytest.fixture(scope="module")
def sandbox(cuda: None) -> Iterator[Sandbox]:
    with Sandbox(Limits(launch=20.0)) as one:
        yield one


@pytest.fixture(scope="module")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, JITFunction]:
    """The solutions in the module's `NAMES`, loaded into this process because we trust them."""
    folder = tmp_path_factory.mktemp("kernels")
    return {name: load_kernel(solution(name), folder) for name in request.module.NAMES}
