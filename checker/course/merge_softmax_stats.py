"""merge_softmax_stats: the maximum and sum of each row from those of its parts."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, puzzle
from checker.authoring.space import ROUND, prime_below
from checker.course.diagrams import flowing
from checker.course.families import (
    BUILT,
    ascending,
    chunk_pairs,
    chunk_pairs_in_sight,
    empty,
    extreme,
    levels,
    lowest,
    outnumbered,
    rows,
)
from checker.course.softmax_rows import LAYOUTS, MANY_ROWS, rows_table
from checker.course.tensors import stored
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance

LOWEST = torch.finfo(torch.float64).min


def partials(x: torch.Tensor, splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(m, l), each [M, splits] float64: the statistics of `splits` equal parts of the rows of x. The last parts may be short or empty."""
    m, n = x.shape
    part = -(-n // splits)
    wide = torch.full((m, splits * part), -torch.inf, dtype=torch.float64)
    wide[:, :n] = x
    parts = wide.reshape(m, splits, part)
    m_part = parts.amax(dim=-1)
    return m_part, torch.exp(parts - m_part.clamp(min=LOWEST)[..., None]).sum(dim=-1)


def make(case: Case) -> Tensors:
    """Statistics of real rows: N columns in the case's dtype, cut into SPLITS parts."""
    m, n, splits = case.sizes["M"], case.sizes["N"], case.sizes["SPLITS"]
    m_part, l_part = partials(rows(case, m, n).to(DTYPES[case.dtype]).double(), splits)
    if case.family == outnumbered:  # by as many elements as there can be, so that a maximum as far above weighs no more
        m_part[:, 0], l_part[:, 1:] = 24.0, 2.0**30
    return {
        "m_part_ptr": stored(m_part, case),
        "l_part_ptr": stored(l_part, case),
        "m_ptr": torch.zeros(m, dtype=torch.float32),
        "l_ptr": torch.zeros(m, dtype=torch.float32),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Milakov & Gimelshein 2018, section 3.1, equation 4, applied to all parts at once; a row of -inf gives (-inf, 0)."""
    m_part, l_part = inputs["m_part_ptr"], inputs["l_part_ptr"]
    m = m_part.amax(dim=-1)
    return {"m_ptr": m, "l_ptr": (l_part * torch.exp(m_part - m.clamp(min=LOWEST)[:, None])).sum(dim=-1)}


def from_row(row: Row) -> Case:
    block = row["block"]
    splits = {
        "all": block,
        "more than half": block // 2 + 1,
        "half": block // 2,
        "all but one": block - 1,
        "one": 1,
    }.get(row["splits"])
    splits = splits or prime_below(block - 1)
    n = {"full": 4 * splits, "ragged": 4 * splits - 1, "some empty": max(splits - 2, 1)}[row["parts"]]
    sizes = {"M": row["rows"], "N": n, "SPLITS": splits}
    return Case(sizes, {"BLOCK_S": block}, family=row["family"], layout=row["layout"])


PUZZLE = puzzle(
    __file__,
    notebook="03_online_softmax",
    points=2,
    grid=lambda n: (n["M"],),
    options=lambda n: {"num_warps": 1 if n["BLOCK_S"] <= 128 else 4},
    strides={"p": "m_part"},
    reads={"m_part": 1, "l_part": 1},
    writes={"m": 1, "l": 1},
    because={"m": "one maximum for each row", "l": "one sum for each row"},
    make=make,
    reference=reference,
    scale=lambda case, output, expected: expected.abs().nan_to_num(nan=1.0, posinf=1.0),
    tolerance={"float32": Tolerance(rtol=5e-5, c=1.0)},
    space=Space(
        {
            "family": (chunk_pairs, chunk_pairs_in_sight, empty, extreme, lowest, levels, NORMAL),
            "splits": ("prime", "all", "more than half", "all but one", "one"),
            "parts": ("ragged", "full", "some empty"),
            "block": (16, 64, 1024, 8),
            "rows": (9, 1, 3, MANY_ROWS),
            "layout": LAYOUTS,
        },
        from_row,
        lambda row: (
            (row["family"] not in BUILT or (row["rows"] >= 9 and row["layout"] != "repeated"))
            and (row["splits"] != "half" or row["block"] >= 32)
        ),
        once={"splits": ROUND},
        wider={"rows": range(1, 13), "block": (8, 32, 128, 256)},
        largest=({"rows": 76, "block": 2048, "splits": "all but one", "parts": "ragged"},),
    ),
    cases=rows_table("""
        M     N       SPLITS  BLOCK_S  values                layout  on   why
        2     4000    40      64       outnumbered           -       -    parts that matter by their sums alone (far_parts_dropped)
        4096  1000    127     128      ascending             -       gpu
        512   20_011  1000    1024     empty                 padded  gpu
    """),
    domain=Domain(
        sizes={"M": (), "SPLITS": ()},
        tiles={"BLOCK_S": 8},
        related={"BLOCK_S is at least SPLITS": lambda case: case.meta["BLOCK_S"] >= case.sizes["SPLITS"]},
        values="each (m, l) comes from a part of a row: m is a finite number and l at least 1, or m is -inf and l is 0. All parts of "
        "a row may be empty.",
        memory="the parts of a row are adjacent. Rows may be any distance apart, even so far that offsets pass 2³², and may repeat, with a "
        "stride of 0.",
        accuracy="l may be off by 0.005 % of itself; m is exact.",
        masked=("m_part",),
        expanded=("m_part", "l_part"),
    ),
    film=FilmSpec(
        case=Case({"M": 3, "N": 18, "SPLITS": 5}, {"BLOCK_S": 8}, family=ascending),
        diagram=flowing(m_part_ptr=("row", "part"), l_part_ptr=("row", "part"), m_ptr=("row",), l_ptr=("row",)),
        state={
            "m_part": "maxima of the parts",
            "l_part": "sums of the parts",
            "m_i": "maximum of the row",
            "l_i": "sum of the row",
        },
        choices={"M": (1, 3, 4), "SPLITS": (1, 3, 5, 8), "BLOCK_S": (8, 16)},
    ),
)
