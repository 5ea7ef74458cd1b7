"""attention_delta: for each query, the dot product of attention's output with its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import torch

from checker.authoring import puzzle
from checker.authoring.covering import Row, covering
from checker.authoring.space import length, smallest_first
from checker.course import attention_heads
from checker.course.attention_cases import DTYPES as DTYPE_NAMES
from checker.course.attention_heads import MIXED, laid_out, strides
from checker.course.diagrams import flowing
from checker.course.family_words import case_of
from checker.course.tensors import generator, once_a_case
from checker.puzzle import DTYPES, GPU, Allowance, Case, FilmSpec, Launch, Scalar, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=0.0, c=96.0),
    "float16": Tolerance(rtol=0.0, c=96 * 2.0**-13),
    "bfloat16": Tolerance(rtol=0.0, c=96 * 2.0**-16),
}
"""96 steps of float32 of the sum of all magnitudes (`scale`), whatever the dtype, since delta and its sum are float32.

A sequential sum of 128 products loses at most 64 steps.
"""
_FAMILIES = ("cancelling", "normal", "large", "many_small", "unseen")


def _sizes(case: Case) -> tuple[int, int, int, int]:
    """B, H_Q, N_Q, D."""
    b, h_q, n_q, d = (case.sizes[name] for name in ("B", "H_Q", "N_Q", "D"))
    return b, h_q, n_q, d


def make(case: Case) -> Tensors:
    b, h_q, n_q, d = _sizes(case)
    o, do = (x.to(DTYPES[case.dtype]) for x in _values(case, (b, h_q, n_q, d)))
    return {
        "o_ptr": laid_out(o, case, "o_ptr"),
        "do_ptr": laid_out(do, case, "do_ptr"),
        "delta_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
    }


def _values(case: Case, shape: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """o and do of `shape` [B, H_Q, N_Q, D], float64. Raises ValueError for an unknown family."""
    g = generator(case)
    o, do = (torch.randn(shape, generator=g, dtype=torch.float64) for _ in range(2))
    match case.family.name:
        case "normal":
            return o, do
        case "large":  # products overflow in float16
            large = 2.0**9 if case.dtype == "float16" else 2.0**50
            return o * large, do * large
        case "cancelling":  # the products of the second half of each row nearly cancel those of the first
            half = shape[-1] // 2
            o[..., half:], do[..., half:] = o[..., :half], -do[..., :half]
            return o, do * (1 + 0.01 * torch.randn(shape, generator=g, dtype=torch.float64))
        case "many_small":  # after the first product, each adds less than half a step to a sum in 16 bits
            in_16_bits = torch.float16 if case.dtype == "float32" else DTYPES[case.dtype]
            do = torch.full(shape, 0.45 * torch.finfo(in_16_bits).eps, dtype=torch.float64)
            do[..., 0] = 1.0
            return torch.ones_like(o), do
        case "tiny_outputs":  # products of normal size from numbers near 0
            return o * 2.0**-30, do * 2.0**30
        case "small_gradients":  # products that float16 cannot hold and that are near 0 in float32
            return o, do * (2.0**-22 if case.dtype == "float16" else 2.0**-110)
        case "blanks":  # of three tiles of queries, one has gradients of 0 and one products that add up to 0
            tile = torch.arange(case.sizes["N_Q"]) // case.meta["BLOCK_M"] % 3
            sign = 1.0 - 2.0 * (torch.arange(case.sizes["D"], dtype=torch.float64) % 2)
            o[..., tile == 1, :], do[..., tile == 1, :], do[..., tile == 0, :] = 1.0, sign, 0.0
            return o, do
        case "unseen":  # every other query saw no key: its output is 0, its gradient is not
            o[..., 1::2, :] = 0.0
            return o, do
        case other:
            raise ValueError(f"no family of outputs and gradients is called {other!r}")


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Dao et al. 2022 (FlashAttention), appendix B.2, in float64."""
    return {"delta_ptr": (inputs["o_ptr"] * inputs["do_ptr"]).sum(dim=-1)}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The sum of the magnitudes of all products: where products cancel, their rounding errors remain."""
    return _magnitude(case, output)


@once_a_case
def _magnitude(case: Case, output: str) -> torch.Tensor:
    made = make(case)
    return (made["o_ptr"].double() * made["do_ptr"].double()).abs().sum(dim=-1)


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, n_q, d = _sizes(case)
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={**tensors, **strides(tensors, "o", "do"), "H_Q": h_q, "N_Q": n_q},
        meta={**meta, "D": d},
        outputs=("delta_ptr",),
        options={"num_warps": 4},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, n_q, d = _sizes(case)
    rows = b * h_q * n_q
    once = "each row is needed once"
    return {
        "o_ptr": Allowance(rows * d * DTYPES[case.dtype].itemsize, 0, once),
        "do_ptr": Allowance(rows * d * DTYPES[case.dtype].itemsize, 0, once),
        "delta_ptr": Allowance(0, rows * 4, "one number a query"),
    }


def _case(b: int, h_q: int, n_q: int, d: int, block: int, **more: Any) -> Case:
    return case_of({"B": b, "H_Q": h_q, "N_Q": n_q, "D": d}, {"BLOCK_M": block}, **more)


_FACTORS: dict[str, tuple[Any, ...]] = {
    "family": _FAMILIES,
    "tiles": (2, 1, 5),
    "queries": ("prime", "none", "one", "all but one"),
    "heads": (3, 1, 2),
    "batches": (1, 3, 2),
    "dtype": DTYPE_NAMES,
    "layout": ("strided", "transposed", "contiguous"),
    "tile": (16, 64, 32),
    "d": (16, 128, 64, 32),
}
"""`queries` says how full the last of `tiles` is."""


def _covered() -> tuple[Case, ...]:
    """Small cases that cover all values of the factors in pairs."""
    found = covering(_FACTORS, lambda row: row["batches"] * row["heads"] <= 3 or row["tiles"] < 5)
    return smallest_first(
        _from_row(row, length(row["tiles"] * row["tile"], row["tile"], row["queries"])) for row in found
    )


def _from_row(row: Row, n_q: int) -> Case:
    more = {name: row[name] for name in ("dtype", "layout", "family", "seed") if name in row}
    return _case(row["batches"], row["heads"], n_q, row["d"], row["tile"], **more)


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one has more queries than any known case."""
    found = []
    for number in range(6):
        row = {name: draw.choice(values) for name, values in _FACTORS.items()} | {"seed": draw.getrandbits(32)}
        row |= {"tile": draw.choice((8, 16, 32, 128)), "heads": draw.choice((1, 2, 3, 5))}
        if number == 5:
            row |= {"batches": 1, "heads": 1, "d": 16}
        found.append(_from_row(row, draw.randint(6000, 7000) if number == 5 else draw.randint(1, 3 * row["tile"])))
    return tuple(found)


PUZZLE = puzzle(
    __file__,
    notebook="08_the_way_back",
    points=2,
    outputs=("delta_ptr",),
    cases=(
        *_covered(),
        *(_case(2, 2, 21, 16, 16, layout=layout) for layout in MIXED),
        _case(1, 1, 1, 16, 16),
        _case(1, 1, 5003, 16, 32, layout="strided"),  # more queries than a fixed limit would allow
        _case(5, 7, 3, 16, 16, layout="strided"),  # many heads
        _case(2, 1, 48, 32, 64),  # 16 divides every size, a tile divides none
        # for mistakes that show in few cases only
        _case(2, 3, 641, 16, 16, dtype="float16", layout="strided"),
        _case(1, 2, 2083, 32, 32, dtype="bfloat16", layout="transposed"),
        _case(2, 2, 71, 16, 32, dtype="float16", layout="transposed"),
        _case(3, 2, 33, 32, 16, dtype="bfloat16", layout="strided"),
        _case(2, 3, 21, 32, 16, layout="strided", family="tiny_outputs"),
        _case(2, 3, 37, 64, 32, dtype="bfloat16", layout="transposed", family="tiny_outputs"),
        _case(2, 3, 21, 32, 16, layout="roomy"),
        _case(2, 3, 73, 32, 16, family="blanks"),
        _case(3, 1, 37, 16, 16, dtype="bfloat16", layout="roomy"),
        _case(3, 1, 21, 32, 16, layout="transposed"),
        _case(2, 3, 21, 32, 16, layout="strided", family="small_gradients"),
        _case(2, 3, 37, 64, 32, dtype="float16", layout="transposed", family="small_gradients"),
        _case(2, 8, 4096, 128, 64, devices=GPU, dtype="bfloat16", layout="transposed"),
        _case(3, 5, 1031, 64, 32, devices=GPU, dtype="float16", layout="strided", family="cancelling"),
        _case(1, 16, 8192, 64, 128, devices=GPU),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    long=attention_heads.long("o", "do"),
    film=FilmSpec(
        case=_case(1, 2, 6, 16, 4),
        diagram=flowing(o_ptr=("query", "feature"), do_ptr=("query", "feature"), delta_ptr=("query",)),
        state={"delta": "dot product of each row"},
        choices={"N_Q": (6, 7, 10), "BLOCK_M": (2, 4, 8), "H_Q": (1, 2)},
    ),
    drawn=_drawn,
)
