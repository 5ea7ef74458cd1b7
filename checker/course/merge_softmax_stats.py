"""merge_softmax_stats: the maximum and sum of each row from those of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import torch

from checker.course.covering import covering, prime_below, smallest_first
from checker.course.diagrams import flowing
from checker.course.families import CONSTRUCTED, case_name, counted, rows, stored
from checker.course.family_words import in_name
from checker.course.softmax_rows import drawn_values
from checker.puzzle import (
    CPU,
    DTYPES,
    GPU,
    Allowance,
    Case,
    FilmSpec,
    Hint,
    Launch,
    Long,
    Many,
    Puzzle,
    Scalar,
    Tensors,
    Tolerance,
)

FLOAT32 = 4  # bytes


def partials(x: torch.Tensor, splits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(m, l), each [M, splits] float64: the statistics of `splits` equal parts of the rows of x. The last parts may be short or empty."""
    m, n = x.shape
    part = -(-n // splits)
    wide = torch.full((m, splits * part), -torch.inf, dtype=torch.float64)
    wide[:, :n] = x
    parts = wide.reshape(m, splits, part)
    m_part = parts.amax(dim=-1)
    l_part = torch.exp(parts - m_part.clamp(min=torch.finfo(torch.float64).min)[..., None]).sum(dim=-1)
    return m_part, l_part


def make(case: Case) -> Tensors:
    """Statistics of real rows: N columns in the case's dtype, cut into SPLITS parts."""
    m, n, splits = case.sizes["M"], case.sizes["N"], case.sizes["SPLITS"]
    x = rows(case, m, n, empty=True).to(DTYPES[case.dtype]).double()
    m_part, l_part = partials(x, splits)
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
    weights = torch.exp(m_part - m.clamp(min=torch.finfo(torch.float64).min)[:, None])
    return {"m_ptr": m, "l_ptr": (l_part * weights).sum(dim=-1)}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    return Launch(
        grid=(case.sizes["M"],),
        arguments={
            **{name: tensors[name] for name in ("m_part_ptr", "l_part_ptr", "m_ptr", "l_ptr")},
            "stride_pm": tensors["m_part_ptr"].stride(0),
            "SPLITS": case.sizes["SPLITS"],
        },
        meta=meta,
        outputs=("m_ptr", "l_ptr"),
        options={"num_warps": 1 if int(meta["BLOCK_S"]) <= 128 else 4},
    )


def budget(case: Case) -> dict[str, Allowance]:
    parts, rows_ = case.sizes["M"] * case.sizes["SPLITS"] * FLOAT32, case.sizes["M"] * FLOAT32
    once = "each part is needed once"
    return {
        "m_part_ptr": Allowance(parts, 0, once),
        "l_part_ptr": Allowance(parts, 0, once),
        "m_ptr": Allowance(0, rows_, "one maximum for each row"),
        "l_ptr": Allowance(0, rows_, "one sum for each row"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The magnitude of each number itself, 1 where it is not finite."""
    return expected.abs().nan_to_num(nan=1.0, posinf=1.0)


def _case(m: int, n: int, splits: int, block: int, **more: object) -> Case:
    layout, family = str(more.get("layout", "")), in_name(str(more.get("family", "normal")))
    name = case_name(f"{m} × {n} in {counted(splits, 'part', 'parts')}", f"a tile of {block}", layout, family)
    return Case(name, {"M": m, "N": n, "SPLITS": splits}, {"BLOCK_S": block}, **more)  # type: ignore[arg-type]


_FAMILIES = ("chunk_pairs", "chunk_pairs_in_sight", "empty", "extreme", "normal")


def _covered() -> tuple[Case, ...]:
    """Cases that cover all values in pairs: family, how full the tile and the parts are, BLOCK_S, number of rows and layout."""
    found = covering(
        {
            "family": _FAMILIES,
            "splits": ("prime", "all", "more than half", "all but one", "one"),
            "parts": ("ragged", "full", "some empty"),
            "block": (16, 64, 1024),
            "rows": (9, 1, 3),
            "layout": ("padded", "contiguous"),
        },
        lambda row: row["rows"] == 9 or row["family"] not in CONSTRUCTED,
    )
    cases = []
    for row in found:
        block = row["block"]
        some = {"all": block, "more than half": block // 2 + 1, "all but one": block - 1, "one": 1}
        splits = some.get(row["splits"]) or prime_below(block - 1)
        n = {"full": 4 * splits, "ragged": 4 * splits - 1, "some empty": max(splits - 2, 1)}[row["parts"]]
        cases.append(_case(row["rows"], n, splits, block, family=row["family"], layout=row["layout"]))
    return smallest_first(cases)


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one is larger than any known case."""
    found = []
    for block in (*(draw.choice((8, 32, 128, 256)) for _ in range(5)), 2048):
        m, splits = (72, draw.randint(1025, block)) if block == 2048 else (draw.randint(1, 12), draw.randint(1, block))
        n = splits * draw.randint(4 if block == 2048 else 1, 6) - draw.randrange(min(splits, 5))
        values = {name: value for name, value in drawn_values(draw, _FAMILIES).items() if name != "dtype"}
        found.append(_case(m, n, splits, block, **values))
    return tuple(found)


PUZZLE = Puzzle(
    name="merge_softmax_stats",
    title="Merging softmax statistics",
    kernel="merge_softmax_stats_kernel",
    parameters=("m_part_ptr", "l_part_ptr", "m_ptr", "l_ptr", "stride_pm", "SPLITS", "BLOCK_S"),
    notebook="03_online_softmax",
    points=2,
    outputs=("m_ptr", "l_ptr"),
    statement="Each row was cut into SPLITS parts, and another program found the maximum m and the sum l = Σ exp(x - m) of "
    "each part. Merge them: m and l of the whole row, one program per row, all parts in one tile of BLOCK_S ≥ "
    "SPLITS lanes. A part that is empty or -inf throughout has m = -inf and l = 0; a row of nothing but such "
    "parts has m = -inf and l = 0 as well, and no NaN.",
    cases=(
        *_covered(),
        _case(67, 20, 7, 8, family="chunk_pairs_in_sight", layout="padded"),  # many programs
        _case(67, 20, 7, 8, family="empty"),
        _case(16, 96, 48, 64),  # 16 divides every size, a tile divides none
        _case(6, 38 * 4 - 1, 38, 64, family="chunk_triples"),
        _case(2, 40 * 100, 40, 64, family="outnumbered"),
        _case(3, 18, 5, 16, family="vast", devices=CPU),
        _case(4096, 1000, 127, 128, devices=GPU, family="ascending"),
        _case(512, 20_011, 1000, 1024, devices=GPU, family="empty", layout="padded"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance={"float32": Tolerance(rtol=5e-5, c=1.0)},
    hint=Hint(
        question="One part has (m, l) = (2, 1.5), the other (4, 1.5). The first measured its terms against 2. What would its 1.5 have been, "
        "measured against 4? And what if a part is empty: which m and which l change nothing?",
        idea="The maximum of the row is the maximum of the maxima. Every part's sum must be brought to that maximum before it is added: "
        "multiply l_part by exp(m_part - m). An empty part has exp(-inf - m) = 0 and drops out by itself, unless m is -inf too: "
        "then put any finite number in its place.",
        skeleton="row = tl.program_id(0).to(tl.int64)\noffs_s = tl.arange(0, BLOCK_S)\nmask = ...\n"
        "m_part = tl.load(..., mask=mask, other=...)\nl_part = tl.load(..., mask=mask, other=...)\n"
        "m_i = ...\nm_safe = ...\nl_i = tl.sum(..., axis=0)\ntl.store(m_ptr + row, m_i)\ntl.store(l_ptr + row, l_i)",
    ),
    explanation="(m, l) ⊕ (m', l') = (max, l·exp(m - max) + l'·exp(m' - max)) is associative and commutative, with (-inf, 0) "
    "as its zero (Milakov & Gimelshein 2018, section 3.1). So the parts of a row may be found by any programs, in"
    " any order, and merged in any order: many programs can share one long row. The kernel does all merges at "
    "once, because every order of ⊕ ends with the maximum of the maxima and with the sum of the sums, each "
    "measured against it. The same step ends split-K decoding, where each part carries an accumulator besides m "
    "and l.",
    long=(Long(("m_part_ptr", "l_part_ptr")),),
    many=(Many(("m_part_ptr", "l_part_ptr", "m_ptr", "l_ptr")),),
    film=FilmSpec(
        case=_case(3, 18, 5, 8, family="ascending"),
        diagram=flowing(m_part_ptr=("row", "part"), l_part_ptr=("row", "part"), m_ptr=("row",), l_ptr=("row",)),
        state={
            "m_part": "maxima of the parts",
            "l_part": "sums of the parts",
            "m_i": "maximum of the row",
            "l_i": "sum of the row",
        },
        choices={"M": (1, 3, 4), "SPLITS": (1, 3, 5, 8), "BLOCK_S": (8, 16)},
    ),
    drawn=_drawn,
)
