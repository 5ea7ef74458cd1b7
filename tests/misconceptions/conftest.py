from __future__ import annotations

import pytest

from tests.judge.local_runner import LocalRunner


@pytest.fixture
def runner(tmp_path):
    """Simulates here; compiling is left out."""
    return LocalRunner(tmp_path, compiles=False)


@pytest.fixture
def compiling_runner(tmp_path):
    return LocalRunner(tmp_path)
