"""Tiles laid flat: any rank in two dimensions, blocks in a row."""

from __future__ import annotations

from checker.films.steps import flatten, in_a_row, joined, joined_boxes
from checker.simulator.trace import Tile


def test_tiles_are_laid_flat() -> None:
    masked_tail = flatten(Tile(((4, 8),), ((4, 7),)), (7,))
    assert (masked_tail.box, masked_tail.active, masked_tail.label) == ((0, 1, 4, 8), (0, 1, 4, 7), "[4:7]")
    all_masked = flatten(Tile(((1, 2), (1, 2), (8, 16), (0, 4)), None), (2, 3, 12, 4))
    assert (all_masked.slice, all_masked.box, all_masked.label) == (4, (8, 16, 0, 4), "[1, 1, 8:16, 0:4]")
    scattered = flatten(Tile(((0, 2), (0, 3)), ((0, 2), (0, 3)), (0, 1, 5)), (2, 3))
    assert scattered.runs == ((0, 0, 2), (1, 2, 3))
    assert scattered.label == "[0:2, 0:3] (3 scattered elements)"
    assert flatten(Tile((), ()), ()).box == (0, 1, 0, 1)


def test_blocks_are_laid_in_a_row() -> None:
    def flat(tile: Tile) -> tuple[object, ...]:
        laid = flatten(in_a_row(tile, (2, 3, 4, 6), 9), (2, 4, 24))
        return laid.box, laid.active, laid.runs

    overhanging = Tile(((0, 1), (2, 3), (0, 4), (0, 8)), ((0, 1), (2, 3), (0, 4), (0, 6)))
    assert flat(overhanging) == ((0, 4, 18, 24), (0, 4, 18, 24), None)
    two_blocks = Tile(((0, 1), (1, 3), (0, 1), (0, 2)), ((0, 1), (1, 3), (0, 1), (0, 2)))
    assert flat(two_blocks) == ((0, 1, 9, 20), (0, 1, 9, 20), ((0, 9, 11), (0, 18, 20)))
    scattered = Tile(((1, 2), (0, 1), (0, 4), (0, 6)), ((1, 2), (0, 1), (0, 2), (0, 6)), (72, 79))
    assert flat(scattered) == ((0, 4, 0, 6), (0, 2, 0, 6), ((0, 0, 1), (1, 1, 2)))
    assert flat(Tile(((0, 1), (1, 2), (0, 4), (0, 6)), None)) == ((0, 4, 9, 15), None, None)


def test_neighbours_are_joined() -> None:
    assert joined([(8, 12), (0, 4), (4, 8), (20, 24)]) == [(0, 12), (20, 24)]
    assert joined_boxes([(0, 1, 0, 4), (0, 1, 4, 8), (1, 2, 0, 8)]) == [(0, 2, 0, 8)]
