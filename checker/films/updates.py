"""How a running sum takes in each chunk, ``old × factor + new``: the numbers of one row, and their sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checker.films.diagram import Accumulator, RunningState, Update
from checker.films.state import matrix, vector
from checker.films.state_divergence import Chunk, close, said
from checker.films.steps import Step, by_program
from checker.view.formats import number

ROUNDED = 0.01
SMALL = 1e-6
"""A factor below this leaves nothing to see."""


@dataclass(frozen=True)
class Addition:
    """``old × factor + new = want``, and what the kernel `got`. `name` is the variable's."""

    name: str
    old: float
    factor: float
    new: float
    got: float
    right: bool

    @property
    def kept(self) -> float:
        return self.old * self.factor

    @property
    def want(self) -> float:
        return self.kept + self.new


@dataclass
class RowUpdates:
    """One row of a program's tile, at every step of that program: what is drawn, and what is said."""

    row: int
    index: int
    """Of the row in the tile."""
    only_row: bool
    """Whether the tile has no other row."""
    steps: frozenset[int]
    """Those of the program."""
    sums: dict[int, Addition]
    """By step, from the one that changes the sum until the chunk is done."""
    accumulators: dict[int, Addition]
    words: dict[int, str]
    """By step, only where something changes."""


def row_updates(steps: Sequence[Step], walks: Sequence[Sequence[Chunk]], running: RunningState) -> list[RowUpdates]:
    """For every program the row with the most visible factor.

    `walks` are the program's chunks; those that change nothing, in a second walk, are left out.
    """
    update = running.update
    if update is None:
        return []
    out = []
    for program_steps, chunks in zip(by_program(steps), walks, strict=True):
        fresh = [c for c in chunks if c.end is not None and _changes(c, update)]
        if not fresh:
            continue
        first = fresh[0]
        same_rows = [c for c in fresh if (c.lead, c.rows) == (first.lead, first.rows)]
        row = max(range(*first.rows), key=lambda r: (_seen(same_rows, update, r), -r))
        out.append(_row(program_steps, same_rows, row, running))
    return out


def _exact(state: Chunk, name: str, row: int, after: bool) -> float:
    """What a variable must be, the plain form of the puzzle's own way; NaN before anything was seen."""
    return float((state.after if after else state.before)[0].during[name][0, row])


def _changes(chunk: Chunk, update: Update) -> bool:
    before, after = (state[0].during[update.total][0].nan_to_num() for state in (chunk.before, chunk.after))
    return bool((before[slice(*chunk.rows)] != after[slice(*chunk.rows)]).any())


def _seen(chunks: Sequence[Chunk], update: Update, row: int) -> float:
    """How visible the factor of a row is: most near a half, not at all at 0 or 1."""
    return sum(f * (1 - f) for f in (_factor(c, update, row) for c in chunks))


def _factor(chunk: Chunk, update: Update, row: int) -> float:
    before, after = (_exact(chunk, update.measure, row, late) for late in (False, True))
    return update.factor(before, after) if math.isfinite(before) and math.isfinite(after) else 0.0


def _row(program_steps: Sequence[Step], chunks: Sequence[Chunk], row: int, running: RunningState) -> RowUpdates:
    update = running.update
    assert update is not None
    first = chunks[0]
    index = row - first.rows[0]
    out = RowUpdates(row, index, first.tall == 1, frozenset(s.at for s in program_steps), {}, {}, {})
    for chunk in chunks:
        during = [s for s in program_steps if chunk.at <= s.at and (chunk.end is None or s.at < chunk.end)]
        addition, at = _sum(during, chunk, row, index, running)
        if addition is None:
            continue
        for step in during:
            if step.at >= at:
                out.sums[step.at] = addition
        measures = [_exact(chunk, update.measure, row, late) for late in (False, True)]
        out.words[at] = _sentence(update, addition, *measures)
        if update.accumulator:
            _accumulate(out, during, addition.factor, update.accumulator, measures)
    return out


def _sum(
    during: Sequence[Step], chunk: Chunk, row: int, index: int, running: RunningState
) -> tuple[Addition | None, int]:
    """What the chunk adds to the sum, and the step that adds it."""
    update = running.update
    assert update is not None
    pairs = []
    for step in during:
        old = _entry(step.event.state.get(update.total), index)
        new = _entry(step.later.state.get(update.total), index) if step.later else None
        if old is not None and new is not None:
            pairs.append((step.at, old, new))
    if not pairs:
        return None, -1
    at = next((at for at, old, new in pairs if old != new), pairs[-1][0])
    old, got = pairs[0][1], pairs[-1][2]
    factor = _factor(chunk, update, row)
    before, after = (_exact(chunk, update.total, row, late) for late in (False, True))
    new = after - factor * (0.0 if math.isnan(before) else before)
    right = close(got, old * factor + new, running.tolerance)
    return Addition(update.total, old, factor, new, got, right), at


def _entry(value: object, index: int) -> float | None:
    values = vector(value)
    return values[index] if values is not None and index < len(values) else None


def _sentence(update: Update, addition: Addition, before: float, after: float) -> str:
    template = update.begins if math.isnan(before) else update.stays if before == after else update.changes
    if not addition.right:
        template += " " + update.departs
    return _filled(template, addition, before, after)


def _filled(template: str, addition: Addition, before: float, after: float) -> str:
    numbers = {
        "before": before,
        "after": after,
        "old": addition.old,
        "new": addition.new,
        "sum": addition.want,
        "got": addition.got,
    }
    return template.format(factor=_short(addition.factor), **{name: said(value) for name, value in numbers.items()})


def _short(factor: float) -> str:
    return f"{factor:.2g}" if factor >= 1e-4 else number(factor, 6)


# ---- a matrix that is rescaled in the same way -------------------------------------------------------------------------


def _accumulate(
    out: RowUpdates, during: Sequence[Step], factor: float, spec: Accumulator, measures: Sequence[float]
) -> None:
    """The accumulator of the same row, in the column where most remains."""
    changed = [change for s in during if (change := _change(s, spec, out.index)) is not None]
    if not changed:
        return
    step, name, old, new = changed[-1]
    column = int(np.abs(np.nan_to_num(old * factor)).argmax())
    was, got = float(old[column]), float(new[column])
    terms = _terms(step, spec, out.index, column)
    added = got - factor * was if terms is None else float(terms.sum())
    # a product's operands are rounded, and so are the numbers of a trace
    room = ROUNDED * (abs(factor * was) + (0.0 if terms is None else float(np.abs(terms).sum())))
    right = terms is None or abs(got - factor * was - added) <= room
    addition = Addition(f"{name}[{out.row}, {column}]", was, factor, added, got, right)
    for late in during:
        if late.at >= step.at:
            out.accumulators[late.at] = addition
    if factor > SMALL:
        out.words.setdefault(step.at, _filled(spec.said, addition, *measures))


def _change(step: Step, spec: Accumulator, index: int) -> tuple[Step, str, np.ndarray, np.ndarray] | None:
    """The variable whose row a step changes, before and after."""
    if step.later is None:
        return None
    for name in spec.names:
        old, new = (matrix(event.state.get(name)) for event in (step.event, step.later))
        if old is not None and new is not None and index < len(old) and not np.array_equal(old[index], new[index]):
            return step, name, old[index], new[index]
    return None


def _terms(step: Step, spec: Accumulator, index: int, column: int) -> np.ndarray | None:
    """The terms of one number of the product of the two tiles; None if the kernel has no such variables."""
    left, right = (next(_tiles(step, names), None) for names in (spec.left, spec.right))
    if left is None or right is None or left.shape[1] != right.shape[0] or column >= right.shape[1]:
        return None
    return np.asarray(left[index] * right[:, column])


def _tiles(step: Step, names: Sequence[str]) -> Iterator[np.ndarray]:
    for name in names:
        tile = matrix(step.event.state.get(name))
        if tile is not None:
            yield tile
