"""docs/speed.md repeats the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.speed_page import AIMS, write_page

AIM = AIMS[0]
FACTS = {"device": "NVIDIA H200", "torch": "2.11.0", "triton": "3.6.0"}


def row(name: str, kind: str, figure: float | None, status: str = "timed", **more: Any) -> dict[str, Any]:
    figures = None if figure is None else [figure, 0.98 * figure, 1.02 * figure]
    same = {"family": AIM.family, "case": AIM.case, "unit": "GB/s", "note": "", "error": None}
    return {**same, "name": name, "kind": kind, "status": status, "figure": figures, **more}


def page(folder: Path, *rows: dict[str, Any]) -> str:
    report = folder / "speed-h200.json"
    read = {"schema": "speed/v1", "date": "2026-11-23", "environment": FACTS, "rows": rows, "left_out": ["linear: D64"]}
    report.write_text(json.dumps(read), "utf-8")
    return write_page(report, folder).read_text("utf-8")


def test_the_page_reports_missed_aims_wrong_kernels_and_missing_libraries(tmp_path: Path) -> None:
    for figure, missed in ((0.951, False), (0.949, False), (0.94, True)):
        text = page(tmp_path, row("copy", "limit", 4000.0), row("fast", "fast", 4000 * figure))
        line = next(line for line in text.splitlines() if line.startswith(f"| {AIM.family} {AIM.case} |"))
        assert ("missed" in line) == missed, figure
    broken = row("fast", "fast", None, "wrong", error=0.3)
    absent = row("liger", "peer", None, "missing", note="not installed")
    text = page(tmp_path, row("copy", "limit", 4000.0), broken, absent)
    for words in ("- fast: wrong, error 3.0e-01", "- liger: not installed", "linear: D64"):
        assert words in text
    assert text.count("**missed**") == 1
    assert f"0 of 1 met; {len(AIMS) - 1} open" in text
