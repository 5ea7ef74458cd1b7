"""A film draws tiles of any rank in two dimensions."""

from __future__ import annotations

from checker.films.steps import flatten
from checker.simulator.trace import Tile


def test_tiles_of_any_rank_are_drawn_flat() -> None:
    masked_tail = flatten(Tile(((4, 8),), ((4, 7),)), (7,))
    assert (masked_tail.box, masked_tail.active, masked_tail.label) == ((0, 1, 4, 8), (0, 1, 4, 7), "[4:7]")
    all_masked = flatten(Tile(((1, 2), (1, 2), (8, 16), (0, 4)), None), (2, 3, 12, 4))
    assert (all_masked.slice, all_masked.box, all_masked.label) == (4, (8, 16, 0, 4), "[1, 1, 8:16, 0:4]")
    scattered = flatten(Tile(((0, 2), (0, 3)), ((0, 2), (0, 3)), (0, 1, 5)), (2, 3))
    assert scattered.runs == ((0, 0, 2), (1, 2, 3))
    assert scattered.label == "[0:2, 0:3] (3 scattered elements)"
    assert flatten(Tile((), ()), ()).box == (0, 1, 0, 1)
