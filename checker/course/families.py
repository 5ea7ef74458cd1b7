"""The families of rows that softmax kernels are tried on. Each exposes a mistake that the others do not.

Normal rows hide almost every mistake. Negative rows expose a maximum that starts at 0 and masked lanes that hold 0. Ascending
rows, whose maximum comes last, expose a missing rescale, and a large shift exposes a missing subtraction. Softmax gives the same
result whichever number is subtracted, as long as nothing overflows or vanishes. So a wrong maximum shows only where rows ("deep")
or tiles ("late_max", "early_max") are more than 88 apart, the range of exp in float32.

A family's function gets normal rows [M, N] in float64 and the case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from checker.authoring import family
from checker.course.chunk_kinds import IN_SIGHT, PAIRS, Kind, Plan, extremes, rows_of_kinds
from checker.course.tensors import chunk_width, generator
from checker.puzzle import DTYPES, Case, Family

REACH = {"float32": 3000.0, "float16": 60_000.0, "bfloat16": 1e5}
"""The largest magnitude of scores of great magnitude."""


def rows(case: Case, m: int, n: int) -> torch.Tensor:
    """[m, n] float64 rows of the case's family."""
    x = torch.randn(m, n, generator=generator(case), dtype=torch.float64)
    result: torch.Tensor = case.family.make(x, case)
    return result


def _chance(x: torch.Tensor, case: Case, columns: int | None = None) -> torch.Tensor:
    """Uniform numbers below 1, one for each element of x, or for each of so many columns."""
    shape = x.shape if columns is None else (x.shape[0], columns)
    return torch.rand(shape, generator=generator(case), dtype=torch.float64)


def _columns(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[1], dtype=torch.float64)


def _first_tile(x: torch.Tensor, case: Case) -> int:
    """The columns of the first tile, or all but the last if the row fits in one tile."""
    n = x.shape[1]
    return min(case.meta.get("BLOCK_N", n // 2), n - 1)


# ------------------------------------------------------------------------------------------------------ random rows


@family("large numbers", "large numbers")
def large(x: torch.Tensor, case: Case) -> torch.Tensor:
    return x * torch.finfo(DTYPES[case.dtype]).max / 32  # the sum of two does not overflow


@family("numbers next to the smallest that their type can hold", "smallest numbers")
def smallest(x: torch.Tensor, case: Case) -> torch.Tensor:
    info = torch.finfo(DTYPES[case.dtype])
    return torch.round(3 * x) * info.smallest_normal * info.eps  # a few steps each: half a step is lost


@family("two rows of which some numbers are 0 and some cancel", "zeros among numbers")
def zeros(x: torch.Tensor, case: Case) -> torch.Tensor:
    turn = _columns(x) % 5
    x = torch.where(turn == 0, 0.0 * x, x)  # 0.0 or -0.0
    x[0] = torch.where(turn == 1, 0.0 * x[0], x[0])
    x[1] = torch.where(turn == 2, -x[0], x[1])
    return x


@family("rows in which every number is far below zero", "negative rows")
def negative(x: torch.Tensor, case: Case) -> torch.Tensor:
    top = -50 - 30 * _chance(x, case, 1)  # in the range of exp, while others are beyond it; their weights are not
    return top - 80 * _chance(x, case)


@family("rows of large positive numbers, whose exponentials overflow", "positive rows")
def positive(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 3 * x + 200


@family("ascending rows, whose maximum comes last", "ascending rows")
def ascending(x: torch.Tensor, case: Case) -> torch.Tensor:
    return torch.sort(4 * x, dim=-1).values


@family("rows in which some elements are -inf", "masked rows")
def masked(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.where(_chance(x, case) < 0.4, -torch.inf, x)
    x[:, x.shape[1] // 2] = 1.0  # never a whole row
    return x


@family("rows of numbers so far below zero that their exponentials vanish", "deep rows")
def deep(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 3 * x - 300


@family("rows that hold nothing but the lowest numbers of their type, and -inf", "lowest numbers", chunks=3)
def lowest(x: torch.Tensor, case: Case) -> torch.Tensor:
    info, middle = torch.finfo(DTYPES[case.dtype]), x.shape[1] // 2
    low = torch.where(x < 0.5, info.min, info.min * (1 - info.eps))  # two neighbours: whatever is lower has no weight
    low[::2] = info.min  # so a number that stands for -inf would count
    low = low.masked_fill(_chance(x, case) < 0.3, -torch.inf)
    low[:, middle] = info.min
    return low


@family("rows that lie close together far from zero", "rows close together far from zero", chunks=3)
def levels(x: torch.Tensor, case: Case) -> torch.Tensor:
    """c + d with exact d, so that the softmax is that of d. A row counts in steps of 1/8, 2⁻¹³, 1/64 or 1, and c is as large as that allows."""
    step = torch.tensor([2.0**-3, -(2.0**-13), 2.0**-6, -1.0], dtype=torch.float64)
    step = torch.cat([step, -step])[torch.arange(x.shape[0]) % 8, None]
    return step / torch.finfo(DTYPES[case.dtype]).eps + step * torch.round(4 * x)


@family("rows of which every second ends with a number that dwarfs the rest", "late max rows")
def late_max(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[::2, -1] += 120
    return x


@family("rows whose first element dwarfs all after it", "early max rows")
def early_max(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[:, 0] += 120  # the maximum of a later tile must not replace it
    return x


@family("rows whose first tile is -inf throughout", "first chunk masked rows")
def first_chunk_masked(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[:, : _first_tile(x, case)] = -torch.inf
    return x


@family("rows that are -inf throughout", "empty rows")
def empty(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[::2] = -torch.inf
    return x


# ------------------------------------------------------------------------------------------------------- given rows


@family("rows that rise by 6 from chunk to chunk", "climbing rows")
def climbing(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 6.0 * (_columns(x) // chunk_width(case, x.shape[1])) + x.clamp(-1, 1)  # in all, beyond the range of exp


@family(
    "rows whose exponentials fit in float32 beside the first chunk's maximum, while their sum does not",
    "sums that overflow",
)
def overflowing_sum(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = (88.0 - _columns(x) % 3 / 4).repeat(x.shape[0], 1)  # beside a maximum of 0, the sum of three overflows
    x[1::2] = math.log(torch.finfo(torch.float32).max / x.shape[1]) + 0.1  # and here the sum of nearly all
    x[:, : chunk_width(case, x.shape[1])] = 0.0
    return x


@family("rows in which the last element takes nearly everything", "one hot rows")
def one_hot(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.full_like(x, -30.0)
    x[:, -1] = 20.0
    return x


@family("parts that weigh little and hold large outputs", "rare parts")
def rare_parts(x: torch.Tensor, case: Case) -> torch.Tensor:
    """Parts up to 80 below the largest, each with an output as much larger, so that all matter equally however little they weigh."""
    m, n = x.shape
    part = -(-n // case.sizes["SPLITS"])
    depths = torch.randint(0, 81, (m, -(-n // part)), generator=generator(case)).double()
    return x / 8 - depths.repeat_interleave(part, dim=1)[:, :n]


@family("rows in which all numbers are equal", "constant rows", chunks=3)
def constant(x: torch.Tensor, case: Case) -> torch.Tensor:
    return torch.full_like(x, -7.25)


@family("rows of one large element and many tiny ones", "spike rows", chunks=34)
def spike(x: torch.Tensor, case: Case) -> torch.Tensor:
    step = torch.finfo(DTYPES[case.dtype]).eps  # a chunk adds less than half a step to a sum in the case's dtype
    x = torch.full_like(x, math.log(0.45 * step / chunk_width(case, x.shape[1])))
    x[:, 0] = 0.0
    return x


@family("one chunk that stands far above many full ones", "outnumbered rows")
def outnumbered(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.zeros_like(x)  # many full chunks of 0 weigh as much as one element of 17
    x[:, : chunk_width(case, x.shape[1])] = -torch.inf
    x[:, 0] = 17.0
    return x


@family("rows of thousands of equal numbers before one that stands above them", "many below one")
def many_below(x: torch.Tensor, case: Case) -> torch.Tensor:
    """The last number takes all of a row, or leaves a part to the others together, which weigh next to nothing one by one."""
    x = torch.zeros_like(x)
    x[::2, -1], x[1::2, -1] = 1000.0, 17.0
    return x


@family("rows whose numbers lie close together and rise a little from tile to tile", "creeping rows")
def creeping(x: torch.Tensor, case: Case) -> torch.Tensor:
    """In steps that are one step of a 16-bit type: beside 1, such a factor has none."""
    first, step = (2.0**-3, 2.0**-10) if case.dtype == "bfloat16" else (2.0**-2, 2.0**-12)
    tile = case.meta.get("BLOCK_N", x.shape[1])
    return (first + step * (_columns(x) // tile + _columns(x) % 2)).repeat(x.shape[0], 1)


# -------------------------------------------------------------------------------------- rows built from kinds of chunks

KINDS: dict[Kind, str] = {
    Kind.EMPTY: "that are -inf throughout",
    Kind.TIE: "whose maximum is the one so far",
    Kind.BELOW: "just below the maximum so far",
    Kind.FAR_BELOW: "far below the maximum so far",
    Kind.ABOVE: "just above the maximum so far",
    Kind.FAR_ABOVE: "far above the maximum so far",
    Kind.SPIKE: "of one large element among small ones",
    Kind.SMALL: "of many small terms",
    Kind.ZEROS: "of zeros",
}
"""A kind of chunk, to follow "parts of a row"."""


def _of_kinds(x: torch.Tensor, case: Case, plan: Callable[[str], Plan]) -> torch.Tensor:
    (m, n), dtype = x.shape, DTYPES[case.dtype]
    seed, may_be_empty = generator(case).initial_seed(), "SPLITS" in case.sizes
    return rows_of_kinds(m, n, chunk_width(case, n), plan(case.dtype), dtype, seed, empty_rows=may_be_empty)


def built(name: str, words: str, label: str, plan: Plan, chunks: int) -> Family:
    """A family of rows built by a plan, with a variant that lacks each of the plan's kinds."""

    def by(name: str, label: str, plan: Plan) -> Family:
        return Family(name, words, label, partial(_of_kinds, plan=lambda dtype: plan), chunks)

    without = {
        KINDS[kind]: by(f"{name} without {kind.name}", f"{label} but one", plan.without(kind)) for kind in plan.kinds
    }
    return replace(by(name, label, plan), without=without)


def reaching(name: str, words: str, label: str, reach: Callable[[str], float]) -> Family:
    """A family of rows between -reach and reach, which depends on the dtype."""
    return Family(name, words, label, partial(_of_kinds, plan=lambda dtype: extremes(reach(dtype))), chunks=5)


IN_ORDERS = "level with the maximum so far, above or below it, one after another in all orders"
chunk_pairs = built(
    "chunk_pairs", f"rows whose chunks are -inf, zeros, {IN_ORDERS}", "all pairs of chunk kinds", PAIRS, chunks=10
)
chunk_pairs_in_sight = built(
    "chunk_pairs_in_sight",
    f"rows whose chunks are -inf, {IN_ORDERS}",
    "all pairs of chunk kinds but far above",
    IN_SIGHT,
    chunks=8,
)
extreme = reaching(
    "extreme",
    "rows of the largest and smallest numbers",
    "largest and smallest numbers",
    lambda dtype: torch.finfo(DTYPES[dtype]).max,
)

BUILT = (chunk_pairs, chunk_pairs_in_sight)
"""These need as many rows as there are pairs of kinds."""
FAMILIES = tuple(value for value in globals().values() if isinstance(value, Family))
"""All families of rows."""
