"""paged_decode: the function that a model calls for each token, around decode_attention_paged and merge_attention_splits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from checker.authoring import Row, Space, cdiv, table
from checker.authoring.build import Cases
from checker.authoring.page import page
from checker.course import attention_values as values
from checker.course import decode
from checker.course import decode_attention_paged as paged
from checker.course import merge_attention_splits as merge
from checker.course.attention import TOLERANCE, attention, scale
from checker.course.attention_heads import IN_GROUPS
from checker.course.attention_values import WIDTHS
from checker.puzzle import (
    DTYPES,
    Allowance,
    Case,
    Domain,
    FilmSpec,
    Launch,
    Launcher,
    Puzzle,
    Remark,
    Scalar,
    Tensors,
    Used,
)

STEPS = 2
"""Two tokens, one after the other: the second has another query, and each text has a key more."""
PARAMETERS = ("q", "k_cache", "v_cache", "block_table", "lengths")
OUTPUTS = tuple(f"o_{step}" for step in range(STEPS))


def lengths_at(case: Case, step: int) -> list[int]:
    """The keys of each text. With RAGGED, texts in turn have nearly N_KV keys, none, half of them and 15; with EMPTY, none at first."""
    n_kv = case.sizes["N_KV"]
    turns = (n_kv - STEPS + 1, 0, n_kv // 2, min(15, n_kv // 3)) if case.flags["RAGGED"] else (n_kv - STEPS + 1,)
    turns = (0,) if case.flags["EMPTY"] else turns
    return [turns[b % len(turns)] + step for b in range(case.sizes["B"])]


def make(case: Case) -> Tensors:
    """Of each step q and o [B, H_Q, D] and the lengths [B]; the caches [N_PAGES, H_KV, PAGE, D] and the table [B, MAX_PAGES].

    With VIEW, queries are part of what a projection leaves behind, beside room for keys and values; with VIEW = 2, D comes before heads
    in memory. With WIDE, the table is part of a wider one, and with WIDE = 2 its columns come before its rows. With LONG its numbers
    are int64. Whatever belongs to no key is NaN.
    """
    b, h_q, h_kv, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_KV", "D"))
    group = h_q // h_kv
    q, k, v = values.queries_keys_values(case, (b, h_kv, STEPS * group, d), (b, h_kv, n_kv, d))
    made: Tensors = {}
    for step, one in enumerate(q.unflatten(2, (STEPS, group)).unbind(2)):
        made[f"q_{step}"] = one.reshape(b, h_q, d).contiguous()
        if case.flags["VIEW"] == 1:
            made[f"q_{step}"] = q.new_full((b, h_q + 2 * h_kv, d), torch.nan)[:, :h_q].copy_(made[f"q_{step}"])
        elif case.flags["VIEW"]:
            made[f"q_{step}"] = made[f"q_{step}"].mT.contiguous().mT
        made[f"lengths_{step}"] = torch.tensor(lengths_at(case, step), dtype=torch.int32)
        made[f"o_{step}"] = torch.zeros(b, h_q, d, dtype=q.dtype)
    caches = paged.caches(case, k, v, lengths_at(case, STEPS - 1))
    entries = caches["block_table_ptr"].to(torch.int64 if case.flags["LONG"] else torch.int32)
    if case.flags["WIDE"] == 2:
        entries = entries.mT.contiguous().mT
    elif case.flags["WIDE"]:
        entries = entries.new_full((b, entries.shape[1] + 3), 1)[:, : entries.shape[1]].copy_(entries)
    return {**made, "k_cache": caches["k_ptr"], "v_cache": caches["v_ptr"], "block_table": entries}


def reference(case: Case, inputs: Tensors) -> Tensors:
    group = case.sizes["H_Q"] // case.sizes["H_KV"]
    expected = {}
    for step in range(STEPS):
        lengths = inputs[f"lengths_{step}"]
        pages = {"key_lengths_ptr": lengths, "block_table_ptr": inputs["block_table"]}
        k, v = (
            paged.gathered(case, {**pages, name: inputs[name]}, name).repeat_interleave(group, dim=1)
            for name in ("k_cache", "v_cache")
        )
        seen = torch.arange(case.sizes["N_KV"]) < lengths[:, None, None, None]
        o, _ = attention(inputs[f"q_{step}"][:, :, None], k, v, case.sizes["D"] ** -0.5, seen)
        expected[f"o_{step}"] = o[:, :, 0]
    return expected


def launch(case: Case, tensors: Tensors, meta: object) -> Launch:
    """The steps of a case, in the order of the function's parameters."""
    names = [of_step for name in PARAMETERS for of_step in (name, *(f"{name}_{step}" for step in range(STEPS)))]
    arguments = {name: tensors[name] for name in (*names, *OUTPUTS) if name in tensors}
    return Launch((1,), arguments, {}, OUTPUTS)


def timed(case: Case) -> Tensors:
    """One step with texts of N_KV keys, random numbers, and pages in random order."""
    b, h_q, h_kv, n_kv, page, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_KV", "PAGE", "D"))
    pages, dtype = cdiv(n_kv, page), DTYPES[case.dtype]
    k, v = (torch.randn(b * pages, h_kv, page, d).to(dtype) for _ in range(2))
    return {
        "q": torch.randn(b, h_q, d).to(dtype),
        "k_cache": k,
        "v_cache": v,
        "block_table": torch.randperm(b * pages).reshape(b, pages).int(),
        "lengths": torch.full((b,), n_kv, dtype=torch.int32),
        **{name: torch.zeros(b, h_q, d, dtype=dtype) for name in OUTPUTS},
    }


def tiles_in_table(case: Case) -> int:
    """Tiles of 16 keys for which the table has room."""
    return cdiv(paged.max_pages(case) * case.sizes["PAGE"], 16)


def sdpa(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, block_table: torch.Tensor, lengths: torch.Tensor
) -> Callable[[], object]:
    """PyTorch's attention on a cache in one piece: the pages of all texts, which are equally long, are gathered beforehand."""
    n_kv, page = int(lengths.max()), k_cache.shape[2]
    pages = block_table[:, : -(-n_kv // page)].long()
    k, v = (cache[pages].transpose(1, 2).flatten(2, 3)[:, :, :n_kv].contiguous() for cache in (k_cache, v_cache))
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q[:, :, None], k, v, enable_gqa=True)


FLAGS: dict[str, Scalar] = {
    "RAGGED": False,
    "SHARED": False,
    "EMPTY": False,
    "VIEW": False,
    "WIDE": False,
    "LONG": False,
    "MULTIPROCESSORS": 0,
}
REMARKS = (
    Remark(lambda case: bool(case.flags["EMPTY"]), "No text has a key here. The output is 0 then, and no NaN."),
    Remark(
        lambda case: bool(case.flags["RAGGED"]),
        "Texts have different lengths here. Splits past the end of a short one have a log-sum-exp of -inf and an output of 0, which the "
        "decode kernel stores: launch it for all splits of all texts, and let both kernels have the same SPLITS.",
    ),
)
DOMAIN = Domain(
    sizes={"B": (), "H_Q": (), "H_KV": (), "D": WIDTHS, "PAGE": paged.PAGES},
    tiles={"BLOCK_G": 16, "BLOCK_N": 16, "BLOCK_S": 8},
    related={**IN_GROUPS, "a text has at most MAX_PAGES · PAGE keys, and perhaps none": lambda case: True},
    values="what the kernels may assume. Slots without a key may hold anything, even NaN or inf, and so may table entries past a text's last page.",
    memory="q, the caches and the table may have any strides; the lengths are contiguous. q and the caches have one type; the table holds int32 or int64, and the lengths int32.",
    accuracy="as for the kernels, and the output is rounded to the type of q.",
)


def shape(row: Row) -> Case:
    """Short texts, perhaps in a table that has room for long ones."""
    (h_q, h_kv), entries = row["heads"], {"MAX_PAGES": row["entries"]} if row["entries"] else {}
    sizes = {"B": row["b"], "H_Q": h_q, "H_KV": h_kv, "N_KV": 5, **entries, "PAGE": row["page"], "D": row["d"]}
    flags = {**FLAGS, **{name: row[name.lower()] for name in ("VIEW", "WIDE", "LONG", "MULTIPROCESSORS")}}
    return Case(sizes, {}, row["dtype"], layout=row["layout"], flags=flags)


def is_small(row: Row) -> bool:
    """Whether the tensors of a shape fit in a few megabytes."""
    h_q, h_kv = row["heads"]
    return row["b"] * max(h_q, h_kv * row["page"]) * row["d"] <= 2**20 and row["b"] * row["entries"] <= 2**20


SHAPES = Space(
    {
        "heads": ((1, 1), (32, 8), (5, 5), (128, 1)),
        "b": (1, 3, 130),
        "entries": (0, 1, 700, 70_000),
        "page": (8, 16, 64),
        "d": (16, 128),
        "dtype": tuple(DTYPES),
        "layout": ("contiguous", "transposed", "strided"),
        "view": (0, 1, 2),
        "wide": (0, 1, 2),
        "long": (False, True),
        "multiprocessors": (8, 132, 188),
    },
    shape,
    is_small,
    wider={
        "heads": tuple((group * h_kv, h_kv) for group in range(1, 33) for h_kv in range(1, 6)),
        "b": range(1, 30),
        "entries": (0, *(int(1.3**i) for i in range(45))),
        "page": paged.PAGES,
        "d": WIDTHS,
        "multiprocessors": range(1, 200),
    },
)
CASES = table(
    """
    B  H_Q  H_KV  N_KV    PAGE  D    dtype     layout      flags             on   why
    1  1    1     5       16    16   -         -           -                 -    the plainest
    1  4    2     40      16    16   -         -           -
    3  4    2     40      16    16   -         -           RAGGED
    2  2    1     33      16    32   -         -           EMPTY             -    no key at all, then one
    2  4    2     40      16    16   -         strided     VIEW WIDE LONG
    2  4    2     50      8     16   float16   -           -
    2  4    2     40      16    32   bfloat16  transposed  RAGGED VIEW
    2  4    2     77      64    16   -         -           SHARED
    4  2    2     2000    32    16   float16   -           RAGGED            -    splits past the end of short texts
    2  8    2     16_384  16    128  bfloat16  -           RAGGED            gpu
    7  16   2     4099    16    64   float16   -           RAGGED VIEW    gpu
    """,
    flags=FLAGS,
)
PUZZLE = Puzzle(
    name="paged_decode",
    kernel="paged_decode",
    parameters=PARAMETERS,
    notebook="10_merge_and_pages",
    points=5,
    outputs=OUTPUTS,
    text=page(Path(__file__).with_suffix(".md"), DOMAIN),
    cases=CASES,
    make=make,
    reference=reference,
    launch=launch,
    budget=lambda case: dict.fromkeys(OUTPUTS, Allowance(0, 0)),
    scale=scale,
    tolerance=TOLERANCE,
    film=FilmSpec(CASES[1], decode.diagram()),
    domain=DOMAIN,
    huge=False,
    launcher=Launcher(
        steps=STEPS,
        kernels=(Used(paged.PUZZLE), Used(merge.PUZZLE, {"M": lambda n: n["B"] * n["H_Q"]})),
        shapes=Cases(SHAPES, ()),
        drawn=partial(SHAPES.draw, count=16),
        choice="SPLITS",
        most=tiles_in_table,
        too_many="A split without a key costs a program, and a part that the merge has to read. Choose no more than there are tiles of 16 "
        "keys in the longest text that the table has room for.",
        remarks=REMARKS,
        peer=sdpa,
        timed=timed,
        medals=tuple(
            (case, share)
            for case, share in zip(
                table(
                    """
                    B  H_Q  H_KV  N_KV    PAGE  D    dtype     on
                    1  32   8     65_536  16    128  bfloat16  timed
                    4  16   2     16_384  16    128  bfloat16  timed
                    """,
                    flags=FLAGS,
                ),
                (0.9, 0.75),
                strict=True,
            )
        ),
    ),
)
