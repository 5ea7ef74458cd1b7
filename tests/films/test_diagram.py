"""On a stage, tensors that share an axis are aligned, and nothing overlaps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.films.layout import PlacedTensor
from tests.films import films


def span(t: PlacedTensor, axis: str) -> tuple[float, float]:
    x, y, w, h = t.place((0, t.rows, 0, t.cols))
    return (x, x + w) if axis == "x" else (y, y + h)


def test_attention_is_aligned_along_queries_and_keys(tmp_path: Path) -> None:
    for name, down, across in (
        ("flash_attention_v1", "q o m l", "k v"),
        ("attention_dq", "q do lse delta dq", "k v"),
        ("attention_dkdv", "k v dk dv", "q do lse delta"),
    ):
        layout = films.solved(name, tmp_path).film.layout
        assert layout.square is not None
        x, y, w, h = layout.square
        for t in down.split():
            assert span(layout.tensor(f"{t}_ptr"), "y") == pytest.approx((y, y + h), abs=0.2), (name, t)
        for t in across.split():
            assert span(layout.tensor(f"{t}_ptr"), "x") == pytest.approx((x, x + w), abs=0.2), (name, t)
        if name == "flash_attention_v1":
            q, k, v, o, m = (layout.tensor(f"{n}_ptr") for n in "qkvom")
            assert w / 64 == pytest.approx(h / 48, rel=0.01), "one scale for queries and keys"
            assert span(q, "x")[1] < x < x + w < span(m, "x")[0] < span(o, "x")[0], "inputs before, outputs behind"
            assert span(k, "y")[1] < y < y + h < span(v, "y")[0]


def test_a_state_is_drawn_where_its_product_would_be_written(tmp_path: Path) -> None:
    layout = films.solved("causal_linear_attention_chunked", tmp_path).film.layout
    q, k, v, o = (layout.tensor(f"{n}_ptr") for n in "qkvo")
    x, y, w, h = layout.state["after"]
    assert span(k, "y") == pytest.approx((y, y + h), abs=0.2)
    for t in (v, o):
        assert span(t, "x") == pytest.approx((x, x + w), abs=0.2)
    assert layout.square is not None
    assert layout.square[0] == pytest.approx(span(k, "x")[0], abs=0.2)
    assert span(q, "y") == pytest.approx(span(o, "y"), abs=0.2)
    assert layout.state["before"][1:] == (y, w, h), "before and after at one scale"


def test_an_arrow_leads_from_each_entry_that_is_read_to_its_page(tmp_path: Path) -> None:
    shot = films.solved("decode_attention_paged", tmp_path)
    table, pages = shot.values["block_table_ptr"][0].tolist(), shot.trace.tensors["k_ptr"].shape[0]
    assert shot.film.layout.gather is not None
    left, _, wide, _ = shot.film.layout.gather
    first, _ = span(shot.film.layout.tensor("block_table_ptr"), "x")
    each = shot.film.layout.tensor("block_table_ptr").ux
    drawn = re.search(r'class="leads" d="([^"]+)"', shot.html)
    assert drawn is not None
    strokes = re.findall(r"M([\d.]+) [\d.]+(?:l([-\d.]+) [-\d.]+|v[-\d.]+)", drawn[1])[::3]  # the others are heads
    leads = {
        int((float(x) - first) / each): int((float(x) + float(dx or 0) - left) * pages / wide) for x, dx in strokes
    }
    assert leads == dict(enumerate(table[:6])), "95 keys lie in six pages of 16, and no arrow starts past the length"
