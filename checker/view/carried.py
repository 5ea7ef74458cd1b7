"""Linear attention's own part of a film: what the state on chip holds at a moment, what is added to it and what is read out of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.puzzle import Carried
from checker.view.carried_deeds import Names, deeds, dots_of, numbered
from checker.view.carried_layout import CarriedStage
from checker.view.carried_names import found, row, stores_it
from checker.view.layout import Box
from checker.view.scores import level_string, quantised, span_of
from checker.view.theme import number

if TYPE_CHECKING:
    from checker.view.film_model import Moment

ROOM = 14_000
"""Characters for all heat maps of the state: more of them are drawn with fewer cells."""


@dataclass
class States:
    """What the player needs beside the events.

    `at[k]` is ``[state before, state after, sums before, sums after, place, deed, words]``, -1 for none: numbers of `heats`,
    of `sums`, of `places`, then 1 where the state starts, 2 where something is added, 3 where it is read, and of `words`.
    """

    stage: CarriedStage
    at: list[list[int]]
    names: tuple[str, str] = ("state", "z")
    """Of the state, empty where the kernel has none, and of its sum."""
    heats: list[Any] = field(default_factory=list)
    """``[rows, columns, levels]``, row-major, level 31.5 is 0."""
    sums: list[str] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)
    """``[first row, first column, rows, columns]`` of the whole state; what hangs over its edges is not drawn."""
    words: list[str] = field(default_factory=list)
    reads: list[list[int]] = field(default_factory=list)
    """``[moment, slice, r0, r1, c0, c1]``: from this moment on, what queries r0 to r1 saw of keys c0 to c1 came out of the state."""
    ranges: tuple[tuple[str, ...], str] = ((), "")
    """What the colours of the state and the bars of the sum mean, in words."""

    @property
    def data(self) -> dict[str, Any]:
        """For the player."""
        s = self.stage
        square = s.square
        return {
            "boxes": [s.state, s.sums, s.before, s.sums_before],
            "whole": [s.rows, s.cols],
            "square": [square.x, square.y, square.u, square.rows, square.cols] if square else 0,
            "at": [_trimmed(a) for a in self.at],
            "heats": self.heats,
            "sums": self.sums,
            "places": self.places,
            "words": self.words,
            "reads": self.reads,
        }


def _trimmed(numbers: list[int]) -> list[int]:
    used = max((i + 1 for i, n in enumerate(numbers) if n >= 0), default=0)
    return numbers[:used]


def states(
    moments: Sequence[Moment],
    carried: Carried,
    stage: CarriedStage,
    source: str,
    chunk: int,
    weights: str,
    values: Mapping[str, np.ndarray],
) -> States:
    """Follow every program. `source` is the kernel's, `chunk` the tokens in a chunk, `weights` the variable of a chunk's weights.

    `values` are tensors, outputs as the kernel left them.
    """
    memory = [(*group, "", "")[:2] for group in (carried.start, carried.end, carried.chunks)]
    if carried.added:
        name, held = found(moments, [n for pair in memory for n in pair], carried.names, values, flat=True)
        total = ""
    else:
        name, held = found(moments, [pair[0] for pair in memory], carried.names, values, flat=False)
        total, _ = found(moments, [pair[1] for pair in memory], carried.sums, values, flat=True)
    seen = [m.event.state for m in moments]
    out = States(stage, [[-1] * 7 for _ in moments], (name, total))
    stored = {k for k, m in enumerate(moments) if carried.added and stores_it(m, held(seen[k].get(name)), values)}
    names = Names(carried, name, weights, dots_of(source), frozenset(stored))
    programs: dict[tuple[int, int, int], list[int]] = {}
    for k, moment in enumerate(moments):
        programs.setdefault(moment.event.program, []).append(k)
    kept: list[list[tuple[int, np.ndarray]]] = [[], [], [], []]  # state before and after, sums before and after
    for mine in programs.values():
        following = dict(itertools.pairwise(mine))
        for k, (first, column) in _places(moments, mine, carried):
            later = moments[following.get(k, k)].event.state
            now = [held(seen[k].get(name)), held(later.get(name)), row(seen[k].get(total)), row(later.get(total))]
            for group, value in zip(kept, now, strict=True):
                if value is not None:
                    group.append((k, value))
            shown = now[0] if now[1] is None else now[1]
            if shown is not None:
                out.at[k][4] = numbered(out.places, [first, column, *shown.shape])
        deeds(out, moments, mine, following, names, chunk)
    _fill(out, *kept)
    return out


def _places(moments: Sequence[Moment], mine: Sequence[int], carried: Carried) -> Iterator[tuple[int, tuple[int, int]]]:
    """The first row and column of a program's part of the state at each moment: the first columns of k and v it loads."""
    rows, columns = ("", carried.added) if carried.added else (carried.keys, carried.values)
    loads = {rows: 0, columns: 0}
    for k in reversed(mine):
        _start(moments[k], loads)
    for k in mine:
        _start(moments[k], loads)
        yield k, (loads[rows], loads[columns])


def _start(moment: Moment, loads: dict[str, int]) -> None:
    if moment.event.kind == "load" and moment.event.tensor in loads and moment.flat:
        loads[moment.event.tensor] = max(moment.flat.box[2], 0)


def _fill(
    out: States,
    before: list[tuple[int, np.ndarray]],
    after: list[tuple[int, np.ndarray]],
    sums_before: list[tuple[int, np.ndarray]],
    sums_after: list[tuple[int, np.ndarray]],
) -> None:
    # the root of the magnitude: most numbers are small next to the largest, and should be seen
    groups = [[(k, np.sign(a) * np.sqrt(np.abs(a))) for k, a in group] for group in (before, after)]
    out.heats, _, cells = quantised(out.at, 0, groups, ROOM, signed=True)
    _, top = span_of([values for _, values in sums_before + sums_after])
    for place, group in ((2, sums_before), (3, sums_after)):
        for k, values in group:
            out.at[k][place] = numbered(out.sums, level_string(values[0], 0.0, max(top, 1e-30)))
    low, high = span_of([array for _, array in before + after])
    words = [f"orange: up to {number(high, 5)}"] if high > 0 else []
    words += [f"blue: down to {number(low, 5)}"] if low < 0 else []
    words += [f"a cell: the mean of {cells} × {cells}"] if cells > 1 else []
    out.ranges = (tuple(words or ["all zero"]), f"0 … {number(top, 5)}")


def read_boxes(out: States, k: int, slice_: int) -> list[Box]:
    """What had been read out of the state up to moment `k`, in the square of one slice."""
    return [(r0, r1, c0, c1) for at, s, r0, r1, c0, c1 in out.reads if at <= k and s == slice_]
