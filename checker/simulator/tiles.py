"""From the addresses of a tile's lanes to the box they form in the index space of their tensor.

A masked lane at the end of a row has the address of the next row's first element, so single addresses say nothing about
the tile's true shape. The steps between neighbouring lanes do: they are the tensor's strides.
"""

from __future__ import annotations

import numpy as np

from checker.simulator.access import Access
from checker.simulator.device_tensor import DeviceTensor
from checker.simulator.trace import Tile

MAX_LISTED = 4096
"""An irregular tile lists at most this many elements; a larger one has only its box."""


def tile_of(access: Access) -> Tile | None:
    """The tile of an access; None if no lane is inside the tensor and the lanes form no box."""
    tensor = access.tensor
    if not tensor.shape:
        return Tile((), ()) if access.valid_offsets.size else Tile((), None)
    axes = _axes(access.offsets, tensor)
    boxed = None if axes is None else _boxed(access, axes, _start(access, axes))
    return boxed or _scattered(access)


def _axes(offsets: np.ndarray, tensor: DeviceTensor) -> list[tuple[int, int] | None] | None:
    """For each axis of the tile, the dimension of the tensor that it runs along and its step; None for an axis of step 0.

    None altogether if the lanes are not evenly spaced, or run along no dimension of the tensor.
    """
    corner = offsets.flat[0]
    predicted = np.asarray(corner)
    steps = []
    for axis, n in enumerate(offsets.shape):
        first = tuple(1 if a == axis else 0 for a in range(offsets.ndim))
        step = int(offsets[first] - corner) if n > 1 else 0
        steps.append(step)
        predicted = predicted[..., None] + np.arange(n) * step
    if not np.array_equal(predicted, offsets):
        return None
    taken: set[int] = set()
    axes: list[tuple[int, int] | None] = []
    for step in steps:
        direction = None if step == 0 else _dimension(step, tensor, taken)
        if step != 0 and direction is None:
            return None
        if direction is not None:
            taken.add(direction[0])
        axes.append(direction)
    return axes


def _dimension(step: int, tensor: DeviceTensor, taken: set[int]) -> tuple[int, int] | None:
    """The dimension along which neighbours are `step` elements apart, or the nearest finer one that divides it."""
    usable = [d for d in range(len(tensor.shape)) if d not in taken and tensor.strides[d] > 0]
    # a dimension of one element has an arbitrary stride: take it only where no other fits
    usable.sort(key=lambda d: (tensor.shape[d] == 1, -tensor.strides[d], -d))
    for d in usable:
        if tensor.strides[d] == step:
            return d, 1
    for d in usable:
        if step > 0 and step % tensor.strides[d] == 0 and tensor.shape[d] > 1:
            return d, step // tensor.strides[d]
    return None


def _start(access: Access, axes: list[tuple[int, int] | None]) -> list[int]:
    """The index of the tile's first lane, from the offsets that the kernel added one after another if they are known."""
    tensor, ndim = access.tensor, access.offsets.ndim
    start = np.zeros(len(tensor.shape), np.int64)
    terms = access.pointer.terms
    if terms is None:
        terms = (access.offsets,)
    scalar = 0
    whole = len([t for t in terms if np.ndim(t)]) == len(terms)
    for term in terms:
        if np.ndim(term) == 0:
            scalar += int(term)
            continue
        first = int(np.asarray(term).flat[0])
        along = [axes[a] for a in range(ndim) if np.ndim(term) == ndim and _varies(term, a) and axes[a] is not None]
        dims = {direction[0] for direction in along if direction is not None}
        if len(dims) == 1 and not (whole and len(terms) == 1):
            (dim,) = dims
            if first % tensor.strides[dim] == 0:
                start[dim] += first // tensor.strides[dim]
                continue
        start += np.array(tensor.index(first), np.int64)
    start += np.array(tensor.index(scalar), np.int64)
    return [int(i) for i in start]


def _varies(term: np.ndarray, axis: int) -> bool:
    return term.shape[axis] > 1 and bool(np.take(term, 0, axis).flat[0] != np.take(term, 1, axis).flat[0])


def _boxed(access: Access, axes: list[tuple[int, int] | None], start: list[int]) -> Tile | None:
    """The tile as a box; None if its lanes inside the tensor do not fit the box."""
    tensor = access.tensor
    extent = {
        direction[0]: (n - 1) * direction[1] + 1
        for direction, n in zip(axes, access.offsets.shape, strict=True)
        if direction
    }
    box = tuple((s, s + extent.get(d, 1)) for d, s in enumerate(start))
    on = np.ones(access.offsets.shape, bool) if access.valid is None else access.valid
    if not on.any():
        return Tile(box, None)
    ranges = [slice(0, 1)] * access.offsets.ndim
    active = [list(side) for side in box]
    for axis, direction in enumerate(axes):
        others = tuple(a for a in range(on.ndim) if a != axis)
        hit = np.flatnonzero(on.any(axis=others))
        ranges[axis] = slice(int(hit[0]), int(hit[-1]) + 1)
        if direction is not None:
            dim, step = direction
            active[dim] = [start[dim] + int(hit[0]) * step, start[dim] + int(hit[-1]) * step + 1]
    if any(low < 0 or high > n for (low, high), n in zip(active, tensor.shape, strict=True)):
        return None
    inside = tuple((int(low), int(high)) for low, high in active)
    filled = bool(on[tuple(ranges)].all()) and all(direction is None or direction[1] == 1 for direction in axes)
    return Tile(box, inside, None if filled else _listed(_elements(access)))


def _elements(access: Access) -> np.ndarray:
    """The elements that were touched, each once, in order."""
    return np.unique(access.tensor.elements(access.valid_offsets))


def _listed(elements: np.ndarray) -> tuple[int, ...] | None:
    return tuple(elements.tolist()) if elements.size <= MAX_LISTED else None


def _scattered(access: Access) -> Tile | None:
    """The box around the elements that were touched, with a list of them if they do not fill it."""
    if not access.valid_offsets.size:
        return None
    elements = _elements(access)
    where = np.unravel_index(elements, access.tensor.shape)
    box = tuple((int(w.min()), int(w.max()) + 1) for w in where)
    filled = elements.size == int(np.prod([high - low for low, high in box]))
    return Tile(box, box, None if filled else _listed(elements))
