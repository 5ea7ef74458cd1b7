"""What the softmax puzzles share: tensors, reference, launch, bytes, tolerance, running state and cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

import torch

from checker.course.covering import covering, length, prime_below, smallest_first
from checker.course.diagrams import ONLINE
from checker.course.families import CONSTRUCTED, case_name, rows, stored
from checker.course.family_words import in_name
from checker.films.diagram import ExactState, RunningState
from checker.puzzle import DTYPES, Allowance, Case, Launch, Scalar, Tensors, Tolerance

TOLERANCE = {
    "float32": Tolerance(rtol=5e-5, c=1.0, near_zero=False),
    "float16": Tolerance(rtol=2e-3, c=1.0, near_zero=False),
    "bfloat16": Tolerance(rtol=1.6e-2, c=1.0, near_zero=False),
}
"""`near_zero` is off: exp(-inf) is exactly 0, and a clamped exponent is a mistake."""


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """What an error is measured against, besides the number itself: a softmax is as exact in its small numbers as in its large ones.

    In float16 the smallest normal number, so that one step is allowed where numbers lie a step apart. In the other dtypes as much as is
    lost where a GPU takes numbers below the smallest normal one for 0.
    """
    info = torch.finfo(DTYPES[case.dtype])
    return torch.full_like(expected, info.tiny if case.dtype == "float16" else 2 * info.tiny / info.eps)


def make(case: Case) -> Tensors:
    """x [M, N] and y [M, N]. In a padded layout their row strides differ, so that a kernel that mixes them up fails."""
    m, n = case.sizes["M"], case.sizes["N"]
    return {
        "x_ptr": stored(rows(case, m, n), case),
        "y_ptr": stored(torch.zeros(m, n), case, gap=5),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 2, equation 2 (the "safe" softmax), in float64."""
    return {"y_ptr": torch.softmax(inputs["x_ptr"], dim=-1)}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """One program for each BLOCK_M rows, or for each row where there is no BLOCK_M. The last tensor is the output."""
    tile_rows = int(meta.get("BLOCK_M", 1))
    return Launch(
        grid=(-(-case.sizes["M"] // tile_rows),),
        arguments={
            **tensors,
            **{f"stride_{name.removesuffix('_ptr')}m": x.stride(0) for name, x in tensors.items()},
            **({"M": case.sizes["M"]} if "BLOCK_M" in meta else {}),
            "N": case.sizes["N"],
        },
        meta=meta,
        outputs=tuple(tensors)[-1:],
        options={"num_warps": min(32, max(4, tile_rows * int(meta["BLOCK_N"]) // 1024))},
    )


def matrix_bytes(case: Case) -> int:
    """Bytes of one [M, N] matrix in the case's dtype."""
    return case.sizes["M"] * case.sizes["N"] * DTYPES[case.dtype].itemsize


def reading_x(times: int, because: str) -> Callable[[Case], dict[str, Allowance]]:
    """The budget of a kernel that reads x so many times and writes y once."""
    return lambda case: {
        "x_ptr": Allowance(times * matrix_bytes(case), 0, because),
        "y_ptr": Allowance(0, matrix_bytes(case), "y is written once"),
    }


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

    The maximum may be in base two. After the walk either variable may hold the log-sum-exp, and the sum's may hold its
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


def _in_one_walk(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """Maximum and sum of all elements seen so far (Milakov & Gimelshein 2018, algorithm 3)."""
    m, l = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    return honest_forms(("m_i", "l_i"), m, l)


def _in_two_walks(x: torch.Tensor, seen: torch.Tensor) -> ExactState:
    """The maximum in a first walk, then the sum in a second one, measured against the maximum of the whole row."""
    m, _ = max_and_sum(x.masked_fill(seen < 1, -torch.inf))
    l = max_and_sum(x.masked_fill(seen < 2, -torch.inf), against=m)[1]
    return honest_forms(("m_i", "l_i"), m, l.masked_fill((seen < 2).all(dim=-1), torch.nan))


def running(*, walks: int) -> RunningState:
    """m_i and l_i of each row of x, found in one walk or in two. Either way is right; `walks` is how the solution does it."""
    ways = (_in_one_walk, _in_two_walks) if walks == 1 else (_in_two_walks, _in_one_walk)
    return RunningState(
        walked="x_ptr",
        rows="x_ptr",
        names=("m_i", "l_i"),
        exact=lambda case, tensors, seen, at: tuple(way(tensors["x_ptr"], seen) for way in ways),
        update=ONLINE if walks == 1 else None,
    )


# ---------------------------------------------------------------------------------------------------------------- cases


def named(meta: dict[str, int], m: int, n: int, **more: object) -> Case:
    """A case of M = `m` rows and N = `n` columns, with a name made of everything that distinguishes it."""
    dtype, family, layout = (str(more.get(k, v)) for k, v in PLAIN.items())
    tile = f"tiles {meta['BLOCK_M']} × {meta['BLOCK_N']}" if "BLOCK_M" in meta else f"chunks of {meta['BLOCK_N']}"
    tile = f"a tile of {meta['BLOCK_N']}" if n <= meta["BLOCK_N"] and "BLOCK_M" not in meta else tile
    name = case_name(f"{m} × {n}", tile, dtype, layout, in_name(family))
    return Case(name, {"M": m, "N": n}, meta, **more)  # type: ignore[arg-type]


def by_row(m: int, n: int, block: int, **more: object) -> Case:
    """A case for a kernel whose program has one row and takes BLOCK_N = `block` columns at a time."""
    return named({"BLOCK_N": block}, m, n, **more)


PLAIN = {"dtype": "float32", "family": "normal", "layout": "contiguous"}
CHUNKS = {"chunk_pairs": 10, "chunk_pairs_in_sight": 8, "spike": 34, "extreme": 5, "normal": 2, "constant": 3}
"""The families in the covering array, and how many chunks a row needs to show what its family is for."""
REMAINDERS: tuple[str, ...] = ("prime", "none", "one", "all but one", "short")


def columns(family: str, block: int, remainder: str) -> int:
    """N of a row in chunks of `block` columns. `remainder` says how full the last chunk is; "short" is less than one chunk."""
    most = 12 if family == "spike" else 10 if block < 1024 else 3
    full = block * (min(CHUNKS[family], most) if block > 16 else CHUNKS[family])
    return length(full, block, remainder)


def covered(
    tiles: Sequence[dict[str, int]],
    rows_: Sequence[int],
    families: Sequence[str] = tuple(CHUNKS),
    columns: Callable[[str, int, str], int] = columns,
) -> tuple[Case, ...]:
    """Small cases that cover, in pairs, all values of family, dtype with layout, remainder, tile and number of rows.

    ``columns(family, BLOCK_N, remainder)`` gives N. Families built from chunks always have the first number of rows, which has to
    be large enough for all pairs of kinds.
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
    """Cases like those of `covered` with random sizes and tiles. The last one is larger than any known case."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found = []
        for number in range(6):
            tiles, values = tile(draw), drawn_values(draw, tuple(CHUNKS))
            m, n = draw.randint(1, 12), columns(str(values["family"]), tiles["BLOCK_N"], "none")
            if number == 5:
                m, n, tiles = 76, 20 * 2048, {**tiles, "BLOCK_N": 2048}
            found.append(named(tiles, m, n - draw.randrange(tiles["BLOCK_N"]), **values))
        return tuple(found)

    return cases


def drawn_values(draw: Random, families: Sequence[str]) -> dict[str, object]:
    """Everything of a case but its sizes and tiles."""
    return {
        "dtype": draw.choice(tuple(TOLERANCE)),
        "family": draw.choice(families),
        "layout": draw.choice(("padded", "contiguous")),
        "seed": draw.getrandbits(32),
    }


# ------------------------------------------------------------------------------------------------- rows longer than a tile


def in_chunks() -> tuple[Case, ...]:
    """Cases for kernels that walk over a row in chunks, however many times."""
    return (
        *covered([{"BLOCK_N": 16}, {"BLOCK_N": 64}, {"BLOCK_N": 1024}], rows_=(9, 1, 3)),
        by_row(75, 23, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        by_row(2, 80, 64),  # 16 divides every size, a tile divides none
        by_row(3, 1, 16, dtype="bfloat16", family="positive", layout="padded"),
        by_row(3, 1, 16, family="deep"),
        by_row(6, 605, 16, family="chunk_triples", layout="padded"),
        by_row(3, 61, 16, family="nearly_constant"),
        # whatever an unrolled loop leaves over, the last chunk decides
        *(by_row(2, 16 * chunks - 3, 16, family="late_max") for chunks in range(2, 34)),
        # more terms than a sum in 16 bits can hold, in every lane
        by_row(2, 2403, 16, dtype="float16", family="equal_terms"),
        by_row(2, 2403, 16, dtype="bfloat16", family="equal_terms"),
        by_row(1, 5_003, 16),  # too many chunks to unroll by hand
        by_row(2, 33_003, 1024),  # more columns than 16 bits can count
        by_row(3, 4096, 1024, layout="padded"),  # a round number of columns, and rows further apart
        by_row(3, 1033, 16, dtype="float16", family="spike"),
        by_row(3, 1024, 64, dtype="bfloat16", family="spike", layout="padded"),
    )


# ------------------------------------------------------------------------------------------------------ rows in one tile


def launch_whole_rows(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    """As `launch`, for a tile that holds the row: more threads for the longest rows."""
    return replace(
        launch(case, tensors, meta),
        options={"num_warps": 4 if int(meta["BLOCK_N"]) < 8192 else 16 if int(meta["BLOCK_N"]) < 65_536 else 32},
    )


def columns_in_one_tile(family: str, block: int, remainder: str) -> int:
    """N for a tile of `block` columns that holds the whole row; "one" uses just more than half of the tile."""
    lengths = {"none": block, "one": block // 2 + 1, "all but one": block - 1, "short": 1}
    return lengths.get(remainder) or prime_below(block - 1)


def drawn_in_one_tile(families: Sequence[str]) -> Callable[[Random], tuple[Case, ...]]:
    """Random cases whose row fits in one tile. The last one has more columns than any known case."""

    def cases(draw: Random) -> tuple[Case, ...]:
        found = []
        for block in (*(draw.choice((8, 32, 256, 512)) for _ in range(5)), 65_536):
            large = block == 65_536
            m, n = (72, draw.randint(40_004, block)) if large else (draw.randint(1, 12), draw.randint(1, block))
            found.append(by_row(m, n, block, **drawn_values(draw, families)))
        return tuple(found)

    return cases
