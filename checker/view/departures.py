"""Where a kernel's running state first departs from what it must be.

What is compared is only what stands still: a variable that the puzzle names, between one chunk and the next. A kernel may
update it before or after it loads, hold it in base 2, take its logarithm once the walk is over, or call it otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from checker.puzzle import Case, Running
from checker.simulator.trace import Event
from checker.view.layout import Flat
from checker.view.running import by_program, vector, visits_in_memory
from checker.view.theme import number

LOG2_E = math.log2(math.e)
Exact = tuple[Mapping[str, torch.Tensor], ...]
Span = tuple[int, int]


@dataclass(frozen=True)
class Departure:
    """The first moment at which one variable of one row is not what it must be: `got` in place of `want` after it."""

    at: int
    program: tuple[int, int, int]
    name: str
    lead: tuple[int, ...]
    row: int
    want: float
    got: float
    chunk: int  # from 1, by where it lies
    walk: int  # from 1

    def words(self, several_rows: bool) -> str:
        """``After chunk 3, l_i of row 0 should be 7.39 and is 2.72.``"""
        walk = "" if self.walk == 1 else f" of the {'second' if self.walk == 2 else f'{self.walk}th'} walk"
        index = ", ".join(str(i) for i in (*self.lead, self.row))
        whose = f" of row {index}" if several_rows else ""
        return (
            f"After chunk {self.chunk}{walk}, {self.name}{whose} should be {_say(self.want)} and is {_say(self.got)}."
        )


def _say(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else number(value)


@dataclass(frozen=True)
class _Chunk:
    """One load of the walked tensor, and the moment at which its work is done."""

    at: int
    end: int | None
    rows: Span
    tall: int  # of the tile, which may hang over the last row
    lead: tuple[int, ...]
    before: Exact
    after: Exact
    chunk: int
    walk: int


def departures(
    events: Sequence[tuple[Event, Flat | None]],
    shape: Sequence[int],
    walked_shape: Sequence[int],
    running: Running,
    case: Case,
    tensors: Mapping[str, Any],
) -> list[Departure]:
    """The first departure of every variable of every row, in the order of moments; none where the kernel is right.

    `shape` and `walked_shape` are those of ``running.rows`` and ``running.walked``. `events` are whole programs.
    """
    inputs = {name: torch.as_tensor(value).double() for name, value in tensors.items()}
    chunks = _visited if running.in_memory else _chunks
    with _one_thread():
        walks = [list(chunks(events, ks, shape, walked_shape, running, case, inputs)) for ks in by_program(events)]
    ways = next((len(c.after) for w in walks for c in w), 0)
    own: list[tuple[int, list[Departure]]] = []
    for way in range(ways):
        found, agreed = _compare(events, walks, running, way, lag=0)
        if not found or not (running.in_memory or _compare(events, walks, running, way, lag=1)[0]):
            return []
        own.append((agreed, found))
    # the kernel's own way is the one it followed longest; of equals, the puzzle's
    return max(own, key=lambda w: w[0])[1] if own else []


@contextmanager
def _one_thread() -> Iterator[None]:
    """Many small tensors: waking threads for each would take longer than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _chunks(
    events: Sequence[tuple[Event, Flat | None]],
    mine: list[int],
    shape: Sequence[int],
    walked_shape: Sequence[int],
    running: Running,
    case: Case,
    inputs: dict[str, torch.Tensor],
) -> Iterator[_Chunk]:
    exact, alone = running.exact, running.walked == running.rows
    assert exact is not None
    columns = shape[-1] if alone else walked_shape[-2]
    planes: dict[int, torch.Tensor] = {}
    held: tuple[int, Span, int] | None = None
    last: Exact = ()
    held_at: tuple[int, Span] | None = None
    for position, k in enumerate(mine):
        event, flat = events[k]
        if flat is None or event.kind != "load":
            continue
        if event.tensor == running.rows:
            held = (flat.slice, (max(flat.box[0], 0), min(flat.box[1], shape[-2])), flat.box[1] - flat.box[0])
        if event.tensor != running.walked or held is None or flat.active is None or held[1][0] >= held[1][1]:
            continue
        slice_, rows, tall = held
        lead = tuple(int(i) for i in np.unravel_index(slice_, shape[:-2])) if len(shape) > 2 else ()
        seen = planes.setdefault(slice_, torch.zeros(shape[-2], columns, dtype=torch.int32))
        r0, r1, c0, c1 = flat.active if alone else (*rows, *flat.active[:2])
        before = last if held_at == (slice_, rows) and last else exact(case, inputs, seen, lead)
        seen[max(r0, 0) : r1, max(c0, 0) : c1] += 1
        start, stop = flat.box[2:] if alone else flat.box[:2]
        count = max(start, 0) // max(stop - start, 1) + 1
        passes = int(seen[max(r0, 0) : r1, max(c0, 0) : c1].amax())
        end = next((j for j in mine[position + 1 :] if _done(events[j], event, running)), None)
        last, held_at = exact(case, inputs, seen, lead), (slice_, rows)
        yield _Chunk(k, end, rows, tall, lead, before, last, count, passes)


def _visited(
    events: Sequence[tuple[Event, Flat | None]],
    mine: list[int],
    shape: Sequence[int],
    walked_shape: Sequence[int],
    running: Running,
    case: Case,
    inputs: dict[str, torch.Tensor],
) -> Iterator[_Chunk]:
    """As `_chunks`, of a kernel whose state lives in memory: every visit leaves exact values behind."""
    exact = running.exact
    assert exact is not None
    planes: dict[int, torch.Tensor] = {}
    for visit in visits_in_memory(events, mine, running):
        (top, bottom), walked = visit.rows, visit.walked
        rows = (max(top, 0), min(bottom, shape[-2]))
        if walked.active is None or rows[0] >= rows[1]:
            continue
        lead = tuple(int(i) for i in np.unravel_index(visit.slice, shape[:-2])) if len(shape) > 2 else ()
        seen = planes.setdefault(visit.slice, torch.zeros(shape[-2], walked_shape[-2], dtype=torch.int32))
        start, stop, block = walked.active[0], walked.active[1], walked.box[1] - walked.box[0]
        seen[rows[0] : rows[1], max(start, 0) : stop] += 1
        passes = int(seen[rows[0] : rows[1], max(start, 0) : stop].amax())
        count = max(walked.box[0], 0) // max(block, 1) + 1
        after = exact(case, inputs, seen, lead)
        yield _Chunk(mine[visit.at], mine[visit.end], rows, bottom - top, lead, after, after, count, passes)


def _done(later: tuple[Event, Flat | None], chunk: Event, running: Running) -> bool:
    """Whether the work on a chunk is over at a later event: the next chunk, or a store outside of its loop."""
    event = later[0]
    return (event.kind == "load" and event.tensor == running.walked) or (
        event.kind == "store" and (event.loops != chunk.loops or not chunk.loops)
    )


def _compare(
    events: Sequence[tuple[Event, Flat | None]], walks: list[list[_Chunk]], running: Running, way: int, lag: int
) -> tuple[list[Departure], int]:
    """Departures from one way, and how often the variable that agreed least agreed before the first of them."""
    found: dict[tuple[Any, ...], Departure] = {}
    agreed = dict.fromkeys(running.names, 0)
    for chunks in walks:
        until = {n: len(chunks) if running.in_memory else _settled(chunks, way, n) for n in running.names}
        for position, (chunk, following) in enumerate(zip(chunks, [*chunks[1:], None], strict=False)):
            turn = running.in_memory or _same_walk(chunk, following, events, running)
            if chunk.end is None or (turn and following and following.rows != chunk.rows and not running.in_memory):
                continue
            event = events[chunk.end][0]
            wanted = chunk.before if lag and turn else chunk.after
            for name in running.names:
                got = vector(event.state.get(name))
                if got is None or len(got) != chunk.tall or position > until[name]:
                    continue
                if not turn and _left_alone(events, chunks, position, name):
                    continue
                for i, row in enumerate(range(*chunk.rows)):
                    want = float(wanted[way][name][row])
                    if math.isnan(want):
                        continue
                    values = _allowed(
                        name == running.names[0], want, [float(wanted[way][n][row]) for n in running.names], turn
                    )
                    if any(_close(got[i], value, running.tolerance) for value in values):
                        agreed[name] += not found
                        continue
                    key = (event.program, name, chunk.lead, row)
                    if key not in found:
                        found[key] = Departure(
                            chunk.at, event.program, name, chunk.lead, row, want, got[i], chunk.chunk, chunk.walk
                        )
    return sorted(found.values(), key=lambda d: d.at), min(agreed.values(), default=0)


def _settled(chunks: list[_Chunk], way: int, name: str) -> int:
    """The last chunk of the last walk that has a say in a variable: from then on the kernel may do with it what it likes."""
    last = -1
    for position, chunk in enumerate(chunks):
        before, after = chunk.before[way][name], chunk.after[way][name]
        if not torch.equal(before.nan_to_num(), after.nan_to_num()) or (
            last >= 0 and chunk.chunk > 1 and last == position - 1
        ):
            last = position
    return last


def _same_walk(
    chunk: _Chunk, following: _Chunk | None, events: Sequence[tuple[Event, Flat | None]], running: Running
) -> bool:
    """Whether a chunk's work ends with the load of the next chunk of its walk: a kernel that loads ahead is then one behind."""
    if chunk.end is None or events[chunk.end][0].tensor != running.walked:
        return False
    return following is None or following.at != chunk.end or following.walk == chunk.walk


def _left_alone(events: Sequence[tuple[Event, Flat | None]], chunks: list[_Chunk], position: int, name: str) -> bool:
    """Whether a last chunk outside of the loop, taken apart, did not touch a variable: nobody needs it any more."""
    chunk = chunks[position]
    load = events[chunk.at][0]
    if position and events[chunks[position - 1].at][0].line == load.line:
        return False
    return chunk.end is not None and load.state.get(name) == events[chunk.end][0].state.get(name)


def _allowed(maximum: bool, want: float, exact: list[float], turn: bool) -> set[float]:
    """The numbers that may stand for `want`: a maximum in base 2, and after the walk what a kernel goes on with."""
    m, total = (*exact, math.nan)[:2]
    out = {want, want * LOG2_E} if maximum else {want}
    if not turn and total > 0:
        log = math.log(total)
        out |= {m + log, (m + log) * LOG2_E}
        out |= set() if maximum else {1.0 / total, log, log * LOG2_E}
    return out


def _close(got: float, want: float, tolerance: float) -> bool:
    # values in a trace have four digits
    return math.isfinite(got) and abs(got - want) <= (tolerance + 5e-4) * max(abs(want), 0.1)
