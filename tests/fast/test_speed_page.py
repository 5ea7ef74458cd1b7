"""docs/speed.md says what the report says: an aim that is missed, a kernel that is wrong, a library that is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(("figure", "verdict"), [(0.951, "met"), (0.949, "met"), (0.94, "missed")])
def test_an_aim_is_met_or_missed_in_two_digits(figure: float, verdict: str, tmp_path: Path) -> None:
    text = page(tmp_path, row("copy", "limit", 4000.0), row("fast", "fast", 4000 * figure))
    line = next(line for line in text.splitlines() if line.startswith(f"| {AIM.family} {AIM.case} |"))
    assert ("missed" in line) == (verdict == "missed")


def test_what_was_not_timed_is_named(tmp_path: Path) -> None:
    text = page(
        tmp_path,
        row("copy", "limit", 4000.0),
        row("fast", "fast", None, "wrong", error=0.3),
        row("liger", "peer", None, "missing", note="not installed"),
    )
    assert "- fast: wrong, error 3.0e-01" in text
    assert "- liger: not installed" in text
    assert "linear: D64" in text
    assert text.count("**missed**") == 1
    assert f"0 of 1 met; {len(AIMS) - 1} open" in text
    assert (tmp_path / "speed-softmax.svg").read_text("utf-8").count("<svg") == 1


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="no report"):
        write_page(tmp_path / "other.json", tmp_path)
