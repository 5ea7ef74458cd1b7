"""Linear attention's own part of a film: what the state on chip holds at a moment, what is added to it and what is read out of it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.puzzle import Carried
from checker.view.carried_layout import CarriedStage
from checker.view.carried_names import found, row, stores_it
from checker.view.layout import Box
from checker.view.scores import level_string, quantised, span_of
from checker.view.theme import number, short

if TYPE_CHECKING:
    from checker.simulator.trace import Event
    from checker.view.film_data import Moment

ROOM = 14_000
"""Characters for all heat maps of the state: more of them are drawn with fewer cells."""
STARTS, ADDS, READS = 1, 2, 3
Span = tuple[int, int]


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


@dataclass
class _Walk:
    """What one program has loaded and added so far."""

    queries: tuple[int, Span] | None = None  # slice, rows
    keys: Span | None = None
    loaded: list[Span] = field(default_factory=list)
    """Keys since the last addition."""
    seen: list[Span] = field(default_factory=list)
    known: bool = True
    """Whether what the state holds can be told: additions to it are seen, or it was loaded with what it holds."""


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
    names = _Names(carried, name, weights, _dots(source), frozenset(stored))
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
                out.at[k][4] = _number(out.places, [first, column, *shown.shape])
        _deeds(out, moments, mine, following, names, chunk)
    _fill(out, *kept)
    return out


@dataclass(frozen=True)
class _Names:
    """What a kernel calls what: its state, the weights of a chunk, and every product in its text."""

    carried: Carried
    state: str
    weights: str
    dots: Sequence[_Dot]
    stored: frozenset[int]
    """Moments at which a sum of states goes to memory as it is."""


def _deeds(
    out: States, moments: Sequence[Moment], mine: list[int], following: dict[int, int], names: _Names, chunk: int
) -> None:
    """What every step of one program does with the state, in words too, and which pairs of query and key go through it."""
    carried, walk = names.carried, _Walk()
    steps = [(moments[k].event, moments[following.get(k, k)].event) for k in mine]
    walk.known = carried.given or any(_deed(event, later, names.state) == ADDS for event, later in steps)
    reading = any(_reads(names, moments[k].event) for k in mine)  # else the state is read where the output leaves
    for k in mine:
        event, flat = moments[k].event, moments[k].flat
        later = moments[following.get(k, k)].event
        _follow(walk, moments[k], carried, chunk)
        read, deed = "", _deed(event, later, names.state)
        if k in names.stored:
            read, deed = _words(READS, walk, event, later, names), deed or READS
        elif not carried.added and (_reads(names, event) or (not reading and _writes(event, carried.output))):
            read, deed = _words(READS, walk, event, later, names), deed or READS
            rows = walk.queries if reading or flat is None or not flat.active else (flat.slice, flat.active[:2])
            if rows:
                out.reads += [[k, rows[0], *rows[1], *span] for span in _merged(walk.seen)]
        out.at[k][5] = deed or -1
        if deed == ADDS:
            walk.seen += walk.loaded if carried.added else [walk.keys] if walk.keys else []
        said = _words(deed, walk, event, later, names)
        if deed == ADDS:
            walk.loaded.clear()
        out.at[k][6] = _number(out.words, f"{read}; then {said}" if read and deed != READS else said)


def _same(old: Any, new: Any) -> bool:
    """Whether a variable did not change; a NaN is the same as a NaN."""
    return old is new or old == new or repr(old) == repr(new)


def _writes(event: Event, tensor: str) -> bool:
    return event.kind in ("store", "atomic") and event.tensor == tensor


def _deed(event: Event, later: Event, name: str) -> int:
    old, new = event.state.get(name), later.state.get(name)
    if new is None or _same(old, new):
        return 0
    return STARTS if old is None and event.kind != "dot" else ADDS


def _follow(walk: _Walk, moment: Moment, carried: Carried, chunk: int) -> None:
    event, flat = moment.event, moment.flat
    if event.kind != "load" or event.tile is None or flat is None:
        return
    if event.tensor == carried.queries and flat.active:
        walk.queries = (flat.slice, (flat.active[0], flat.active[1]))
    if event.tensor == (carried.added or carried.keys) and flat.active:
        walk.keys = (flat.active[0], flat.active[1])
        walk.loaded.append(walk.keys)
    if carried.given and carried.chunks and event.tensor == carried.chunks[0]:
        start = event.tile.box[-3][0] * chunk
        walk.seen = [(0, start)] if start > 0 else []


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


def _merged(spans: Sequence[Span]) -> list[Span]:
    out: list[Span] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


@dataclass(frozen=True)
class _Dot:
    first: int
    last: int
    operands: tuple[frozenset[str], ...]
    """Names in the two that are multiplied."""


def _dots(source: str) -> list[_Dot]:
    """Every product in the kernel's text, with the names in its operands."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dot":
            names = tuple(frozenset(n.id for n in ast.walk(a) if isinstance(n, ast.Name)) for a in node.args[:2])
            found.append(_Dot(node.lineno, node.end_lineno or node.lineno, names))
    return found


def _operands(dots: Sequence[_Dot], event: Event) -> frozenset[str]:
    """Names in the operands of the product of a moment; none where its line has several."""
    here = [d for d in dots if event.kind == "dot" and d.first <= event.line <= d.last]
    return frozenset().union(*here[0].operands) if len(here) == 1 else frozenset()


def _reads(names: _Names, event: Event) -> bool:
    return names.state in _operands(names.dots, event)


def _words(deed: int, walk: _Walk, event: Event, later: Event, names: _Names) -> str:
    """What a step does with the state, in a formula; of a product that does nothing with it, what it makes."""
    keys, queries = _span(walk.keys), _span(walk.queries[1] if walk.queries else None)
    carried, name, weights = names.carried, names.state, names.weights
    k, v, q = short(carried.keys), short(carried.values), short(carried.queries)
    if deed == STARTS:
        if event.kind != "load" or event.tensor not in (*carried.start, *carried.chunks) or event.tile is None:
            return f"{name} starts here"
        chunk = f", chunk {event.tile.box[-3][0]}" if event.tensor in carried.chunks else ""
        seen = f": tokens {_said(walk.seen)}" if walk.seen else ""
        return f"{name} starts from {short(event.tensor)}{chunk}{seen}"
    if carried.added:
        return _sum_words(deed, walk, event, names)
    if deed == ADDS:
        return f"{name} {'+=' if name in event.state else '='} φ({k}{keys})ᵀ · {v}{keys}"
    if deed == READS and name:
        held = f", which holds {f'keys {_said(walk.seen)}' if walk.seen else 'no keys so far'}"
        return f"φ({q}{queries}) · {name}{held if walk.known else ''}"
    if event.kind == "dot" and weights:
        if not _same(event.state.get(weights), later.state.get(weights)):
            return f"{weights} = φ({q}{queries}) · φ({k}{keys})ᵀ, on chip"
        if weights in _operands(names.dots, event):
            return f"+ {weights} · {v}{keys}: the keys of this chunk"
    return ""


def _sum_words(deed: int, walk: _Walk, event: Event, names: _Names) -> str:
    """The same, of a sum of states that were there already."""
    carried, added = names.carried, short(names.carried.added)
    if deed == ADDS:
        return f"{names.state} += " + " + ".join(f"{added}{_span(rows)}" for rows in _merged(walk.loaded))
    if deed == READS and not walk.known:
        return f"{short(event.tensor)} = {names.state}" if names.state else ""
    if deed == READS:
        first = short(carried.start[0]) if carried.start else "the start"
        held = f"{first} and all of {added}[{_said(walk.seen)}]" if walk.seen else f"only {first}"
        return f"{short(event.tensor)} = {names.state}: {held}"
    return ""


def _said(spans: Sequence[Span]) -> str:
    return ", ".join(f"{a}:{b}" for a, b in _merged(spans))


def _span(rows: Span | None) -> str:
    if rows is None:
        return ""
    return f"[{rows[0]}]" if rows[1] == rows[0] + 1 else f"[{rows[0]}:{rows[1]}]"


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
            out.at[k][place] = _number(out.sums, level_string(values[0], 0.0, max(top, 1e-30)))
    low, high = span_of([array for _, array in before + after])
    words = [f"orange: up to {number(high, 5)}"] if high > 0 else []
    words += [f"blue: down to {number(low, 5)}"] if low < 0 else []
    words += [f"a cell: the mean of {cells} × {cells}"] if cells > 1 else []
    out.ranges = (tuple(words or ["all zero"]), f"0 … {number(top, 5)}")


def _number(items: list[Any], item: Any) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)


def read_boxes(out: States, k: int, slice_: int) -> list[Box]:
    """What had been read out of the state up to moment `k`, in the square of one slice."""
    return [(r0, r1, c0, c1) for at, s, r0, r1, c0, c1 in out.reads if at <= k and s == slice_]
