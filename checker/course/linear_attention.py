"""linear_attention: keys and values are summed into one small state, from which every query is answered."""

from __future__ import annotations

from dataclasses import replace

import torch

from checker.authoring import Row, Space, cdiv
from checker.authoring.space import ANY_REMAINDER
from checker.course import linear_values as values
from checker.course.diagrams import linear as diagram
from checker.course.linear import (
    ANY_COLUMNS,
    COLUMNS,
    COVERED,
    DOMAIN,
    LAYOUTS,
    MOST_ITERATIONS,
    ONCE,
    POWERS,
    REMAINDERS,
    ROUNDED,
    SWEPT,
    WIDTHS,
    columns,
    empty,
    flags_of,
    in_every_slice,
    linear,
    linear_attention,
    linear_table,
    sensible,
    slices,
    tokens,
)
from checker.puzzle import DTYPES, NORMAL, Case, FilmSpec, Tensors


def key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: the number of keys of each batch, N_KV unless the case is ragged.

    In a ragged case the first batch lacks some keys and the last has none. Those between have one key, all, or full tiles. With more
    batches than keys, every length occurs.
    """
    b, n_kv = case.sizes["B"], case.sizes["N_KV"]
    lengths = torch.full((b,), n_kv, dtype=torch.int32)
    if case.flags.get("RAGGED"):
        full = max(n_kv // case.meta["BLOCK_N"] - 1, 0) * case.meta["BLOCK_N"]
        between = torch.tensor([1, n_kv, full], dtype=torch.int32)
        lengths[:] = between[(torch.arange(b) + 2) % 3] if b <= n_kv else torch.arange(b) % (n_kv + 1)
        lengths[0] = max(1, 3 * n_kv // 4)
        lengths[-1] = 0 if b > 1 else lengths[-1]
    return lengths


def make(case: Case) -> Tensors:
    n_q, n_kv = case.sizes["N_Q"], case.sizes["N_KV"]
    x, lengths = values.drawn(case, n_q, n_kv), key_lengths(case)
    padding = (torch.arange(n_kv) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    x.k = x.k.masked_fill(padding, 7.0)  # a kernel that counts padded keys gets a wrong result
    x.v = x.v.masked_fill(padding, 50.0 * values.power(case))
    q, k, v = values.in_memory(x, case)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": empty(case, n_q), "key_lengths_ptr": lengths}


def reference(case: Case, inputs: Tensors) -> Tensors:
    seen = torch.arange(case.sizes["N_KV"]) < inputs["key_lengths_ptr"][:, None]  # [B, N_KV]
    return {"o_ptr": linear_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], seen[:, None, :])}


def keys(case: Case) -> int:
    """How many keys count, in all heads."""
    return int(key_lengths(case).sum()) * case.sizes["H"]


def sizes(row: Row) -> dict[str, int]:
    (block_m, block_n, block_v), (b, h) = row["tile"], row["heads"]
    n_kv = row.get("n_kv") or tokens(row["family"], block_n, row["remainder"])
    lengths = {"as many": n_kv, "one": block_m + 1, "none": 2 * block_m, "all but one": 3 * block_m - 1, "alone": 1}
    n_q = row.get("n_q") or lengths.get(row["queries"], row["queries"])
    return {"B": b, "H": h, "N_Q": n_q, "N_KV": n_kv, "D": row["d"], "D_V": columns(row["values"], block_v)}


def from_row(row: Row) -> Case:
    tiles = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_V"), row["tile"], strict=True))
    return Case(
        sizes(row), tiles, row["dtype"], row["family"], row["layout"], flags={"RAGGED": row["ragged"], **flags_of(row)}
    )


def allowed(row: Row) -> bool:
    if row["heads"][0] > 8 and not row["ragged"]:
        return False
    (block_m, block_n, block_v), n = row["tile"], sizes(row)
    iterations = (cdiv(n["N_Q"], block_m) + cdiv(n["N_KV"], block_n)) * cdiv(n["D_V"], block_v) * n["B"] * n["H"]
    if row["queries"] == 48 and block_m == 16:  # 16 divides N_Q, and its tile does not
        return False
    return sensible(row) and iterations <= max(2 * MOST_ITERATIONS, 5 * n["B"], 2 * n["B"] * n["H"])


PUZZLE = linear(
    __file__,
    notebook="14_linear_attention",
    points=5,
    reads={
        "q": in_every_slice("B", "H", "N_Q", "D"),
        "k": lambda case: slices(case) * keys(case) * case.sizes["D"],
        "v": lambda case: keys(case) * case.sizes["D_V"],
        "key_lengths": in_every_slice("B", "H"),
    },
    writes={"o": 1},
    because={
        "q": "each program reads every query once",
        "k": "each program reads every key that counts once, into the state",
        "v": "every value that counts is read once",
        "key_lengths": "one number for each program",
    },
    domain=replace(
        DOMAIN,
        sizes={"B": (), "H": (), "N_Q": (), "N_KV": (), "D": WIDTHS, "D_V": ()},
        tiles={"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_V": 16},
        memory=DOMAIN.memory.removesuffix(" States are contiguous."),
        accuracy=f"{ROUNDED}.",
    ),
    make=make,
    reference=reference,
    space=Space(
        {
            "family": COVERED,
            "remainder": REMAINDERS,
            "queries": ("as many", "one", "none", "all but one", "alone"),
            "values": COLUMNS,
            "tile": ((16, 16, 16), (32, 16, 16), (16, 32, 16), (16, 16, 32)),
            "d": WIDTHS,
            "heads": ((2, 1), (1, 2), (1, 5), (3, 1)),
            "dtype": tuple(DTYPES),
            "layout": LAYOUTS,
            "ragged": (True, False),
            "power": POWERS,
            "past": (None,),
        },
        from_row,
        allowed,
        once={
            "family": ONCE,
            "remainder": SWEPT,
            "queries": (48, 47, 2, 3, 5, 7, 8, 12, 15, 18, 21, 23, 29, 35, 40),
            "heads": ((50, 1), (3, 11)),
            "tile": ((16, 256, 16), (64, 32, 64)),
        },
        wider={"tile": ((16, 16, 16), (32, 64, 32), (16, 64, 16)), "values": ANY_COLUMNS, "remainder": ANY_REMAINDER},
        largest=(
            {"tile": (64, 64, 64), "heads": (1, 1), "n_q": 263, "n_kv": 1397, "family": values.growing},
            # in float32, because so many terms do not fit in float16
            {"tile": (16, 128, 16), "heads": (1, 1), "n_q": 9, "n_kv": 41_234, "dtype": "float32", "family": NORMAL},
        ),
    ),
    cases=linear_table("""
        B  H   N_Q   N_KV    D    D_V  BLOCK_M  BLOCK_N  BLOCK_V  values      dtype     layout  flags   on   why
        1  1   17    1003    16   16   16       16       16       many_small  float16   -       -       -    a state in 16 bits
        1  1   141   401     32   16   16       32       16       many_small  bfloat16  padded
        1  1   9     41      16   16   16       16       16       dwarfing    -         -       -       -    later tiles taken for nothing (negligible_keys)
        1  1   3     40_003  16   16   16       256      16       -           -         -       -       -    at_most_64_tiles_of_keys; and more keys than 16 bits can count
        4  16  500   517     128  96   64       64       64       -           float16   padded  RAGGED  gpu
        2  4   4099  4099    64   64   64       64       64       signs       -         -       -       gpu
        1  1   2048  65_536  64   64   64       64       64       outlier     float16   -       -       gpu
        1  1   4096  65_536  128  64   64       64       64       growing     bfloat16  -       -       gpu
    """),
    film=FilmSpec(
        case=Case(
            {"B": 1, "H": 1, "N_Q": 32, "N_KV": 40, "D": 16, "D_V": 16},
            {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_V": 16},
            family=values.growing,
        ),
        diagram=diagram(ends=False),
        state={"state": "φ(K)ᵀ V so far", "z": "sum of φ(K)"},
        choices={"N_Q": (16, 32), "N_KV": (24, 40), "D_V": (16, 24, 32)},
    ),
)
