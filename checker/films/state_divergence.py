"""Where a kernel's running state first differs from its exact value.

Only variables that the puzzle names are compared, and only between chunks. A kernel may update them before or after it loads, in any
form that the puzzle accepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from checker.films.diagram import ExactState, RunningState
from checker.films.state import vector, visits_in_memory
from checker.films.steps import Program, Span, Step, by_program
from checker.puzzle import Case
from checker.view.formats import number

Exact = tuple[ExactState, ...]


@dataclass(frozen=True)
class Divergence:
    """The first step after which one variable of one row is wrong: it `got` another value than it should (`want`)."""

    at: int
    program: Program
    name: str
    lead: tuple[int, ...]
    row: int
    want: float
    got: float
    chunk: int  # from 1, by its place
    walk: int  # from 1
    looping: bool  # whether another chunk of the same pass followed

    def words(self, several_rows: bool) -> str:
        """``After chunk 3, l_i of row 0 should be 7.39 and is 2.72.``"""
        walk = "" if self.walk == 1 else f" of the {'second' if self.walk == 2 else f'{self.walk}th'} pass"
        index = ", ".join(str(i) for i in (*self.lead, self.row))
        whose = f" of row {index}" if several_rows else ""
        what = f"{self.name}{whose} should be {said(self.want)} and is {said(self.got)}"
        return f"After chunk {self.chunk}{walk}, {what}."


def said(value: float) -> str:
    """In the four digits that a trace has."""
    return f"{value:.4g}" if math.isfinite(value) else number(value)


@dataclass(frozen=True)
class Chunk:
    """One load of the walked tensor, the step at which its work is done, and what the state must be before and after it."""

    at: int
    end: int | None
    rows: Span
    tall: int  # of the tile, which may hang over the last row
    lead: tuple[int, ...]
    before: Exact
    after: Exact
    chunk: int
    walk: int


@dataclass(frozen=True)
class _Walked:
    """The launch whose chunks are followed."""

    running: RunningState
    case: Case
    inputs: Mapping[str, torch.Tensor]
    shape: Sequence[int]
    walked_shape: Sequence[int]

    def exact(self, seen: torch.Tensor, lead: tuple[int, ...]) -> Exact:
        assert self.running.exact is not None
        return self.running.exact(self.case, dict(self.inputs), seen, lead)

    def lead(self, slice_: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(slice_, self.shape[:-2]))

    def inside(self, rows: Span) -> Span:
        return max(rows[0], 0), min(rows[1], self.shape[-2])


def walks_of(
    steps: Sequence[Step],
    shape: Sequence[int],
    walked_shape: Sequence[int],
    running: RunningState,
    case: Case,
    tensors: Mapping[str, Any],
) -> list[list[Chunk]]:
    """The chunks of every program in turn, with what its state must be before and after each.

    `shape` and `walked_shape` are those of ``running.rows`` and ``running.walked``. `steps` are whole programs.
    """
    inputs = {name: torch.as_tensor(value).double() for name, value in tensors.items()}
    walked = _Walked(running, case, inputs, shape, walked_shape)
    chunks = _visited if running.in_memory else _chunks
    with _one_thread():
        return [list(chunks(program_steps, walked)) for program_steps in by_program(steps)]


def state_divergences(
    steps: Sequence[Step], walks: list[list[Chunk]], running: RunningState
) -> tuple[int, list[Divergence]]:
    """The correct order that the kernel follows, and each variable's first divergence in every row, in the order of steps.

    There are none if the kernel is right.
    """
    ways = next((len(c.after) for w in walks for c in w), 0)
    own: list[tuple[int, list[Divergence]]] = []
    for way in range(ways):
        divergences, agreed = _compare(steps, walks, running, way, lag=0)
        if not divergences:
            return way, []
        if not running.in_memory:
            behind, agreed_behind = _compare(steps, walks, running, way, lag=1)
            if agreed_behind and not behind:
                return way, []
        own.append((agreed, divergences))
    # the kernel's own way is the one it followed longest and leaves in fewest places; of equals, the puzzle's
    way = max(range(len(own)), key=lambda i: (own[i][0], -len(own[i][1])), default=0)
    return way, own[way][1] if own else []


@contextmanager
def _one_thread() -> Iterator[None]:
    """With many small tensors, waking threads would take longer than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _chunks(program_steps: Sequence[Step], walked: _Walked) -> Iterator[Chunk]:
    running, shape = walked.running, walked.shape
    alone = running.walked == running.rows
    columns = shape[-1] if alone else walked.walked_shape[-2]
    planes: dict[int, torch.Tensor] = {}
    held: tuple[int, Span, int] | None = None
    last: Exact = ()
    held_at: tuple[int, Span] | None = None
    for position, step in enumerate(program_steps):
        flat = step.tile
        if flat is None or step.event.kind != "load":
            continue
        if step.event.tensor == running.rows:
            held = (flat.slice, walked.inside(flat.box[:2]), flat.box[1] - flat.box[0])
        if step.event.tensor != running.walked or held is None or flat.active is None or held[1][0] >= held[1][1]:
            continue
        slice_, rows, tall = held
        lead = walked.lead(slice_)
        seen = planes.setdefault(slice_, torch.zeros(shape[-2], columns, dtype=torch.int32))
        r0, r1, c0, c1 = flat.active if alone else (*rows, *flat.active[:2])
        before = last if held_at == (slice_, rows) and last else walked.exact(seen, lead)
        seen[max(r0, 0) : r1, max(c0, 0) : c1] += 1
        start, stop = flat.box[2:] if alone else flat.box[:2]
        count = max(start, 0) // max(stop - start, 1) + 1
        passes = int(seen[max(r0, 0) : r1, max(c0, 0) : c1].amax())
        end = next((later.at for later in program_steps[position + 1 :] if _done(later, step, running)), None)
        last, held_at = walked.exact(seen, lead), (slice_, rows)
        yield Chunk(step.at, end, rows, tall, lead, before, last, count, passes)


def _visited(program_steps: Sequence[Step], walked: _Walked) -> Iterator[Chunk]:
    """As `_chunks`, of a kernel whose state lives in memory: every visit leaves exact values behind."""
    planes: dict[int, torch.Tensor] = {}
    for visit in visits_in_memory(program_steps, walked.running):
        rows, active = walked.inside(visit.rows), visit.walked.active
        if active is None or rows[0] >= rows[1]:
            continue
        lead = walked.lead(visit.slice)
        empty = torch.zeros(walked.shape[-2], walked.walked_shape[-2], dtype=torch.int32)
        seen = planes.setdefault(visit.slice, empty)
        start, stop, block = active[0], active[1], visit.walked.box[1] - visit.walked.box[0]
        seen[rows[0] : rows[1], max(start, 0) : stop] += 1
        passes = int(seen[rows[0] : rows[1], max(start, 0) : stop].amax())
        count = max(visit.walked.box[0], 0) // max(block, 1) + 1
        after, tall = walked.exact(seen, lead), visit.rows[1] - visit.rows[0]
        yield Chunk(
            program_steps[visit.at].at, program_steps[visit.end].at, rows, tall, lead, after, after, count, passes
        )


def _done(later: Step, chunk: Step, running: RunningState) -> bool:
    """Whether the work on a chunk is over at a later step: the next chunk, or a store outside of its loop."""
    loops = chunk.event.loops
    return (later.event.kind == "load" and later.event.tensor == running.walked) or (
        later.event.kind == "store" and (later.event.loops != loops or not loops)
    )


def _compare(
    steps: Sequence[Step], walks: list[list[Chunk]], running: RunningState, way: int, lag: int
) -> tuple[list[Divergence], int]:
    """Divergences from one way, and how often the variable that agreed least agreed before the first of them."""
    divergences: dict[tuple[Any, ...], Divergence] = {}
    agreed: dict[str, int] = {}
    for chunks in walks:
        until = {n: len(chunks) if running.in_memory else _settled(chunks, way, n) for n in running.names}
        for position, (chunk, following) in enumerate(zip(chunks, [*chunks[1:], None], strict=False)):
            turn = running.in_memory or _same_walk(chunk, following, steps, running)
            if chunk.end is None or (turn and following and following.rows != chunk.rows and not running.in_memory):
                continue
            event = steps[chunk.end].event
            exact = (chunk.before if lag and turn else chunk.after)[way]
            honest = exact.during if turn else exact.afterwards
            for name in running.names:
                got = vector(event.state.get(name))
                if got is None or len(got) != chunk.tall or position > until[name]:
                    continue
                if not turn and _left_alone(steps, chunks, position, name):
                    continue
                agreed.setdefault(name, 0)
                for i, row in enumerate(range(*chunk.rows)):
                    want, *others = honest[name][:, row].tolist()
                    if math.isnan(want):
                        continue
                    if any(close(got[i], value, running.tolerance) for value in (want, *others)):
                        agreed[name] += not divergences
                        continue
                    key = (event.program, name, chunk.lead, row)
                    if key not in divergences:
                        divergences[key] = Divergence(
                            *(chunk.at, event.program, name, chunk.lead, row, want, got[i]),
                            *(chunk.chunk, chunk.walk, turn),
                        )
    return sorted(divergences.values(), key=lambda d: d.at), min(agreed.values(), default=0)


def _settled(chunks: list[Chunk], way: int, name: str) -> int:
    """The last chunk that contributes to a variable. From then on the kernel may use it for anything."""
    last = -1
    for position, chunk in enumerate(chunks):
        before, after = chunk.before[way].during[name][0], chunk.after[way].during[name][0]
        if not torch.equal(before.nan_to_num(), after.nan_to_num()) or (
            last >= 0 and chunk.chunk > 1 and last == position - 1
        ):
            last = position
    return last


def _same_walk(chunk: Chunk, following: Chunk | None, steps: Sequence[Step], running: RunningState) -> bool:
    """Whether a chunk's work ends with the load of the next chunk of the same pass: a kernel that loads ahead is then one behind."""
    if chunk.end is None or steps[chunk.end].event.tensor != running.walked:
        return False
    return following is None or following.at != chunk.end or following.walk == chunk.walk


def _left_alone(steps: Sequence[Step], chunks: list[Chunk], position: int, name: str) -> bool:
    """Whether a last chunk, outside of the loop, leaves a variable alone because nothing needs it any more."""
    chunk = chunks[position]
    load = steps[chunk.at].event
    if position and steps[chunks[position - 1].at].event.line == load.line:
        return False
    return chunk.end is not None and load.state.get(name) == steps[chunk.end].event.state.get(name)


def close(got: float, want: float, tolerance: float) -> bool:
    """Whether a number of a trace is right."""
    # values in a trace have four digits
    return math.isfinite(got) and abs(got - want) <= (tolerance + 5e-4) * max(abs(want), 0.1)
