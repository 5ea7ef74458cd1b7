"""The families of rows that softmax kernels are tried on. Each exposes a mistake that the others do not.

Normal rows hide almost every mistake. Negative rows expose a maximum that starts at 0 and masked lanes that hold 0. Ascending
rows, whose maximum comes last, expose a missing rescale, and a large shift exposes a missing subtraction. Softmax gives the same
result whichever number is subtracted, as long as nothing overflows or vanishes. So a wrong maximum shows only where rows ("deep")
or tiles ("late_max", "early_max", "uneven") are more than 88 apart, the range of exp in float32.

A family's function gets normal rows [M, N] in float64 and the case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from checker.authoring import family
from checker.course.chunk_kinds import IN_SIGHT, PAIRS, TRIPLES, Kind, Plan, extremes, rows_of_kinds
from checker.course.tensors import chunk_width, generator
from checker.puzzle import DTYPES, Case, Family

REACH = {"float32": 3000.0, "float16": 60_000.0, "bfloat16": 1e5}
"""The largest magnitude in rows of the family "extreme"."""


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


@family("numbers half of which are 0", "zeros among numbers")
def zeros(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.where(_chance(x, case) < 0.5, 0.0 * x, x)  # 0.0 or -0.0, at other places in each row
    x[:, 0] = 0.0
    return x


@family("rows in which every number is far below zero", "negative rows")
def negative(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 3 * x - 50 - 20 * _chance(x, case, 1)


@family("rows of large positive numbers, whose exponentials overflow", "positive rows")
def positive(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 3 * x + 200


@family("ascending rows, whose maximum comes last", "ascending rows")
def ascending(x: torch.Tensor, case: Case) -> torch.Tensor:
    return torch.sort(4 * x, dim=-1).values


@family("descending rows, whose maximum comes first", "descending rows")
def descending(x: torch.Tensor, case: Case) -> torch.Tensor:
    return torch.sort(4 * x, dim=-1, descending=True).values


@family("rows in which some elements are -inf", "masked rows")
def masked(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.where(_chance(x, case) < 0.4, -torch.inf, x)
    x[:, x.shape[1] // 2] = 1.0  # never a whole row
    return x


@family("rows of numbers so far below zero that their exponentials vanish", "deep rows")
def deep(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 3 * x - 300


@family("rows below any number used for -inf", "abyss")
def abyss(x: torch.Tensor, case: Case) -> torch.Tensor:
    return -1e38 - 1e38 * _chance(x, case)  # for mutants only: correct kernels that fold l into exp fail, too


@family("rows whose last element dwarfs all before it", "late max rows")
def late_max(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[:, -1] += 120
    return x


@family("rows whose first element dwarfs all after it", "early max rows")
def early_max(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[:, 0] += 120  # the maximum of a later tile must not replace it
    return x


@family("rows whose first tile is -inf throughout", "first chunk masked rows")
def first_chunk_masked(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[:, : _first_tile(x, case)] = -torch.inf
    return x


@family("rows whose first tile is -inf throughout, and all others far below zero", "masked then deep rows")
def masked_then_deep(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = 3 * x - 300  # far from any number used for that -inf
    x[:, : _first_tile(x, case)] = -torch.inf
    return x


@family("neighbouring rows of very different magnitude", "uneven rows")
def uneven(x: torch.Tensor, case: Case) -> torch.Tensor:
    return x - 150.0 * (torch.arange(x.shape[0], dtype=torch.float64) % 2)[:, None]  # no one maximum serves both


@family("rows that are -inf throughout", "empty rows")
def empty(x: torch.Tensor, case: Case) -> torch.Tensor:
    x[::2] = -torch.inf
    return x


# ------------------------------------------------------------------------------------------------------- given rows


@family("rows that rise by less than a thousandth from chunk to chunk", "creeping rows")
def creeping(x: torch.Tensor, case: Case) -> torch.Tensor:
    return (5e-5 * _columns(x)).repeat(x.shape[0], 1)  # the error of skipped rescales adds up


@family("rows that rise by 6 from chunk to chunk", "climbing rows")
def climbing(x: torch.Tensor, case: Case) -> torch.Tensor:
    return 6.0 * (_columns(x) // chunk_width(case, x.shape[1])) + x.clamp(-1, 1)  # in all, beyond the range of exp


@family(
    "rows whose exponentials fit in float32 beside the first chunk's maximum, while their sum does not",
    "sums that overflow",
)
def overflowing_sum(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = (88.0 - _columns(x) % 3 / 4).repeat(x.shape[0], 1)  # beside a maximum of 0, the sum of three overflows
    x[1::2] = 83.3  # and here the sum of 230
    x[:, : chunk_width(case, x.shape[1])] = 0.0
    return x


@family("rows in which the last element takes nearly everything", "one hot rows")
def one_hot(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.full_like(x, -30.0)
    x[:, -1] = 20.0
    return x


@family("rows in which all numbers are equal", "constant rows", chunks=3)
def constant(x: torch.Tensor, case: Case) -> torch.Tensor:
    return torch.full_like(x, -7.25)


@family("rows in which all numbers are nearly equal", "nearly constant rows")
def nearly_constant(x: torch.Tensor, case: Case) -> torch.Tensor:
    return (-7.25 + (7 * _columns(x) % 23) / 2**15).repeat(x.shape[0], 1)


@family("rows of many equal numbers just below one maximum", "equal terms")
def equal_terms(x: torch.Tensor, case: Case) -> torch.Tensor:
    x = torch.full_like(x, math.log(0.7))  # a sum of more than 64 in 16 bits rounds each 0.7 the same way
    x[:, 0] = 0.0
    return x


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
chunk_triples = built(
    "chunk_triples",
    "long rows whose chunks are -inf, level with the maximum so far, above or below it, in all orders of three",
    "all triples of chunk kinds",
    TRIPLES,
    chunks=38,
)
extreme = reaching(
    "extreme", "rows of the largest and smallest numbers", "largest and smallest numbers", REACH.__getitem__
)
vast = reaching("vast", "rows of numbers near 1e30 and -1e30", "numbers near ±1e30", lambda dtype: 1e30)
utmost = reaching("utmost", "rows of numbers near 1e38 and -1e38", "numbers near ±1e38", lambda dtype: 1e38)

BUILT = (chunk_pairs, chunk_pairs_in_sight, chunk_triples)
"""These need as many rows as there are pairs of kinds."""
FAMILIES = tuple(value for value in globals().values() if isinstance(value, Family))
"""All families of rows."""
