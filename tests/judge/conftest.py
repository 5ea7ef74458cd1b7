from __future__ import annotations

import pytest

from checker.live.in_process import InProcess


@pytest.fixture
def runner(tmp_path):
    """Simulates here; compiling is left out."""
    return InProcess(tmp_path, compiles=False)


@pytest.fixture
def compiling_runner(tmp_path):
    return InProcess(tmp_path)
