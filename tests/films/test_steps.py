"""Tiles laid flat: any rank in two dimensions, blocks in a row."""

from __future__ import annotations

import pytest

from checker.films.steps import flatten, in_a_row, joined, joined_boxes
from checker.simulator.trace import Tile


@pytest.mark.parametrize(
    ("tile", "shape", "expected"),
    [
        (Tile(((4, 8),), ((4, 7),)), (7,), (0, (0, 1, 4, 8), (0, 1, 4, 7), None, "[4:7]")),
        (
            Tile(((1, 2), (1, 2), (8, 16), (0, 4)), None),
            (2, 3, 12, 4),
            (4, (8, 16, 0, 4), None, None, "[1, 1, 8:16, 0:4]"),
        ),
        (
            Tile(((0, 2), (0, 3)), ((0, 2), (0, 3)), (0, 1, 5)),
            (2, 3),
            (0, (0, 2, 0, 3), (0, 2, 0, 3), ((0, 0, 2), (1, 2, 3)), "[0:2, 0:3] (3 scattered elements)"),
        ),
        (Tile((), ()), (), (0, (0, 1, 0, 1), (0, 1, 0, 1), None, "[]")),
    ],
    ids=["masked tail", "four dimensions", "scattered", "no dimension"],
)
def test_tiles_are_laid_flat(tile: Tile, shape: tuple[int, ...], expected: tuple) -> None:
    flat = flatten(tile, shape)
    assert (flat.slice, flat.box, flat.active, flat.runs, flat.label) == expected


@pytest.mark.parametrize(
    ("tile", "box", "active", "runs"),
    [
        (
            Tile(((0, 1), (2, 3), (0, 4), (0, 8)), ((0, 1), (2, 3), (0, 4), (0, 6))),
            (0, 4, 18, 24),
            (0, 4, 18, 24),
            None,
        ),
        (
            Tile(((0, 1), (1, 3), (0, 1), (0, 2)), ((0, 1), (1, 3), (0, 1), (0, 2))),
            (0, 1, 9, 20),
            (0, 1, 9, 20),
            ((0, 9, 11), (0, 18, 20)),
        ),
        (
            Tile(((1, 2), (0, 1), (0, 4), (0, 6)), ((1, 2), (0, 1), (0, 2), (0, 6)), (72, 79)),
            (0, 4, 0, 6),
            (0, 2, 0, 6),
            ((0, 0, 1), (1, 1, 2)),
        ),
        (Tile(((0, 1), (1, 2), (0, 4), (0, 6)), None), (0, 4, 9, 15), None, None),
    ],
    ids=["what hangs over is cut", "two blocks", "scattered in another slice", "all masked"],
)
def test_blocks_are_laid_in_a_row(tile: Tile, box: tuple, active: tuple | None, runs: tuple | None) -> None:
    flat = flatten(in_a_row(tile, (2, 3, 4, 6), 9), (2, 4, 24))
    assert (flat.box, flat.active, flat.runs) == (box, active, runs)


def test_neighbours_are_joined() -> None:
    assert joined([(8, 12), (0, 4), (4, 8), (20, 24)]) == [(0, 12), (20, 24)]
    assert joined_boxes([(0, 1, 0, 4), (0, 1, 4, 8), (1, 2, 0, 8)]) == [(0, 2, 0, 8)]
