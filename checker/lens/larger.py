"""Whether a kernel's index arithmetic would still hold if its largest tensor had 2³¹ elements: a note, since nobody launched that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch

from checker.lens.launch import MOST_PROGRAMS
from checker.lens.words import Problem, problem_of, source_of_launch
from checker.phrases import join, short
from checker.puzzle import Larger, Launch
from checker.simulator import SimulateOptions, SimulationError, simulate
from checker.simulator.recorder import Observer
from checker.simulator.triton_internals import is_descriptor
from checker.simulator.twins import TwinLocator

LIMIT = 2**31
MOST_COPIED = 1 << 24
"""Elements of all tensors together; the launch runs on copies."""


def _largest(launch: Launch) -> tuple[str, torch.Tensor] | None:
    """The largest tensor, and its parameter; None where the launch has no copy, or is large already, or there is one row."""
    if any(map(is_descriptor, launch.arguments.values())):
        return None
    named = _tensors(launch)
    if not named or sum(tensor.numel() for tensor in named.values()) > MOST_COPIED:
        return None
    name, tensor = max(named.items(), key=lambda item: item[1].numel())
    return (name, tensor) if tensor.shape[0] > 1 and tensor.numel() else None


def _tensors(launch: Launch) -> dict[str, torch.Tensor]:
    return {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor) and value.dim()}


def larger_launch(launch: Launch) -> tuple[Launch, str] | None:
    """The launch with a larger one to follow, whose largest tensor is longer along its first dimension, and that in words.

    Whole numbers and sizes of the grid that are as large as this dimension, or as its number of tiles, grow with it, unless a tensor
    has another dimension or a stride of this size. None if nothing grows, if no GPU takes such a grid, or if the tensors are large
    already.
    """
    largest = _largest(launch)
    if largest is None:
        return None
    name, tensor = largest
    n, elements = tensor.shape[0], tensor.numel()
    others = {size for t in _tensors(launch).values() for size in (*t.shape[1:], *t.stride())}
    growing = {elements} if n in others else {elements, n}
    factor = LIMIT // elements + 1
    whole = {name: v for name, v in launch.arguments.items() if isinstance(v, int) and not isinstance(v, bool)}
    numbers = {name: v * factor if v in growing else v for name, v in whole.items()}
    before = (*launch.grid, 1, 1)[:3]
    grid = _grown(before, growing, factor, [v for v in launch.meta.values() if isinstance(v, int) and v > 1])
    if grid is None or (grid, numbers) == (before, whole) or any(v >= LIMIT for v in numbers.values()):
        return None
    changed = [f"{name} = {v:,}" for name, v in numbers.items() if v != whole[name]]
    if grid != before:
        changed.append("a grid of " + " × ".join(f"{size:,}" for size in grid[: len(launch.grid)]))
    words = f"With {elements * factor:,} elements in {short(name)} ({', '.join(changed)})"
    return replace(launch, larger=Larger(grid, numbers)), words


def launch_with_larger_indices(launch: Launch) -> tuple[Launch, str] | None:
    """The launch with one to follow whose largest tensor is longer, and whose indices lead to the last rows, and that in words.

    Indices are the numbers of other tensors, 32 or 64 bits wide, that could all be rows of the largest one, or -1. None without any.
    """
    largest = _largest(launch)
    if largest is None:
        return None
    name, tensor = largest
    n, factor = tensor.shape[0], 2 * (LIMIT // tensor.numel() + 1)  # so that all new rows lie past the limit
    more = min(n * factor, LIMIT) - n
    whole = {o: t for o, t in _tensors(launch).items() if o != name and t.dtype in (torch.int32, torch.int64)}
    indices = {o: more for o, t in whole.items() if t.numel() and int(t.min()) >= -1 and int(t.max()) < n}
    if not indices:
        return None
    x, y, z = (*launch.grid, 1, 1)[:3]
    words = f"With {tensor.numel() * factor:,} elements in {short(name)} (and {join(map(short, indices))} up to {n + more - 1:,})"
    return replace(launch, larger=Larger((x, y, z), {}, indices=indices)), words


def _grown(
    grid: Sequence[int], sizes: Collection[int], factor: int, tiles: Sequence[int]
) -> tuple[int, int, int] | None:
    """The grid with the size that follows from one of `sizes` as it would be for `factor` times as many, or as it is."""
    x, y, z = grid
    for axis, size in enumerate(grid):
        tiled = next((-(-n * factor // tile) for n in sizes for tile in tiles if 1 < size == -(-n // tile)), 0)
        if tiled or (size > 1 and any(size % n == 0 for n in sizes)):
            larger = [x, y, z]
            larger[axis] = tiled or size * factor
            return (larger[0], larger[1], larger[2]) if larger[axis] <= MOST_PROGRAMS[axis] else None
    return x, y, z


def notes_on(kernel: Any, launch: Launch, watch: Observer) -> list[Problem]:
    """The numbers that would wrap around in larger launches."""
    notes: list[Problem] = []
    if (made := larger_launch(launch)) is not None:
        notes += [_note(p, made[1]) for p in _wraps(kernel, made[0], watch)]
    if (made := launch_with_larger_indices(launch)) is not None:
        sizes = {short(name): tensor.numel() for name, tensor in _tensors(launch).items()}
        wraps = _wraps(kernel, made[0], watch)
        notes += [_note(p, made[1]) for p in wraps if p.tensor and sizes.get(p.tensor) == max(sizes.values())]
    return notes


def _note(problem: Problem, condition: str) -> Problem:
    return replace(problem, what=f"{condition}, {problem.what[0].lower()}{problem.what[1:]}")


def _wraps(kernel: Any, launch: Launch, watch: Observer) -> list[Problem]:
    """The numbers that would wrap around in the larger launch. Leaves the tensors as they are."""
    copies = {name: v.detach().clone() if isinstance(v, torch.Tensor) else v for name, v in launch.arguments.items()}
    locator = TwinLocator()
    options = SimulateOptions(traffic=False, races=False)
    try:
        trace = simulate(kernel, replace(launch, arguments=copies), options, [watch], locator)
    except SimulationError:
        return []  # the launch itself says so
    return [problem_of(f, source_of_launch(kernel, locator), trace) for f in trace.findings if f.kind == "wrap"]
