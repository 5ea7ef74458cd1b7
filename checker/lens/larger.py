"""Whether a kernel's index arithmetic would still hold if its largest tensor had 2³¹ elements: a note, since nobody launched that."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch

from checker.lens.launch import MOST_PROGRAMS
from checker.lens.words import Problem, problem_of, source_of_launch
from checker.phrases import short
from checker.puzzle import Larger, Launch
from checker.simulator import SimulateOptions, SimulationError, simulate
from checker.simulator.recorder import Observer
from checker.simulator.triton_internals import is_descriptor
from checker.simulator.twins import TwinLocator

LIMIT = 2**31
MOST_COPIED = 1 << 24
"""Elements of all tensors together; the launch runs on copies."""


def larger_launch(launch: Launch) -> tuple[Launch, str] | None:
    """The launch with a larger one to follow, whose largest tensor is longer along its first dimension, and that in words.

    Whole numbers and sizes of the grid that are as large as this dimension, or as its number of tiles, grow with it, unless a tensor
    has another dimension or a stride of this size. None if nothing grows, if no GPU takes such a grid, or if the tensors are large
    already.
    """
    named = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor) and value.dim()}
    if any(map(is_descriptor, launch.arguments.values())) or not named:
        return None  # a descriptor has no copy
    if sum(tensor.numel() for tensor in named.values()) > MOST_COPIED:
        return None
    name, tensor = max(named.items(), key=lambda item: item[1].numel())
    n, elements = tensor.shape[0], tensor.numel()
    if n < 2:
        return None
    others = {size for t in named.values() for size in (*t.shape[1:], *t.stride())}
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
    """The numbers that would wrap around. Leaves the tensors of the launch as they are."""
    made = larger_launch(launch)
    if made is None:
        return []
    larger, condition = made
    copies = {name: v.detach().clone() if isinstance(v, torch.Tensor) else v for name, v in launch.arguments.items()}
    locator = TwinLocator()
    options = SimulateOptions(traffic=False, races=False)
    try:
        trace = simulate(kernel, replace(larger, arguments=copies), options, [watch], locator)
    except SimulationError:
        return []  # the launch itself says so
    problems = [problem_of(f, source_of_launch(kernel, locator), trace) for f in trace.findings if f.kind == "wrap"]
    return [replace(p, what=f"{condition}, {p.what[0].lower()}{p.what[1:]}") for p in problems]
