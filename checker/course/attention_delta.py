"""attention_delta: for each query, the dot product of attention's output with its gradient."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.authoring import Row, Space, cdiv, family, puzzle, table
from checker.authoring.space import ANY_REMAINDER, length
from checker.course.attention import REMAINDERS, WIDTH
from checker.course.attention_heads import ANY_STRIDES, HEADS_DOMAIN, MIXED, PER_QUERY, input_laid_out
from checker.course.attention_values import WIDTHS
from checker.course.diagrams import flowing
from checker.course.tensors import generator, once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, FilmSpec, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=0.0, c=96.0),
    "float16": Tolerance(rtol=0.0, c=96 * 2.0**-13),
    "bfloat16": Tolerance(rtol=0.0, c=96 * 2.0**-16),
}
"""96 steps of float32 of the sum of all magnitudes (`scale`), whatever the dtype, since delta and its sum are float32.

A sequential sum of 128 products loses at most 64 steps.
"""
Rows = tuple[torch.Tensor, torch.Tensor]
"""o and do, each [B, H_Q, N_Q, D] float64. Both are normal before a family changes them."""


@family("large numbers", "large numbers")
def large(rows: Rows, case: Case) -> Rows:
    o, do = rows
    factor = 2.0**9 if case.dtype == "float16" else 2.0**50
    return o * factor, do * factor  # products overflow in float16


@family("rows whose products nearly cancel", "products that cancel")
def cancelling(rows: Rows, case: Case) -> Rows:
    o, do = rows
    g, half = generator(case), o.shape[-1] // 2
    for _ in rows:
        torch.randn(o.shape, generator=g, dtype=torch.float64)  # those of o and do
    o[..., half:], do[..., half:] = o[..., :half], -do[..., :half]
    return o, do * (1 + 0.01 * torch.randn(o.shape, generator=g, dtype=torch.float64))


@family("many small contributions beside a large one", "many small contributions")
def many_small(rows: Rows, case: Case) -> Rows:
    """After the first product, each adds less than half a step to a sum in 16 bits."""
    o, do = rows
    in_16_bits = torch.float16 if case.dtype == "float32" else DTYPES[case.dtype]
    do = torch.full_like(do, 0.45 * torch.finfo(in_16_bits).eps)
    do[..., 0] = 1.0
    return torch.ones_like(o), do


@family("tiny outputs", "tiny outputs")
def tiny_outputs(rows: Rows, case: Case) -> Rows:
    o, do = rows
    return o * 2.0**-30, do * 2.0**30  # products of normal size from numbers near 0


@family("gradients near the smallest number of the dtype", "smallest gradients")
def small_gradients(rows: Rows, case: Case) -> Rows:
    o, do = rows
    return o, do * (2.0**-22 if case.dtype == "float16" else 2.0**-110)  # float16 cannot hold the products


@family("tiles of zeros, and tiles whose numbers add up to 0", "blank tiles")
def blanks(rows: Rows, case: Case) -> Rows:
    """Of four tiles of queries, one has products that add up to 0, one gradients of 0, and one outputs of 0, as if it had seen no key."""
    o, do = rows
    tile = torch.arange(case.sizes["N_Q"]) // case.meta["BLOCK_M"] % 4
    sign = 1.0 - 2.0 * (torch.arange(case.sizes["D"], dtype=torch.float64) % 2)
    o[..., tile == 1, :], do[..., tile == 1, :], do[..., tile == 2, :], o[..., tile == 3, :] = 1.0, sign, 0.0, 0.0
    return o, do


def make(case: Case) -> Tensors:
    shape = tuple(case.sizes[name] for name in ("B", "H_Q", "N_Q", "D"))
    g = generator(case)
    o, do = (torch.randn(shape, generator=g, dtype=torch.float64) for _ in range(2))
    o, do = (x.to(DTYPES[case.dtype]) for x in case.family.make((o, do), case))
    return {
        "o_ptr": input_laid_out(o, case, "o_ptr"),
        "do_ptr": input_laid_out(do, case, "do_ptr"),
        "delta_ptr": torch.zeros(shape[:-1], dtype=torch.float32),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Dao et al. 2022 (FlashAttention), appendix B.2, in float64."""
    return {"delta_ptr": (inputs["o_ptr"] * inputs["do_ptr"]).sum(dim=-1)}


@once_a_case
def magnitude(case: Case, output: str) -> torch.Tensor:
    """The sum of the magnitudes of all products: where products cancel, their rounding errors remain."""
    made = make(case)
    return (made["o_ptr"].double() * made["do_ptr"].double()).abs().sum(dim=-1)


def from_row(row: Row) -> Case:
    n_q = row.get("n_q") or length(row["tiles"] * row["tile"], row["tile"], row["queries"])
    sizes = {"B": row["batches"], "H_Q": row["heads"], "N_Q": n_q, "D": row["d"]}
    return Case(sizes, {"BLOCK_M": row["tile"]}, row["dtype"], row["family"], row["layout"])


FAMILIES = (cancelling, NORMAL, large, many_small, blanks)

PUZZLE = puzzle(
    __file__,
    notebook="11_the_way_back",
    points=2,
    grid=lambda n: (cdiv(n["N_Q"], n["BLOCK_M"]), n["B"] * n["H_Q"]),
    options=lambda n: {"num_warps": 4},
    reads={"o": 1, "do": 1},
    writes={"delta": 1},
    because={"o": "each row is needed once", "do": "each row is needed once", "delta": PER_QUERY},
    make=make,
    reference=reference,
    scale=lambda case, output, expected: magnitude(case, output),
    tolerance=TOLERANCE,
    space=Space(
        {
            "family": FAMILIES,
            "tiles": (2, 1, 5),
            "queries": REMAINDERS,  # how full the last of the tiles is
            "heads": (3, 1, 2),
            "batches": (1, 3, 2),
            "dtype": tuple(DTYPES),
            "layout": ("transposed", *MIXED),
            "tile": (4, 64, 16),
            "d": WIDTHS,
        },
        from_row,
        lambda row: row["batches"] * row["heads"] <= 3 or row["tiles"] < 5,
        wider={"tile": (4, 8, 16, 32, 128), "heads": (1, 2, 3, 5), "tiles": (1, 2, 3), "queries": ANY_REMAINDER},
        largest=({"batches": 1, "heads": 1, "d": 16, "n_q": 6553},),
    ),
    cases=table(
        """
        B  H_Q  N_Q   D    BLOCK_M  values           dtype     layout      on   why
        1  1    1     16   16
        1  1    5003  16   32       -                -         strided     -    more queries than a fixed limit would allow
        5  7    3     16   16       -                -         strided     -    many heads
        2  41   3     16   16       -                -         strided     -    1 / 41 is rounded down, so 41 / 41 as well (batch_by_reciprocal)
        2  1    48    32   64       -                -         -           -    16 divides every size, a tile divides none
        2  3    21    32   16       tiny_outputs     -         strided
        2  3    37    64   32       tiny_outputs     bfloat16  transposed
        2  3    21    32   16       -                -         roomy
        2  3    21    32   16       small_gradients  -         strided
        2  3    37    64   32       small_gradients  float16   transposed
        2  8    4096  128  64       -                bfloat16  transposed  gpu
        3  5    1031  64   32       cancelling       float16   strided     gpu
        1  16   8192  64   128      -                -         -           gpu
        """,
        families=(*FAMILIES, tiny_outputs, small_gradients),
    ),
    domain=replace(
        HEADS_DOMAIN,
        sizes={"B": (), "H_Q": (), "N_Q": (), **WIDTH},
        related={},
        tiles={"BLOCK_M": 4},
        values="o and do are finite, and so are their products and sums.",
        memory=ANY_STRIDES.replace("q, k and v", "o and do"),
        accuracy="delta is float32 and may be off by a few float32 roundings of Σ |o · do|.",
        expanded=("o", "do"),
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H_Q": 2, "N_Q": 6, "D": 16}, {"BLOCK_M": 4}),
        diagram=flowing(o_ptr=("query", "feature"), do_ptr=("query", "feature"), delta_ptr=("query",)),
        state={"delta": "dot product of each row"},
        choices={"N_Q": (6, 7, 10), "BLOCK_M": (2, 4, 8), "H_Q": (1, 2)},
    ),
)
