"""What the softmax puzzles over a long row share: tensors, reference, tolerance, names of cases."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from random import Random

import torch

from checker.course.covering import covering, smallest_first
from checker.course.diagrams import ONLINE
from checker.course.families import CONSTRUCTED, in_name, rows, stored
from checker.puzzle import DTYPES, Case, ExactState, RunningState, Tensors, Tolerance

CPU, GPU = frozenset({"cpu"}), frozenset({"gpu"})

TOLERANCE = {
    "float32": Tolerance(rtol=5e-5, c=1.0, near_zero=False),
    "float16": Tolerance(rtol=2e-3, c=0.5, near_zero=False),
    "bfloat16": Tolerance(rtol=1.6e-2, c=0.5, near_zero=False),
}
"""exp(-inf) is 0 and not a little: no clamp of the exponent stands for it."""


def make(case: Case) -> Tensors:
    """x [M, N] and y [M, N]; a padded layout gives the two different row strides, so that neither can stand for the other."""
    m, n = case.sizes["M"], case.sizes["N"]
    return {
        "x_ptr": stored(rows(case, m, n), case),
        "y_ptr": stored(torch.zeros(m, n), case, gap=5),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 2, equation 2 (the "safe" softmax), in float64."""
    return {"y_ptr": torch.softmax(inputs["x_ptr"], dim=-1)}


def max_and_sum(x: torch.Tensor, against: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each row of x [rows, columns]: its maximum, and the sum of exp(x - `against`), else of exp(x - maximum).

    A row of nothing but -inf has neither: both are NaN.
    """
    m = x.amax(dim=-1)
    m = m.masked_fill(m == -torch.inf, torch.nan)
    return m, torch.exp(x - (m if against is None else against)[:, None]).sum(dim=-1)


def honest_forms(names: tuple[str, str], m: torch.Tensor, l: torch.Tensor) -> ExactState:
    """What stands for a maximum and a sum, [rows] each, under the given names.

    The maximum may be held in base two. After the walk either may have become the log-sum-exp, and the sum its reciprocal
    or its logarithm, in base two as well.
    """
    log = l.where(l > 0, torch.nan).log()
    base_two = 1 / math.log(2)
    maxima, after = [m, m * base_two], [m + log, (m + log) * base_two]
    sums = [l, *after, 1 / l.where(l > 0, torch.nan), log, log * base_two]
    return ExactState(
        {names[0]: torch.stack(maxima), names[1]: l[None]},
        {names[0]: torch.stack([*maxima, *after]), names[1]: torch.stack(sums)},
    )


def _in_one_walk(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """Milakov & Gimelshein 2018, algorithm 3: both are always those of all that was seen."""
    m, l = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    return honest_forms(("m_i", "l_i"), m, l)


def _in_two_walks(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """The maximum in a first walk, the sum in a second one, against the maximum of the whole row."""
    m, _ = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    l = max_and_sum(x.masked_fill(seen < 2, -torch.inf), against=m)[1]
    return honest_forms(("m_i", "l_i"), m, l.masked_fill((seen < 2).all(dim=-1), torch.nan))


def running(*, walks: int) -> RunningState:
    """m_i and l_i of each row of x, found in one walk or in two; either way is right, `walks` is the puzzle's own."""
    ways = (_in_one_walk, _in_two_walks) if walks == 1 else (_in_two_walks, _in_one_walk)
    return RunningState(
        walked="x_ptr",
        rows="x_ptr",
        names=("m_i", "l_i"),
        exact=lambda case, tensors, seen, at: tuple(way(tensors["x_ptr"], seen) for way in ways),
        update=ONLINE if walks == 1 else None,
    )


def matrix_bytes(case: Case) -> int:
    """Bytes of one [M, N] matrix in the case's dtype."""
    return case.sizes["M"] * case.sizes["N"] * DTYPES[case.dtype].itemsize


def warps(block: int) -> int:
    """Warps for a tile of `block` elements: 4 for small tiles, then one warp for every 1024 elements, at most 32."""
    return min(32, max(4, block // 1024))


def named(meta: dict[str, int], m: int, n: int, **more: object) -> Case:
    """A case of M = `m` rows and N = `n` columns whose name says all that sets it apart."""
    dtype, family, layout = (str(more.get(k, v)) for k, v in PLAIN.items())
    tile = f"tiles {meta['BLOCK_M']} × {meta['BLOCK_N']}" if "BLOCK_M" in meta else f"chunks of {meta['BLOCK_N']}"
    tile = f"a tile of {meta['BLOCK_N']}" if n <= meta["BLOCK_N"] and "BLOCK_M" not in meta else tile
    said = [f"{m} × {n}", tile, dtype, "" if layout == "contiguous" else layout, in_name(family)]
    return Case(", ".join(filter(None, said)), {"M": m, "N": n}, meta, **more)  # type: ignore[arg-type]


PLAIN = {"dtype": "float32", "family": "normal", "layout": "contiguous"}
CHUNKS = {"chunk_pairs": 10, "chunk_pairs_in_sight": 8, "spike": 34, "extreme": 5, "normal": 2, "constant": 3}
"""The families that are covered with all else, and how many chunks a row needs to hold what its family is there for."""
REMAINDERS: tuple[str, ...] = ("prime", "none", "one", "all but one", "short")


def columns(family: str, block: int, remainder: str) -> int:
    """N for a row of such chunks whose last one is as full as the remainder says; "short" is a row shorter than one chunk."""
    most = 12 if family == "spike" else 10 if block < 1024 else 3
    full = block * (min(CHUNKS[family], most) if block > 16 else CHUNKS[family])
    match remainder:
        case "none":
            return full
        case "one":
            return full - block + 1
        case "all but one":
            return full - 1
        case "short":
            return block // 2 + 1
        case _:
            return prime_below(full - 1, block)


@functools.cache
def prime_below(n: int, block: int = 1) -> int:
    """The largest prime below n > 2 that leaves neither 1 nor `block` - 1 when divided by `block`, if `block` is above 4."""
    edges = (1, block - 1) if block > 4 else ()
    return next(
        p for p in range(n - 1, 1, -1) if p % block not in edges and all(p % i for i in range(2, math.isqrt(p) + 1))
    )


def covered(
    tiles: Sequence[dict[str, int]],
    rows_: Sequence[int],
    families: Sequence[str] = tuple(CHUNKS),
    columns: Callable[[str, int, str], int] = columns,
) -> tuple[Case, ...]:
    """Small cases in which each two of family, dtype with layout, remainder, tile and number of rows meet in each of their values.

    ``columns(family, BLOCK_N, remainder)`` gives N. Rows that are built from chunks come in the first of the numbers of rows, which
    has to be enough for all pairs of kinds.
    """
    found = covering(
        {
            "family": families,
            "memory": [(dtype, layout) for layout in ("padded", "contiguous") for dtype in TOLERANCE],
            "remainder": REMAINDERS,
            "tile": range(len(tiles)),
            "rows": rows_,
        },
        lambda row: (
            (row["family"] != "spike" or row["memory"][0] != "float32")
            and (row["family"] not in CONSTRUCTED or row["rows"] == rows_[0])
        ),
    )
    cases = []
    for row in found:
        meta, (dtype, layout), family = tiles[row["tile"]], row["memory"], row["family"]
        n = columns(family, meta["BLOCK_N"], row["remainder"])
        cases.append(named(meta, row["rows"], n, dtype=dtype, layout=layout, family=family))
    return smallest_first(cases)


def drawn(tile: Callable[[Random], dict[str, int]]) -> Callable[[Random], tuple[Case, ...]]:
    """Cases like those of `covered`, with sizes and tiles as they fall; the last is larger than all of those."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found = []
        for number in range(6):
            tiles, values = tile(draw), drawn_values(draw, tuple(CHUNKS))
            m, n = draw.randint(1, 12), columns(str(values["family"]), tiles["BLOCK_N"], "none")
            if number == 5:
                m, n, tiles = 76, _LONGER, {**tiles, "BLOCK_N": 2048}
            found.append(named(tiles, m, n - draw.randrange(tiles["BLOCK_N"]), **values))
        return tuple(found)

    return cases


_LONGER = 20 * 2048
"""Less a part of a chunk of 2048: longer than every row that is known."""


def drawn_values(draw: Random, families: Sequence[str]) -> dict[str, object]:
    """What a case is besides its sizes and tiles."""
    return {
        "dtype": draw.choice(tuple(TOLERANCE)),
        "family": draw.choice(families),
        "layout": draw.choice(("padded", "contiguous")),
        "seed": draw.getrandbits(32),
    }
