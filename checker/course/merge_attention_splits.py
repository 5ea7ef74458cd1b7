"""merge_attention_splits: the output of a query from those of its splits."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, puzzle, table
from checker.authoring.space import prime_below
from checker.course.attention_values import WIDTHS, distinct_values
from checker.course.diagrams import flowing
from checker.course.families import chunk_pairs, chunk_pairs_in_sight, empty, extreme, levels, rare_parts, rows
from checker.course.merge_softmax_stats import LOWEST, partials
from checker.course.tensors import anything, generator, row_magnitude
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance

FAMILIES = (chunk_pairs, chunk_pairs_in_sight, empty, extreme, levels, rare_parts)


def make(case: Case) -> Tensors:
    """The log-sum-exps of real rows of N_KV scores in SPLITS parts, and outputs of the parts: anything where a part has no key."""
    m, n, splits, d = (case.sizes[name] for name in ("M", "N_KV", "SPLITS", "D"))
    scores = rows(case, m, n).to(DTYPES["float32"]).double()
    m_part, l_part = partials(scores, splits)
    lse_part = (m_part + l_part.log()).float()
    o_part = distinct_values((m, splits, d), generator(case)).float()
    if case.family == rare_parts:
        o_part = o_part * torch.exp(lse_part.amax(dim=-1, keepdim=True) - lse_part)[..., None]
    return {
        "o_part_ptr": torch.where(lse_part[..., None] == -torch.inf, anything(o_part), o_part),
        "lse_part_ptr": lse_part,
        "o_ptr": torch.zeros(m, d, dtype=DTYPES[case.dtype]),
        "lse_ptr": torch.zeros(m, dtype=torch.float32),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Each part counts by its share of the sum; a part without a key counts nothing, whatever its output holds."""
    o_part, lse_part = inputs["o_part_ptr"], inputs["lse_part_ptr"]
    highest = lse_part.amax(dim=-1, keepdim=True).clamp(min=LOWEST)
    weights = torch.exp(lse_part - highest)
    total = weights.sum(dim=-1)
    o = (weights[..., None] * o_part.nan_to_num()).sum(dim=1) / total.clamp(min=1.0)[:, None]
    return {"o_ptr": o, "lse_ptr": highest[:, 0] * (total > 0) + total.log()}


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    if output == "o_ptr":
        return row_magnitude(case, output, expected)
    return expected.abs().nan_to_num(nan=1.0, posinf=1.0).clamp(min=1.0)


def from_row(row: Row) -> Case:
    block = row["block"]
    splits = {"all": block, "all but one": block - 1, "one": 1}.get(row["splits"]) or prime_below(block - 1)
    n = {"full": 4 * splits, "ragged": 4 * splits - 1, "some empty": max(splits - 2, 1)}[row["parts"]]
    sizes = {"M": row["rows"], "N_KV": n, "SPLITS": splits, "D": row["d"]}
    return Case(sizes, {"BLOCK_S": block}, dtype=row["dtype"], family=row["family"])


PUZZLE = puzzle(
    __file__,
    notebook="10_merge_and_pages",
    points=3,
    grid=lambda n: (n["M"],),
    options=lambda n: {"num_warps": 4},
    reads={"o_part": 1, "lse_part": 1},
    writes={"o": 1, "lse": 1},
    because={"lse": "one log-sum-exp for each row"},
    make=make,
    reference=reference,
    scale=scale,
    tolerance={
        "float32": Tolerance(rtol=5e-5, c=200.0),
        "float16": Tolerance(rtol=2**-10, c=0.1),
        "bfloat16": Tolerance(rtol=2**-7, c=0.1),
    },
    output_tolerance={"lse_ptr": dict.fromkeys(DTYPES, Tolerance(rtol=2**-17, c=0.0))},
    space=Space(
        {
            "family": (chunk_pairs_in_sight, chunk_pairs, empty, NORMAL, levels, rare_parts),
            "splits": ("prime", "all", "all but one", "one"),
            "parts": ("ragged", "full", "some empty"),
            "block": (16, 64, 8),
            "rows": (9, 1, 3),
            "d": (16, 64),
            "dtype": tuple(DTYPES),
        },
        from_row,
        lambda row: row["family"] not in (chunk_pairs, chunk_pairs_in_sight) or row["rows"] >= 9,
        wider={"rows": range(1, 13), "block": (8, 32, 128)},
        largest=({"rows": 350, "block": 256, "splits": "all but one", "parts": "ragged", "family": NORMAL, "d": 128},),
    ),
    cases=table(
        """
        M     N_KV  SPLITS  D    BLOCK_S  values   dtype     on   why
        5     37    5       128  8        empty    bfloat16
        5     37    5       32   8        extreme
        300   7     2       16   8        -        -         -    more rows than a fixed limit would allow
        2048  5000  64      128  64       -        bfloat16  gpu
        64    900   127     64   128      empty    float16   gpu
        """,
        families=FAMILIES,
    ),
    domain=Domain(
        sizes={"M": (), "SPLITS": (), "D": WIDTHS},
        tiles={"BLOCK_S": 8},
        related={"BLOCK_S is at least SPLITS": lambda case: case.meta["BLOCK_S"] >= case.sizes["SPLITS"]},
        values="lse_part is a finite number or -inf. Where it is -inf, the split has no key, and o_part may hold anything there, even NaN or inf. A "
        "row may have no key in any split.",
        memory="all tensors are contiguous. o_part and lse_part are float32, o has the type of the queries. Offsets may pass 2³².",
        accuracy="o may be off by 0.005 % plus two roundings to its type, lse by 0.0008 % of itself.",
        masked=("lse_part",),
        scratch=("o_part",),
    ),
    film=FilmSpec(
        case=Case({"M": 3, "N_KV": 18, "SPLITS": 7, "D": 16}, {"BLOCK_S": 8}),
        diagram=flowing(
            lse_part_ptr=("row", "split"), o_part_ptr=("split", "value"), o_ptr=("row", "value"), lse_ptr=("row",)
        ),
        state={"lse_part": "log-sum-exps of the splits", "w": "weights of the splits", "l_i": "sum of the weights"},
        choices={"M": (1, 3, 4), "SPLITS": (1, 3, 7, 8), "BLOCK_S": (8, 16)},
    ),
)
