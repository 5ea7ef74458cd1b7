"""The inputs beside a wrong element: the numbers that it is made from, if they are few enough to look at.

The reference says which those are: a change of one of them changes the element. So no puzzle has to list them, and none can forget one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from checker.judge.comparison import axes_of
from checker.judge.launches import Prepared
from checker.judge.verdict import Input, Mismatch
from checker.puzzle import Puzzle, Tensors

FEW = 8
"""The most numbers of a list, or of a row or column of a small table, that is shown whole."""
WIDE, MOST = 16, 96
"""The most rows and columns of an input that are shown, because `tl.dot` takes no fewer features, and the most numbers."""
SHORT = 4
"""An axis that is summed over, such as the keys, is shown whole if it is no longer: a wrong kernel may have added what it should not."""
BY_HAND = 24
"""The most numbers from which people work something out."""
MEASURED = 2**13
"""The most numbers of all inputs together for which the reference is computed again and again."""
NOTICED = 1e-7
"""Relative to the element. What moves it by less, such as the keys of a single token by the 1e-6 of a normaliser, is no part of it."""

Span = tuple[int, int]
Index = tuple[Any, ...]


def with_inputs(puzzle: Puzzle, prepared: Prepared, mismatch: Mismatch) -> Mismatch:
    """The mismatch with the inputs of its first element, and beside its window those with the output's own axes.

    Short lists, and small tables of whole numbers, come last: lengths, sinks, pages.
    """
    given = {name: tensor for name, tensor in prepared.tensors.items() if name not in prepared.expected}
    parts = _parts(puzzle, prepared, given, mismatch)
    beside = _Beside(puzzle, mismatch)
    if parts:
        shown = {name: beside.part(name, given[name], part) for name, part in parts.items()}
    else:
        shown = {name: beside.own(name, tensor) for name, tensor in given.items()}
    for name, tensor in given.items():
        table = tensor.ndim == 1 or (tensor.ndim == 2 and not tensor.is_floating_point())
        if table and max(tensor.shape) <= FEW and shown.get(name) is None:
            shown[name] = _cut(name, tensor, [(0, size) for size in tensor.shape])
    inputs = {name: replace(one, axes=beside.axes(name)) for name, one in shown.items() if one is not None}
    whole = all(name in inputs and _holds(inputs[name], part) for name, part in parts.items())
    whole &= all(name in inputs for name, tensor in given.items() if not tensor.is_floating_point())
    numbers = sum(math.prod(stop - start for start, stop in part) for part in parts.values())
    return replace(mismatch, inputs=tuple(inputs.values()), by_hand=whole and 0 < numbers <= BY_HAND)


@dataclass(frozen=True)
class _Beside:
    """What of an input is shown beside the first wrong element."""

    puzzle: Puzzle
    mismatch: Mismatch

    def axes(self, tensor: str) -> tuple[str, ...]:
        return axes_of(self.puzzle, tensor)

    def alike(self, name: str) -> bool:
        """Whether the input has the output's own axes."""
        axes = self.axes(name)
        return bool(axes) and set(axes) == set(self.axes(self.mismatch.output))

    def part(self, name: str, tensor: torch.Tensor, part: Sequence[Span]) -> Input | None:
        """What the element is made from, with what is near it; None if that is too much."""
        axes, ours = self.axes(name), self.axes(self.mismatch.output)
        summed = set(axes[:1]) - set(ours)
        every = zip(part, tensor.shape, ("",) * (tensor.ndim - len(axes)) + axes, strict=True)
        spans = [(0, size) if axis in summed and span[0] == 0 and size <= SHORT else span for span, size, axis in every]
        near = self.near(name, tensor)
        if not self.alike(name) or near is None:
            return _shown(name, tensor, spans)
        both = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(spans, near, strict=True)]
        return _shown(name, tensor, both, beside=True) or _shown(name, tensor, near, beside=True)

    def own(self, name: str, tensor: torch.Tensor) -> Input | None:
        """What is near the element, where nobody knows what it is made from: for an input with its axes, or with a number for its row."""
        near = self.near(name, tensor)
        return None if near is None else _shown(name, tensor, near, beside=self.alike(name))

    def near(self, name: str, tensor: torch.Tensor) -> list[Span] | None:
        """The window's part of an input with the output's axes, the element's part of one with a single axis of them."""
        axes, ours, first = self.axes(name), self.axes(self.mismatch.output), self.mismatch.first
        lead, alike = tensor.ndim - len(axes), self.alike(name)
        of_its_row = len(axes) == 1 and axes[0] in ours
        if not (alike or of_its_row) or tensor.shape[:lead] != self.mismatch.shape[:lead]:
            return None
        one = [(i, i + 1) for i in first]
        among = dict(zip(ours, (self.mismatch.window if alike else one)[len(first) - len(ours) :], strict=True))
        return [*one[:lead], *(among[axis] for axis in axes)]


def _shown(name: str, tensor: torch.Tensor, spans: Sequence[Span], beside: bool = False) -> Input | None:
    """None for more than one table, and for a table that is too large."""
    *lead, rows, columns = [1, 1, *(stop - start for start, stop in spans)]
    large = max(lead, default=1) > 1 or max(rows, columns) > WIDE or rows * columns > MOST
    return None if large else _cut(name, tensor, spans, beside)


def _cut(name: str, tensor: torch.Tensor, spans: Sequence[Span], beside: bool = False) -> Input:
    values = tensor[tuple(slice(*span) for span in spans)].double()
    *lead, rows, columns = [(0, 1), *spans] if len(spans) < 2 else spans
    table = values.reshape(rows[1] - rows[0], columns[1] - columns[0]).numpy().copy()
    return Input(name, tuple(range(*rows)), tuple(range(*columns)), table, tuple(start for start, _ in lead), beside)


def _holds(one: Input, part: Sequence[Span]) -> bool:
    """Whether the table has all of what the element is made from."""
    rows, columns = [(0, 1), *part][-2:]
    return {*range(*rows)} <= {*one.rows} and {*range(*columns)} <= {*one.columns}


def _parts(puzzle: Puzzle, prepared: Prepared, given: Tensors, mismatch: Mismatch) -> dict[str, list[Span]]:
    """From where to where in each dimension the element depends on an input; inputs that it does not depend on are left out.

    Numbers are replaced by ordinary ones first: which of them count must not depend on a 0 among them. Empty if there are too many.
    """
    numbers = {name: tensor for name, tensor in given.items() if tensor.is_floating_point()}
    if sum(tensor.numel() for tensor in numbers.values()) > MEASURED:
        return {}
    random = np.random.default_rng(0)
    usual, other = ({name: random.uniform(0.05, 0.15, tuple(x.shape)) for name, x in numbers.items()} for _ in range(2))

    def element(changed: Mapping[str, np.ndarray]) -> float:
        tensors = {**given, **{name: torch.from_numpy(x) for name, x in {**usual, **changed}.items()}}
        return float(puzzle.reference(prepared.case, tensors)[mismatch.output].expand(mismatch.shape)[mismatch.first])

    expected, found = element({}), {}
    for name, array in usual.items():

        def matters(at: Index, name: str = name, array: np.ndarray = array) -> bool:
            changed = array.copy()
            changed[at] = other[name][at]
            return abs(element({name: changed}) - expected) > NOTICED * abs(expected)

        if matters((...,)):
            found[name] = [_span(array.shape, axis, matters) for axis in range(array.ndim)]
    return found


def _span(shape: tuple[int, ...], axis: int, matters: Callable[[Index], bool]) -> Span:
    """Between which indices of an axis numbers matter, by halving."""

    def among(start: int, stop: int) -> bool:
        return matters((*(slice(None),) * axis, slice(start, stop)))

    first, last = 0, shape[axis] - 1
    while first < last:  # the first of them is at `first` or after it, but not after `last`
        middle = (first + last) // 2
        first, last = (first, middle) if among(0, middle + 1) else (middle + 1, last)
    begin, last = first, shape[axis] - 1
    while first < last:
        middle = (first + last + 1) // 2
        first, last = (middle, last) if among(middle, shape[axis]) else (first, middle - 1)
    return begin, first + 1
