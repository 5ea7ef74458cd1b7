"""Without a network, set-up says so, and can be tried again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.test_setup import fresh, set_up  # noqa: F401


def test_without_a_network_setting_up_says_so(fresh: Path) -> None:
    unreachable = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}
    run = set_up(fresh, TORCH="cuda", **unreachable)
    assert run.returncode == 1
    assert "the package index cannot be reached" in run.stderr
    assert not (fresh / ".venv/tile-by-tile.installed").exists(), "an unfinished set-up must be tried again"
