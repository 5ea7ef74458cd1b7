"""Runs every test marked `gpu` and writes `reports/gpu-<device>.json`: the versions, how many passed, and which did not.

Exits with pytest's status. A run that is cut off still writes what it saw. Refuses to run without a GPU, where every test is skipped.
"""

from __future__ import annotations

import json
import platform
import re
import signal
import sys
from collections import Counter
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NEED_A_BROWSER = ("tests/browser", "tests/classroom/workshop/test_slides.py", "tests/live/test_page.py")


def environment() -> dict[str, str]:
    """Device and versions. Exits if torch sees no GPU."""
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU here; `python -m checker doctor` says why.")
    major, minor = torch.cuda.get_device_capability()
    return {
        "device": torch.cuda.get_device_name(),
        "capability": f"{major}.{minor}",
        "cuda": str(torch.version.cuda),
        "python": platform.python_version(),
        **{package: version(package) for package in ("torch", "triton", "numpy")},
    }


def slug(device: str) -> str:
    """``NVIDIA H100 80GB HBM3`` as a file name: ``h100-80gb-hbm3``."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower().removeprefix("nvidia")).strip("-")


class Outcomes:
    """A pytest plugin that remembers what became of each test, also with pytest-xdist."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self.of[report.nodeid] = "failed" if report.failed else report.outcome


def main() -> int:
    facts = environment()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a time limit then ends the run as Ctrl-C does
    outcomes = Outcomes()
    ignored = [f"--ignore={path}" for path in NEED_A_BROWSER]
    status = pytest.main(["-m", "gpu", *ignored, *sys.argv[1:]], plugins=[outcomes])
    counts = Counter(outcomes.of.values())
    failed = sorted(test for test, outcome in outcomes.of.items() if outcome == "failed")
    today = datetime.now(UTC).date().isoformat()
    report = {"date": today, "environment": facts, "exit_status": int(status), **counts, "failing": failed}
    path = ROOT / "reports" / f"gpu-{slug(facts['device'])}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(f"wrote {path.relative_to(ROOT)}")
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
