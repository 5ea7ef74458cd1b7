"""What the softmax puzzles share: tensors, reference, tolerance, running state, and the space of their cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.authoring.space import ANY_REMAINDER, ROUND, length, prime_below
from checker.course import families as rows_of
from checker.course.diagrams import ONLINE
from checker.course.families import BUILT, FAMILIES, rows
from checker.course.tensors import stored
from checker.films.diagram import ExactState, RunningState
from checker.puzzle import DTYPES, NORMAL, Case, Domain, Family, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=5e-5, c=1.0, near_zero=False),
    "float16": Tolerance(rtol=2e-3, c=1.0, near_zero=False),
    "bfloat16": Tolerance(rtol=1.6e-2, c=1.0, near_zero=False),
}
"""`near_zero` is off: exp(-inf) is exactly 0, and a clamped exponent is a mistake."""


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against, besides the number itself: a softmax is as exact in its small numbers as in its large ones.

    In float16 it is the smallest normal number, which allows one step where numbers are a step apart. In the other dtypes it allows
    what is lost if a GPU flushes numbers below the smallest normal one to 0.
    """
    info = torch.finfo(DTYPES[case.dtype])
    return torch.full_like(expected, info.tiny if case.dtype == "float16" else 2 * info.tiny / info.eps)


def make(case: Case) -> Tensors:
    """x [M, N] and y [M, N]. In a padded layout their row strides differ, so that a kernel that mixes them up fails."""
    m, n = case.sizes["M"], case.sizes["N"]
    return {"x_ptr": stored(rows(case, m, n), case), "y_ptr": stored(torch.zeros(m, n), case, gap=5, output=True)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 2, equation 2 (the "safe" softmax), in float64."""
    return {"y_ptr": torch.softmax(inputs["x_ptr"], dim=-1)}


HOLDS_ROW: Mapping[str, Callable[[Case], bool]] = {
    "BLOCK_N is at least N": lambda case: case.meta["BLOCK_N"] >= case.sizes["N"]
}


def one_tile_warps(n: Mapping[str, Any]) -> dict[str, int]:
    """More threads for the longest rows, where a tile holds the row."""
    return {"num_warps": 4 if n["BLOCK_N"] < 8192 else 16 if n["BLOCK_N"] < 65_536 else 32}


DOMAIN = Domain(
    sizes={"M": (), "N": ()},
    tiles={"BLOCK_N": 2},
    values="any finite numbers, and -inf for masked elements, but never for a whole row. Only differences within a row count: "
    "1,000,001 and 1,000,000 have the softmax of 1 and 0.",
    memory="a row's elements are adjacent. The rows of x and of y may be any distance apart, even so far that offsets pass 2³², and x may "
    "repeat one row, with a stride of 0.",
    accuracy="each y may be off by 0.005 % of itself in float32, 0.2 % in float16 and 1.6 % in bfloat16, however small it is.",
    masked=("x",),
    expanded=("x",),
)
softmax = partial(
    puzzle,
    domain=DOMAIN,
    make=make,
    reference=reference,
    scale=scale,
    tolerance=TOLERANCE,
    grid=lambda n: (cdiv(n["M"], n.get("BLOCK_M", 1)),),
    options=lambda n: {"num_warps": min(32, max(4, n.get("BLOCK_M", 1) * n["BLOCK_N"] // 1024))},
    writes={"y": 1},
)
"""A puzzle that computes y, the softmax of the rows of x, with one program for each row or for each BLOCK_M rows."""

# -------------------------------------------------------------------------------------------------------- running state


def max_and_sum(x: torch.Tensor, against: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum of each row of x [rows, columns], and the sum of exp(x - `against`), by default of exp(x - maximum).

    Both are NaN for a row that is -inf throughout.
    """
    m = x.amax(dim=-1)
    m = m.masked_fill(m == -torch.inf, torch.nan)
    return m, torch.exp(x - (m if against is None else against)[:, None]).sum(dim=-1)


def honest_forms(names: tuple[str, str], m: torch.Tensor, l: torch.Tensor) -> ExactState:
    """The forms in which a correct kernel may hold a maximum m and a sum l, [rows] each, in variables of these `names`.

    The maximum may be in base two. After the last chunk either variable may hold the log-sum-exp, and the sum's may hold its
    reciprocal or its logarithm; logarithms may be in base two, too.
    """
    log = l.where(l > 0, torch.nan).log()
    base_two = 1 / math.log(2)
    maxima, after = [m, m * base_two], [m + log, (m + log) * base_two]
    sums = [l, *after, 1 / l.where(l > 0, torch.nan), log, log * base_two]
    return ExactState(
        {names[0]: torch.stack(maxima), names[1]: l[None]},
        {names[0]: torch.stack([*maxima, *after]), names[1]: torch.stack(sums)},
    )


def _in_one_pass(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """Maximum and sum of all elements seen so far (Milakov & Gimelshein 2018, algorithm 3)."""
    m, l = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    return honest_forms(("m_i", "l_i"), m, l)


def _in_two_passes(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """The maximum in a first pass, then the sum in a second one, measured against the maximum of the whole row."""
    m, _ = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    l = max_and_sum(x.masked_fill(seen < 2, -torch.inf), against=m)[1]
    return honest_forms(("m_i", "l_i"), m, l.masked_fill((seen < 2).all(dim=-1), torch.nan))


def running(*, passes: int) -> RunningState:
    """m_i and l_i of each row of x, computed in one pass or in two. Either is right; `passes` is how the solution does it."""
    ways = (_in_one_pass, _in_two_passes) if passes == 1 else (_in_two_passes, _in_one_pass)
    return RunningState(
        walked="x_ptr",
        rows="x_ptr",
        names=("m_i", "l_i"),
        exact=lambda case, tensors, seen, at: tuple(way(tensors["x_ptr"], seen) for way in ways),
        update=ONLINE if passes == 1 else None,
    )


# ---------------------------------------------------------------------------------------------------------------- cases

CHUNKED = (
    rows_of.chunk_pairs,
    rows_of.chunk_pairs_in_sight,
    rows_of.spike,
    rows_of.extreme,
    rows_of.lowest,
    rows_of.levels,
    NORMAL,
    rows_of.constant,
)
"""The families in the space of kernels that loop over chunks."""
LAYOUTS = ("padded", "contiguous", "repeated")
MANY_ROWS = 75
"""More than any small bound, for one program each or a few."""
Columns = Callable[[Row, int], int]
"""N from the other factors of a row, and BLOCK_N."""


def row_space(
    tiles: Sequence[tuple[int, ...]],
    rows: Sequence[int],
    families: Sequence[Family],
    columns: Columns,
    wider: Sequence[tuple[int, ...]],
    largest: Mapping[str, Any],
) -> Space:
    """Small cases that combine family, dtype, layout, how full the last tile is, tile and number of rows.

    `tiles` are (BLOCK_N,) or (BLOCK_M, BLOCK_N), `wider` those of drawn cases. Families built from kinds of chunks always have at
    least the first of `rows`, which has to be large enough for all pairs of kinds.
    """

    def case(row: Row) -> Case:
        meta = dict(zip(("BLOCK_N", "BLOCK_M"), reversed(row["tile"]), strict=False))
        sizes = {"M": row["rows"], "N": columns(row, meta["BLOCK_N"])}
        return Case(sizes, dict(reversed(meta.items())), row["dtype"], row["family"], row["layout"])

    return Space(
        {
            "family": families,
            "dtype": tuple(TOLERANCE),
            "layout": LAYOUTS,
            "remainder": ("prime", "none", "one", "all but one", "short"),
            "tile": tiles,
            "rows": (*rows, MANY_ROWS),
        },
        case,
        lambda row: (
            (row["family"] != rows_of.spike or row["dtype"] != "float32")
            and (row["family"] not in BUILT or (row["rows"] >= rows[0] and row["layout"] != "repeated"))
            and row["tile"][-1] >= {"prime": 4, "all but one": 4, "short": 4, "half": 32}.get(row["remainder"], 1)
            and (row["tile"][-1] < 1024 or row["rows"] < MANY_ROWS)
        ),
        once={"remainder": ROUND},
        wider={"tile": wider, "rows": range(1, 13), "remainder": ANY_REMAINDER},
        largest=(largest,),
    )


def columns_in_chunks(row: Row, block: int) -> int:
    """N of a row with as many chunks as its family needs, but fewer large ones; "short" is less than one, and even if it is large."""
    family = row["family"]
    if row["remainder"] == "short" and block > 16:
        return block // 2
    most = 12 if family == rows_of.spike else 10 if block < 1024 else 3
    chunks = row.get("chunks") or (min(family.chunks, most) if block > 16 else family.chunks)
    return length(block * chunks, block, row["remainder"])


def columns_in_one_tile(row: Row, block: int) -> int:
    """N for a tile that holds the whole row; "one" uses just more than half of the tile."""
    lengths = {"one": block // 2 + 1, "short": 1, "prime": prime_below(max(block - 1, 3))}
    return min(block, lengths.get(row["remainder"]) or length(block, block, row["remainder"]))


def one_tile_space(families: Sequence[Family]) -> Space:
    """The space of kernels whose tile holds the whole row. The last drawn case has more columns than any fixed one."""
    return row_space(
        tiles=((16,), (128,), (4096,), (1,)),
        rows=(9, 1, 3),
        families=families,
        columns=columns_in_one_tile,
        wider=((1,), (2,), (8,), (32,), (512,), (2048,)),
        largest={"tile": (65_536,), "rows": 76, "remainder": 0.3},
    )


CHUNKS = row_space(
    tiles=((16,), (64,), (1024,), (2,)),
    rows=(9, 1, 3),
    families=CHUNKED,
    columns=columns_in_chunks,
    wider=((2,), (4,), (8,), (16,), (32,), (128,), (512,)),
    largest={"tile": (2048,), "rows": 76, "chunks": 20},
)
"""The space of kernels that loop over the chunks of one row."""
rows_table = partial(table, families=FAMILIES)


def lengths_one_by_one(m: int, meta: Mapping[str, int]) -> tuple[Case, ...]:
    """Rows of 1 to 33 small chunks, the last with one column, which decides whatever an unrolled loop leaves over.

    Their launches have one shape, so that the simulator runs them together.
    """
    small = {**meta, "BLOCK_N": 2}
    return tuple(Case({"M": m, "N": 2 * chunks - 1}, small, family=rows_of.late_max) for chunks in range(1, 34))


IN_CHUNKS = (
    *rows_table("""
        M  N       BLOCK_N  values           dtype    why
        2  33_003  1024     -                -        more columns than 16 bits can count (columns_in_16_bits)
        2  33_001  1024     many_below
        2  70_001  2048     overflowing_sum  float16  a sum that neither float16 holds nor float32 beside the first maximum
        9  157     16       negative
    """),
    *lengths_one_by_one(2, {}),
)
"""Cases that matter in their own right to kernels that loop over chunks, however many times."""
