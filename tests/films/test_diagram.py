"""The stage by its axes: what shares one is aligned, nothing overlaps, and a new shape of puzzle is a declaration."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checker.course import PUZZLES
from checker.films import film_html
from checker.films.film_data import FilmData, film_data
from checker.films.layout import PlacedTensor
from checker.puzzle import Band, Diagram, Drawn, Enlarged, FilmSpec, Square
from checker.simulator.trace import Event, Trace
from tests.films import films, traces

Rect = tuple[float, float, float, float]


def span(t: PlacedTensor, axis: str) -> tuple[float, float]:
    x, y, w, h = t.place((0, t.rows, 0, t.cols))
    return (x, x + w) if axis == "x" else (y, y + h)


def rects(film: FilmData) -> list[Rect]:
    layout = film.layout
    out = [q for t in layout.tensors for q in t.bodies] + layout.lens + list(layout.state.values())
    return [*out, layout.square] if layout.square else out


def assert_apart(film: FilmData) -> None:
    for a, b in itertools.combinations(rects(film), 2):
        apart = a[0] + a[2] <= b[0] or b[0] + b[2] <= a[0] or a[1] + a[3] <= b[1] or b[1] + b[3] <= a[1]
        assert apart, (a, b)
    for x, y, w, h in rects(film):
        assert x >= 0
        assert y >= 0
        assert x + w <= film.layout.width <= 680
        assert y + h <= film.layout.height


@pytest.mark.parametrize("name", PUZZLES)
def test_nothing_overlaps_and_all_is_on_the_stage(name: str, tmp_path: Path) -> None:
    assert_apart(films.solved(name, tmp_path).film)


def test_attention_is_aligned_along_queries_and_keys(tmp_path: Path) -> None:
    layout = films.solved("flash_attention_v1", tmp_path).film.layout
    q, k, v, o, m, l = (layout.tensor(f"{n}_ptr") for n in "qkvoml")
    assert layout.square is not None
    x, y, w, h = layout.square
    for t in (q, o, m, l):
        assert span(t, "y") == pytest.approx((y, y + h), abs=0.2)
    for t in (k, v):
        assert span(t, "x") == pytest.approx((x, x + w), abs=0.2)
    assert w / 64 == pytest.approx(h / 48, rel=0.01), "one scale for queries and keys"
    assert span(q, "x")[1] < x < x + w < span(m, "x")[0] < span(o, "x")[0]
    assert span(k, "y")[1] < y < y + h < span(v, "y")[0]


def test_a_state_stands_where_its_product_is_written(tmp_path: Path) -> None:
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


def test_states_of_chunks_stand_in_a_row(tmp_path: Path) -> None:
    film = films.solved("linear_chunk_states", tmp_path, N=56).film
    stored = {n: [s.tile for s in film.steps if s.stores and s.event.tensor == n] for n in ("s_ptr", "z_ptr")}
    assert [tile.box for tile in stored["s_ptr"]] == [(0, 16, c * 19, c * 19 + 16) for c in range(4)]
    assert [tile.box for tile in stored["z_ptr"]] == [(0, 16, c * 19, c * 19 + 1) for c in range(4)]
    assert stored["s_ptr"][1].label == "[0, 0, 1, 0:16, 0:16]", "indices stay those of the tensor"


def test_a_vector_of_rows_stands_upright(tmp_path: Path) -> None:
    layout = films.solved("merge_softmax_stats", tmp_path).film.layout
    l_part, m = layout.tensor("l_part_ptr"), layout.tensor("m_ptr")
    assert span(m, "y") == span(l_part, "y")


def test_what_hangs_over_has_its_place(tmp_path: Path) -> None:
    """The third tile of keys, of 8 that there are."""
    layout = films.solved("linear_attention", tmp_path, N_KV=40).film.layout
    k, v = layout.tensor("k_ptr"), layout.tensor("v_ptr")
    assert (k.rows, k.r1, v.rows, v.r1) == (40, 48, 40, 48)
    assert k.x + 48 * k.ux < layout.state["after"][0]


# ---- a puzzle that does not exist yet ----------------------------------------------------------------------------------

ROWS, COLUMNS = ("query",), ("key",)
BACKWARD = Diagram(
    {
        "q_ptr": Drawn(("query", "feature")),
        "dq_ptr": Drawn(("query", "feature")),
        "do_ptr": Drawn(("query", "value")),
        "lse_ptr": Drawn(ROWS),
        "delta_ptr": Drawn(ROWS),
        "k_ptr": Drawn(("key", "feature")),
        "dk_ptr": Drawn(("key", "feature")),
        "v_ptr": Drawn(("key", "value")),
        "dv_ptr": Drawn(("key", "value")),
    },
    down=(Band("feature", 40), Band("query", 200, 8, numbered=True), Band("value", 40)),
    across=(Band("feature", 40), Band("key", 200, 8, numbered=True), Band("", 14), Band("value", 40)),
    square=Square(
        "q_ptr",
        "k_ptr",
        ("p",),
        (Enlarged(("p",)), Enlarged(("ds",), sign="→", signed=True), Enlarged(("dv",), "before"), Enlarged(("dv",), "after")),
        made="{tile} = exp(q[{rows}] · k[{columns}]ᵀ - lse)",
        used="{result} of v[{columns}]: + pᵀ · dO[{rows}]",
        here="queries {rows}, keys {columns}",
        nothing="no tile of weights is on chip now",
        legend=("weights of the tile on chip", "masked weights"),
    ),
)  # fmt: skip


def backward() -> tuple[Trace, dict[str, np.ndarray]]:
    """One program for each tile of keys; it walks over the queries and keeps dV (and would keep dK)."""
    rng, n, d, block = np.random.default_rng(0), 32, 8, 16
    shapes: dict[str, tuple[int, ...]] = {f"{name}_ptr": (n, d) for name in ("q", "k", "v", "do", "dq", "dk", "dv")}
    rec = traces.Recorder((2, 1, 1), {**shapes, "lse_ptr": (n,), "delta_ptr": (n,)})
    for p in range(2):
        keys, dv = (p * block, p * block + block), np.zeros((block, d))
        rec.touch(p, "load", "k_ptr", (keys, (0, d)), 1)
        rec.touch(p, "load", "v_ptr", (keys, (0, d)), 2)
        for start in range(0, n, block):
            rows, loops = (start, start + block), (("start_m", start),)
            state = {"dv": dv.tolist()}
            for name in ("q_ptr", "do_ptr"):
                rec.touch(p, "load", name, (rows, (0, d)), 3, loops, dict(state))
            for name in ("lse_ptr", "delta_ptr"):
                rec.touch(p, "load", name, (rows,), 4, loops, dict(state))
            for values in (
                {"p": rng.random((block, block)).tolist()},
                {"ds": rng.normal(size=(block, block)).tolist()},
            ):
                rec.events.append(
                    Event(len(rec.events), (p, 0, 0), "dot", "", 5, "kernel", loops, None, state=dict(state))
                )
                state |= values
            dv = dv + rng.normal(size=dv.shape)
            rec.touch(p, "atomic", "dq_ptr", (rows, (0, d)), 6, loops, dict(state))
            state |= {"dv": dv.tolist()}
        for name in ("dk_ptr", "dv_ptr"):
            rec.touch(p, "store", name, (keys, (0, d)), 7, state=dict(state))
    return rec.trace(), {name: rng.normal(size=shape) for name, shape in shapes.items()}


def test_a_backward_pass_is_a_declaration() -> None:
    trace, values = backward()
    spec = FilmSpec(PUZZLES["row_softmax"].film.case, BACKWARD)
    puzzle = replace(PUZZLES["row_softmax"], film=spec, outputs=("dq_ptr", "dk_ptr", "dv_ptr"))
    source = traces.solution("row_softmax")
    film = film_data(trace, puzzle, source, spec.case, values)
    layout = film.layout
    assert_apart(film)
    assert layout.square is not None
    x, y, w, h = layout.square
    for name in ("q", "dq", "do", "lse", "delta"):
        assert span(layout.tensor(f"{name}_ptr"), "y") == pytest.approx((y, y + h), abs=0.2), name
    for name in ("k", "dk", "v", "dv"):
        assert span(layout.tensor(f"{name}_ptr"), "x") == pytest.approx((x, x + w), abs=0.2), name
    assert film.visits is not None
    assert len(film.visits.pairs) == 4
    assert {place for held in film.visits.at for place in held.pictures} == {0, 1, 2, 3}
    assert "p = exp(q[0:16] · k[0:16]ᵀ - lse)" in [film.product(s) for s in film.steps]
    html = film_html(trace, puzzle, source, values=values)
    assert "weights of the tile on chip" in html
    assert len(html.encode()) <= 100_000
