"""The long tests beside `tests/films/test_diagram.py`."""

from __future__ import annotations

import itertools
from pathlib import Path

from checker.course import PUZZLES
from checker.films.film_data import FilmData
from tests.films import films

Rect = tuple[float, float, float, float]


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


def test_nothing_overlaps_and_all_is_on_the_stage(tmp_path: Path) -> None:
    for name in PUZZLES:
        assert_apart(films.solved(name, tmp_path).film)
