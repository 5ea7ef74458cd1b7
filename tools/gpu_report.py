"""Runs every test marked `gpu` and writes what came out to `reports/gpu-<device>.json` and a short table beside it.

Exits with pytest's own status. A run that is cut off leaves what it saw. Refuses to write a report on a machine without a GPU, where every such test is skipped.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "reports"
INTERRUPTED = 130
NEED_A_BROWSER = ("tests/browser", "tests/classroom/workshop/test_slides.py")


def environment() -> dict[str, str]:
    """Device and versions. Exits where torch sees no GPU."""
    import numpy
    import torch
    import triton

    if not torch.cuda.is_available():
        raise SystemExit("torch sees no GPU here, so there is nothing to report; `python -m checker doctor` says why.")
    major, minor = torch.cuda.get_device_capability()
    return {
        "device": torch.cuda.get_device_name(),
        "capability": f"{major}.{minor}",
        "cuda": str(torch.version.cuda),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "numpy": numpy.__version__,
    }


def run_tests(arguments: list[str]) -> tuple[int, list[dict[str, Any]]]:
    """pytest's exit status, and one row per test, in the order of collection."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "rows.jsonl"
        command = [sys.executable, "-m", "pytest", "-m", "gpu", "-p", "tools.gpu_rows"]
        command += [*(f"--ignore={path}" for path in NEED_A_BROWSER), *arguments]
        try:
            status = subprocess.run(command, cwd=ROOT, check=False, env=os.environ | {"GPU_ROWS": str(seen)}).returncode
        except (KeyboardInterrupt, SystemExit):  # pytest has been ended by now; what it saw is worth a report
            status = INTERRUPTED
        return status, rows(seen.read_text("utf-8")) if seen.exists() else []


def rows(lines: str) -> list[dict[str, Any]]:
    """What `gpu_rows` wrote, the last word on each test; an error while a test is taken down outweighs that it passed."""
    return list({row["test"]: row for row in map(json.loads, lines.splitlines())}.values())


def slug(device: str) -> str:
    """``NVIDIA H100 80GB HBM3`` as a file name: ``h100-80gb-hbm3``."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower().removeprefix("nvidia")).strip("-")


def markdown(report: dict[str, Any]) -> str:
    facts, tests = report["environment"], report["tests"]
    count = Counter(t["outcome"] for t in tests)
    unfinished = f", {count['not finished']} not finished: the run was cut off" if count["not finished"] else ""
    lines = [
        f"# {facts['device']}",
        "",
        f"{report['date']}: {count['passed']} of {len(tests)} tests passed, {count['failure'] + count['error']} failed, "
        f"{count['skipped']} skipped{unfinished}.",
        "",
        "| " + " | ".join(facts) + " |",
        "|" + "---|" * len(facts),
        "| " + " | ".join(facts.values()) + " |",
        "",
        "| test | outcome | seconds |",
        "|---|---|---|",
        *(f"| {t['test']} | {t['outcome']} | {t['seconds']} |" for t in tests),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    facts = environment()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))  # a time limit: as if somebody had pressed Ctrl-C
    status, tests = run_tests(sys.argv[1:])
    report = {
        "schema": "gpu-report/v1",
        "date": datetime.now(UTC).date().isoformat(),
        "environment": facts,
        "exit_status": status,
        "tests": tests,
    }
    REPORTS.mkdir(exist_ok=True)
    path = REPORTS / f"gpu-{slug(facts['device'])}.json"
    page = path.with_suffix(".md")
    path.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    page.write_text(markdown(report), "utf-8")
    print(f"wrote {path.relative_to(ROOT)} and {page.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
