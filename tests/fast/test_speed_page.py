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


@pytest.mark.parametrize(("figure", "verdict"), [(0.951, "met"), (0.949, "met"), (0.94, "**missed**")])
def test_an_aim_is_met_or_missed_in_two_digits(figure: float, verdict: str, tmp_path: Path) -> None:
    text = page(tmp_path, row("copy", "limit", 4000.0), row("fast", "fast", 4000 * figure))
    assert text.split(f"| {AIM.name} | {AIM.ratio:.2f} of {AIM.versus} |")[1].split("|")[1].strip() == verdict


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


def test_a_length_that_fits_no_tile_is_compared_with_the_one_beside_it(tmp_path: Path) -> None:
    rows = [
        row("fast", "fast", figure) | {"case": f"float32 8192 × {n}"} for n, figure in ((4096, 4000.0), (4097, 2900.0))
    ]
    text = page(tmp_path, *rows)
    assert "| Softmax, float32 8192 × 4097 | fast | 4096 | 0.72 **a cliff** |" in text
    rows = [row("fast", "fast", 100.0) | {"family": "forward", "case": f"D128 full b2 h16 n{n}"} for n in (1000, 1024)]
    assert "| Attention, forward, D128 full b2 h16 n1000 | fast | 1024 | 1.00 |" in page(tmp_path, *rows)


def test_eight_bits_are_shown_with_their_error(tmp_path: Path) -> None:
    case = {"family": "forward", "case": "D128 full b1 h16 n16384", "unit": "TFLOP/s"}
    eight = row("fast, FP8", "fast", 800.0, error=0.053, note="with outlier channels 1.2e-01") | case
    text = page(tmp_path, row("fast", "fast", 578.0, error=0.0023) | case, eight)
    assert "In this run, D128 full b1 h16 n16384: 5.3e-02 (bf16 2.3e-03); with outlier channels 1.2e-01." in text
    assert "fast, FP8" not in text.split("## Attention")[0]
    assert "*fast, FP8*" not in page(tmp_path, row("fast", "fast", 578.0) | case)


def test_split_keys_stand_beside_a_copy(tmp_path: Path) -> None:
    case = {"family": "decode", "case": "D128 b1 h32 over 8 n65536"}
    text = page(tmp_path, row("copy", "limit", 4000.0) | case, row("fast, split", "fast", 3000.0) | case)
    assert "| case | unit | copy | fast, split |" in text.split("## Attention, one query a head")[1]
    assert "the limit is a copy" in text
    assert (tmp_path / "speed-decode.svg").exists()


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ValueError, match="no report"):
        write_page(tmp_path / "other.json", tmp_path)
