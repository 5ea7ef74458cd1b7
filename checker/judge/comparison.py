"""Compare what a kernel wrote with the float64 reference, element by element, and locate the first difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from checker.judge.gpu_arithmetic import Move, where_it_runs
from checker.judge.launches import Prepared
from checker.judge.verdict import Mismatch
from checker.puzzle import DTYPES, Case, Puzzle
from checker.simulator.trace import Trace

ROWS, COLUMNS = 2, 4
"""Elements that the window shows on each side of the first wrong one."""
PLAIN = 3e-4
"""A wrong number is plain if it is off by more than this part of the largest number of its output: smaller ones look like rounding."""
PIECE = 2**18
"""Elements compared at a time: in float64, each step of the computation takes 2 MB, which fits in caches."""


@dataclass(frozen=True)
class Comparison:
    """`worst` is the largest |y - ref| over what the tolerance allows, in any output (at most 1 is right).

    `plain`: the number at which the mismatch points is plainly wrong.
    """

    worst: float
    mismatch: Mismatch | None
    plain: bool = False


def error_against(puzzle: Puzzle, case: Case, output: str, got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """|y - ref| / (rtol·|ref| + c·eps·scale) in float64, in the shape of `got`; inf if NaN or inf do not match.

    A number too large for the output's type is right as an infinity.
    """

    def error(move: Move) -> torch.Tensor:
        there = move(expected).expand(got.shape)
        return _error(puzzle, case, output, move(got), there, _scale(puzzle, case, output, there))

    return where_it_runs(case, error).cpu()


def _scale(puzzle: Puzzle, case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    scale = puzzle.scale(case, output, expected).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    return scale.expand(expected.shape)


def _error(
    puzzle: Puzzle, case: Case, output: str, got: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor
) -> torch.Tensor:
    largest, got = torch.finfo(got.dtype).max, got.double()
    tolerance = puzzle.output_tolerance.get(output, puzzle.tolerance)[case.dtype]
    allowed = tolerance.rtol * expected.abs() + tolerance.c * torch.finfo(DTYPES[case.dtype]).eps * scale
    if not tolerance.near_zero:
        allowed = allowed.where(expected != 0, 0.0)
    difference = (got - expected).abs()
    error = torch.where(difference == 0, torch.zeros_like(difference), difference / allowed)
    alike = (got == expected) | (got.isnan() & expected.isnan())
    too_large = expected.abs() + allowed >= largest
    alike |= too_large & got.isinf() & (got.sign() == expected.sign())
    finite = got.isfinite() & expected.isfinite()
    return torch.where(alike, torch.zeros_like(error), torch.where(finite, error, torch.full_like(error, torch.inf)))


def compare(puzzle: Puzzle, prepared: Prepared, after: Mapping[str, torch.Tensor], trace: Trace | None) -> Comparison:
    """Compare every output; the mismatch describes the first wrong output, and in it the first plainly wrong number, if there is one."""
    worst, mismatch, plain = 0.0, None, False
    for output in prepared.launch.outputs:
        got = after[output]
        largest, error = _largest_error(puzzle, prepared, output, got)
        worst = max(worst, largest)
        if mismatch is None and largest > 1:
            if error is None:
                error = error_against(puzzle, prepared.case, output, got, prepared.expected[output])
            wrong = error > 1
            seen = wrong & _plainly_off(got, prepared.expected[output].expand(got.shape))
            plain = bool(seen.any())
            mismatch = _mismatch(puzzle, prepared, output, got, error, seen if plain else wrong, trace)
    return Comparison(worst, mismatch, plain)


def _plainly_off(got: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    largest = expected.where(expected.isfinite(), 0.0).abs().max()
    return ~((got.double() - expected).abs() <= PLAIN * largest)


def _largest_error(
    puzzle: Puzzle, prepared: Prepared, output: str, got: torch.Tensor
) -> tuple[float, torch.Tensor | None]:
    """The largest error that `error_against` gives, 0 without elements, and all errors if they are few.

    Many are computed in pieces, because a dozen tensors as large as the output could fill the memory.
    """
    case, expected = prepared.case, prepared.expected[output]
    if 0 < got.numel() <= PIECE:
        error = error_against(puzzle, case, output, got, expected)
        return float(error.max()), error

    def largest(move: Move) -> float:
        there = move(expected).expand(got.shape)
        scale = _scale(puzzle, case, output, there)
        errors = (
            _error(puzzle, case, output, move(got[piece]), there[piece], scale[piece])
            for piece in _pieces(tuple(got.shape))
        )
        return max((float(error.max()) for error in errors), default=0.0)

    return where_it_runs(case, largest), None


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cuts across the longest dimension, each of about PIECE elements; none without elements."""
    size = math.prod(shape)
    if size == 0:
        return
    if not shape:
        yield ()
        return
    axis = max(range(len(shape)), key=lambda i: shape[i])
    step = max(1, PIECE * shape[axis] // size)
    for start in range(0, shape[axis], step):
        yield (*(slice(None),) * axis, slice(start, start + step))


def _mismatch(
    puzzle: Puzzle,
    prepared: Prepared,
    output: str,
    got: torch.Tensor,
    error: torch.Tensor,
    at: torch.Tensor,
    trace: Trace | None,
) -> Mismatch:
    """`at` is true where the mismatch may point."""
    wrong = error > 1
    flat = int(at.reshape(-1).nonzero()[0, 0])
    first = tuple(int(i) for i in np.unravel_index(flat, tuple(error.shape))) if error.ndim else ()
    window = window_around(first, tuple(error.shape))
    part = tuple(slice(start, stop) for start, stop in window)
    writers = trace.writers.get(output) if trace else None
    writer = None
    if trace is not None and writers is not None:
        writers = np.asarray(writers).reshape(tuple(error.shape))
        writer = program_of(int(writers[first]), trace.grid)
    return Mismatch(
        case=prepared.case,
        output=output,
        shape=tuple(error.shape),
        first=first,
        wrong=int(wrong.sum()),
        total=wrong.numel(),
        window=window,
        expected=_as_stored(prepared.expected[output].expand(got.shape)[part], got.dtype),
        got=got[part].double().numpy().copy(),
        error=error.numpy(),
        writer=writer,
        writers=writers,
        line=None,
        axes=axes_of(puzzle, output),
    )


def axes_of(puzzle: Puzzle, tensor: str) -> tuple[str, ...]:
    """What a tensor's last dimensions count, as the film says; empty for a tensor that the film does not speak of."""
    drawn = puzzle.film.diagram.tensors.get(tensor)
    return drawn.axes if drawn is not None else ()


def _as_stored(expected: torch.Tensor, dtype: torch.dtype) -> np.ndarray:
    """The reference rounded to the output's type, in float64, since the output can hold nothing closer."""
    rounded: np.ndarray = (expected.to(dtype).double() + 0.0).numpy()  # 0 for -0
    return rounded


def window_around(first: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Index ranges around `first`: ± COLUMNS in the last dimension, ± ROWS in the one before, one index in the others."""
    reach = [0] * max(len(shape) - 2, 0) + [ROWS, COLUMNS][-min(len(shape), 2) :] if shape else []
    return tuple((max(i - r, 0), min(i + r + 1, size)) for i, r, size in zip(first, reach, shape, strict=True))


def program_of(linear: int, grid: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """The program with a linear id (x fastest), or None for -1."""
    if linear < 0:
        return None
    x, y, _ = grid
    return linear % x, linear // x % y, linear // (x * y)
