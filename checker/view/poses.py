"""Tensors that are drawn as ones of another shape: vectors upright, a state for each chunk side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from checker.puzzle import Carried, Scores
from checker.simulator.trace import TensorInfo, Tile
from checker.view.carried_layout import pitch_of
from checker.view.layout import Flat, flatten, in_a_row


@dataclass(frozen=True)
class Pose:
    """A tensor drawn as one of another shape: `shape` is that of its picture."""

    shape: tuple[int, ...]
    upright: bool
    blocks: tuple[int, int] = (0, 0)

    def flatten(self, tile: Tile, shape: Sequence[int]) -> Flat:
        if self.upright and not self.blocks[0]:
            return flatten(upright_tile(tile), self.shape)
        if self.upright:  # one column for each chunk
            tile, shape = (
                replace(tile, box=(*tile.box, (0, 1)), active=tile.active and (*tile.active, (0, 1))),
                (*shape, 1),
            )
        flat = in_a_row(tile, shape, self.blocks[1])
        wide = (*shape[:-3], shape[-2], shape[-3] * self.blocks[1])
        return flatten(flat, wide)


def poses_of(shown: Mapping[str, TensorInfo], attention: Scores | None, carried: Carried | None) -> dict[str, Pose]:
    """Vectors that stand upright in a plane of their own, and a state for each chunk, side by side."""
    poses = {n: Pose(upright(shown[n].shape), True) for n in (attention.per_query if attention else ()) if n in shown}
    if carried is None:
        return poses
    memory = [n for n in (*carried.start, *carried.end) if n in shown and n not in carried.chunks]
    whole = len(shown[carried.added or carried.keys].shape)
    poses |= {n: Pose(upright(shown[n].shape), True) for n in memory if len(shown[n].shape) == whole - 1}
    if carried.added:
        return poses
    columns = shown[carried.values].shape[-1]
    for name in (n for n in carried.chunks if n in shown):
        shape = shown[name].shape
        bare = shape if len(shape) > whole else (*shape, 1)  # a sum of features is one column
        wide = (bare[-3] - 1) * pitch_of(columns) + bare[-1]
        poses[name] = Pose((*bare[:-3], bare[-2], wide), len(shape) <= whole, (bare[-1], pitch_of(columns)))
    return poses


def upright(shape: Sequence[int]) -> tuple[int, ...]:
    """[..., N] as [..., 1, N]: one line of N in a plane of its own."""
    return (*shape[:-1], 1, *shape[-1:])


def upright_tile(tile: Tile) -> Tile:
    """The tile in the plane of `upright`."""
    active = None if tile.active is None else (*tile.active[:-1], (0, 1), *tile.active[-1:])
    return replace(tile, box=(*tile.box[:-1], (0, 1), *tile.box[-1:]), active=active)
