"""Attention's own part of a film: which tile of scores is on chip at a moment, what it holds, and what becomes of the accumulator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.puzzle import Scores
from checker.view.attention_layout import Square
from checker.view.heat import LEVELS
from checker.view.running import vector
from checker.view.theme import number

if TYPE_CHECKING:
    from checker.simulator.trace import Event
    from checker.view.film_model import Moment

TILE_ROOM, ACC_ROOM = 26_000, 12_000
"""Characters for all heat maps of scores and of accumulators: more tiles are drawn with fewer cells."""

Tile = tuple[int, int, int, int, int]  # slice, first query, last + 1, first key, last + 1


@dataclass
class Visits:
    """What the player needs beside the events. `at[k]` is ``[visit, heat, alpha, accumulator before, after]``, -1 for none."""

    square: Square
    tiles: list[Tile]
    sizes: list[tuple[int, int]]
    """BLOCK_M and BLOCK_N of each: tiles hang over the edges where their scores have no place."""
    at: list[list[int]]
    heats: list[Any] = field(default_factory=list)
    """``[rows, columns, levels]``, row-major; ``-`` is -inf."""
    accs: list[Any] = field(default_factory=list)
    alphas: list[str] = field(default_factory=list)
    skipped: list[list[int]] = field(default_factory=list)
    """``[slice, r0, r1, c0, c1, program]``: tiles that the program went without."""
    wide: int = 1
    """Keys in a tile."""
    names: tuple[str, str, str, str] = ("s", "alpha", "acc", "acc")
    ranges: tuple[str, str] = ("", "")
    """Of the scores and of the accumulator, in words."""

    @property
    def data(self) -> dict[str, Any]:
        """For the player."""
        s, lens = self.square, self.square.lens
        return {
            "square": [s.x, s.y, s.u, s.rows, s.cols],
            "lens": [lens.tile, lens.alpha, lens.before, lens.after],
            "tiles": [[*tile, *size] for tile, size in zip(self.tiles, self.sizes, strict=True)],
            "at": [_trimmed(a) for a in self.at],
            "heats": self.heats,
            "accs": self.accs,
            "alphas": self.alphas,
            "skipped": self.skipped,
            "names": self.names,
            "wide": self.wide,
        }


def _trimmed(numbers: list[int]) -> list[int]:
    """Without the -1 at its end."""
    used = max((i + 1 for i, n in enumerate(numbers) if n >= 0), default=0)
    return numbers[:used]


@dataclass
class _Pair:
    """Queries and keys that a program holds at the same time."""

    tile: Tile
    depth: int  # loops around the load that completed it
    size: tuple[int, int]  # of the whole tile, overhang included
    moments: list[int] = field(default_factory=list)


def visits(moments: Sequence[Moment], scores: Scores, square: Square) -> Visits:
    """Follow every program: which pairs of tiles met in a `tl.dot`, and what was held then."""
    programs: dict[tuple[int, int, int], list[int]] = {}
    for k, moment in enumerate(moments):
        programs.setdefault(moment.event.program, []).append(k)
    multiply = any(m.event.kind == "dot" for m in moments)
    out = Visits(square, [], [], [[-1] * 5 for _ in moments])
    scored: list[tuple[int, np.ndarray]] = []
    before: list[tuple[int, np.ndarray]] = []
    after: list[tuple[int, np.ndarray]] = []
    name = next((n for n in scores.tile for m in moments if matrix(m.event.state.get(n)) is not None), scores.tile[0])
    out.names = (name, scores.alpha, *scores.accumulator)
    for mine in programs.values():
        pairs = [p for p in _pairs(moments, mine, scores, square) if not multiply or any(moments[k].event.kind == "dot" for k in p.moments)]  # fmt: skip
        following = dict(itertools.pairwise(mine))
        for pair in pairs:
            if pair.tile not in out.tiles:
                out.tiles.append(pair.tile)
                out.sizes.append(pair.size)
            visit = out.tiles.index(pair.tile)
            first = _first_change(moments, pair, following, name, multiply)
            for k in pair.moments:
                out.at[k][0] = visit
                later = moments[following[k]].event if k in following else None
                if k >= first and later is not None:
                    tile = matrix(later.state.get(name))
                    if tile is not None and tile.shape == pair.size:
                        scored.append((k, tile))
                    alpha = vector(later.state.get(scores.alpha))
                    if alpha is not None and len(alpha) == pair.size[0]:
                        out.at[k][2] = _number(out.alphas, level_string(np.array(alpha), 0.0, 1.0))
        _accumulators(moments, mine, following, scores, out, before, after)
        out.skipped += _skipped(out, pairs, moments[mine[0]].program)
    _fill(out, scored, before, after)
    return out


def _pairs(moments: Sequence[Moment], mine: list[int], scores: Scores, square: Square) -> list[_Pair]:
    queries: tuple[int, int, int] | None = None
    keys: tuple[int, int] | None = None
    pairs: list[_Pair] = []
    open_ = False
    for k in mine:
        event, flat = moments[k].event, moments[k].flat
        if event.kind == "load" and flat is not None and event.tensor in (scores.queries, scores.keys):
            if event.tensor == scores.queries:
                queries = (flat.slice, flat.box[0], flat.box[1])
            else:
                keys = (flat.box[0], flat.box[1])
            if queries and keys and flat.active:
                tile = (queries[0], queries[1], min(queries[2], square.rows), keys[0], min(keys[1], square.cols))
                pairs.append(_Pair(tile, len(event.loops), (queries[2] - queries[1], keys[1] - keys[0])))
                open_ = True
        elif open_ and len(event.loops) < pairs[-1].depth:
            open_ = False
        if open_:
            pairs[-1].moments.append(k)
    return pairs


def _first_change(moments: Sequence[Moment], pair: _Pair, following: dict[int, int], name: str, multiply: bool) -> int:
    """The moment whose step makes the scores of this pair."""
    old = moments[pair.moments[0]].event.state.get(name)
    dot = next((k for k in pair.moments if moments[k].event.kind == "dot"), pair.moments[-1])
    for k in pair.moments:
        if k in following and moments[following[k]].event.state.get(name) != old:
            return k
    return dot if multiply else pair.moments[-1]


def _accumulators(
    moments: Sequence[Moment],
    mine: list[int],
    following: dict[int, int],
    scores: Scores,
    out: Visits,
    before: list[tuple[int, np.ndarray]],
    after: list[tuple[int, np.ndarray]],
) -> None:
    old_name, new_name = scores.accumulator
    kept: tuple[int, list[np.ndarray]] = (
        -1,
        [],
    )  # where before and after have names of their own, both stay till the tile goes
    for k in mine:
        event = moments[k].event
        later = moments[following[k]].event if k in following else None
        changes = later is not None and out.at[k][0] >= 0 and event.state.get(new_name) != later.state.get(new_name)
        old = matrix(event.state.get(old_name))
        if old is not None and (old_name == new_name or changes):
            before.append((k, old))
        new = matrix(later.state.get(new_name)) if changes and later is not None else None
        if new is not None:
            after.append((k, new))
        if old_name == new_name:
            continue
        if new is not None and old is not None:
            kept = (out.at[k][0], [old, new])
        elif kept[1] and kept[0] == out.at[k][0]:
            before.append((k, kept[1][0]))
            after.append((k, kept[1][1]))


def _skipped(out: Visits, pairs: list[_Pair], program: int) -> list[list[int]]:
    """Tiles of the grid that this program spans and never visited; neighbours in a row as one."""
    mine = {p.tile for p in pairs}
    rows = sorted({t[:3] for t in mine})
    cols = sorted({t[3:] for t in out.tiles})
    out.wide = max((c[1] - c[0] for c in cols), default=1)
    cols = sorted({*cols, *((c, min(c + out.wide, out.square.cols)) for c in range(0, out.square.cols, out.wide))})
    gone: list[list[int]] = []
    for row in rows:
        for start, stop in (col for col in cols if (*row, *col) not in mine):
            if gone and gone[-1][:3] == list(row) and gone[-1][4] == start:
                gone[-1][4] = stop
            else:
                gone.append([*row, start, stop, program])
    return gone


def _fill(
    out: Visits,
    scored: list[tuple[int, np.ndarray]],
    before: list[tuple[int, np.ndarray]],
    after: list[tuple[int, np.ndarray]],
) -> None:
    out.heats, (low, high), cells = quantised(out.at, 1, [scored], TILE_ROOM, signed=False)
    # the root of the magnitude: most weights are small next to the largest, and should be seen
    before, after = ([(k, np.sign(a) * np.sqrt(np.abs(a))) for k, a in group] for group in (before, after))
    out.accs, (_, far), acc_cells = quantised(out.at, 3, [before, after], ACC_ROOM, signed=True)
    means = tuple(f", means of {n} × {n}" if n > 1 else "" for n in (cells, acc_cells))
    out.ranges = (f"{number(low, 5)} … {number(high, 5)}{means[0]}", f"±{number(far * far, 5)}{means[1]}")


def quantised(
    at: list[list[int]], place: int, groups: list[list[tuple[int, np.ndarray]]], room: int, signed: bool
) -> tuple[list[Any], tuple[float, float], int]:
    """Every array as a string of levels, each distinct one once, in as many cells as there is room for; span and cell size.

    ``at[k][place + i]`` becomes the number of group i's array of moment k.
    """
    for step in (1, 2, 4, 8, 16):
        small = [[(k, _pooled(array, step)) for k, array in group] for group in groups]
        low, high = span_of([array for group in small for _, array in group])
        span = (-max(abs(low), abs(high)), max(abs(low), abs(high))) if signed else (low, high)
        items: list[Any] = []
        table: dict[str, int] = {}
        for offset, group in enumerate(small):
            for k, array in group:
                text = level_string(array.reshape(-1), *span)
                key = f"{array.shape}{text}"
                if key not in table:
                    table[key] = len(items)
                    items.append([*array.shape, text])
                at[k][place + offset] = table[key]
        if sum(len(i[2]) for i in items) <= room:
            break
    return items, span, step


def _pooled(array: np.ndarray, step: int) -> np.ndarray:
    """Means of step × step cells; a cell that is -inf for the most part stays so."""
    rows, cols = (max(n // step, 1) for n in array.shape)
    if step == 1 or array.shape[0] % rows or array.shape[1] % cols:
        return array
    blocks = (
        array.reshape(rows, array.shape[0] // rows, cols, array.shape[1] // cols).swapaxes(1, 2).reshape(rows, cols, -1)
    )
    finite = np.isfinite(blocks)
    total = np.where(finite, blocks, 0.0).sum(-1)
    return np.where(finite.mean(-1) >= 0.5, total / np.maximum(finite.sum(-1), 1), -np.inf)


def level_string(values: np.ndarray, low: float, high: float) -> str:
    """One character for each number: 64 levels from `low` to `high`, ``-`` ``+`` ``?`` for what is not finite."""
    signs = np.where(np.isnan(values), "?", np.where(values > 0, "+", "-"))
    with np.errstate(invalid="ignore"):
        steps = np.clip((values - low) / ((high - low) or 1.0), 0, 1) * 63
    finite = np.isfinite(values)
    index = np.where(finite, np.round(np.where(finite, steps, 0)), 0).astype(int)
    return "".join(LEVELS[i] if ok else sign for i, ok, sign in zip(index, finite, signs, strict=True))


def span_of(arrays: list[np.ndarray]) -> tuple[float, float]:
    """The smallest and the largest finite number, (0, 1) where there is none."""
    finite = [a[np.isfinite(a)] for a in arrays]
    finite = [a for a in finite if a.size]
    if not finite:
        return 0.0, 1.0
    low, high = min(float(a.min()) for a in finite), max(float(a.max()) for a in finite)
    return (low, high) if math.isfinite(high - low) else (0.0, 1.0)


def matrix(value: Any) -> np.ndarray | None:
    """A tile of numbers, or None; tiles that were only summarised have none."""
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return None
    array = np.array(value, dtype=object)
    return array.astype(np.float64) if array.ndim == 2 and not isinstance(value[0][0], bool) else None


def _number(items: list[str], item: str) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def tile_size(events: Sequence[Event], scores: Scores) -> tuple[int, int]:
    """BLOCK_M and BLOCK_N as the loads of queries and keys have them."""
    tall = max(
        (e.tile.box[-2][1] - e.tile.box[-2][0] for e in events if e.tensor == scores.queries and e.tile), default=16
    )
    wide = max(
        (e.tile.box[-2][1] - e.tile.box[-2][0] for e in events if e.tensor == scores.keys and e.tile), default=16
    )
    return tall, wide
