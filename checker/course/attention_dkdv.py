"""attention_dkdv: the gradients of keys and values. One program per tile of keys loops over the queries that see it."""

from __future__ import annotations

from functools import partial

from checker.authoring import cdiv
from checker.course import attention_values as values
from checker.course.attention_gradients import (
    GRADIENT_CASES,
    LONG_LOOPS,
    gradient,
    gradient_space,
    gradient_table,
    gradients,
    make,
)
from checker.course.attention_heads import PER_PROGRAM, key_lengths, parts, sizes
from checker.course.diagrams import attention_dkdv
from checker.puzzle import Case, FilmSpec, Tensors

OUTPUTS = ("dk_ptr", "dv_ptr")


def reference(case: Case, inputs: Tensors) -> Tensors:
    every = gradients(case, inputs)
    return {"dk_ptr": every.dk, "dv_ptr": every.dv}


def queries(case: Case) -> int:
    """How many queries all programs load together, if each loads the tiles that see one of its keys."""
    _, h_q, _, n_q, _, _ = sizes(case)
    block_m, block_n = case.meta["BLOCK_M"], case.meta["BLOCK_N"]
    count = 0
    for length in key_lengths(case).tolist():
        for start_n in range(0, length, block_n):
            begin = max(start_n - (length - n_q), 0) // block_m * block_m if case.flags["IS_CAUSAL"] else 0
            count += h_q * max(n_q - begin, 0)
    return count


def query_rows(case: Case) -> int:
    return queries(case) * case.sizes["D"]


def key_rows(case: Case) -> int:
    return int(key_lengths(case).sum()) * case.sizes["H_KV"] * case.sizes["D"]


def programs(case: Case) -> int:
    return cdiv(case.sizes["N_KV"], case.meta["BLOCK_N"]) * case.sizes["B"] * case.sizes["H_KV"]


NEEDED = "a program needs only the tiles of queries that see one of its keys, each once for every query head"
ONCE = "written once, at the end, and never read: the sum over queries and heads stays on chip"

PUZZLE = gradient(
    __file__,
    notebook="12_two_loops_back",
    points=8,
    grid=lambda n: (cdiv(n["N_KV"], n["BLOCK_N"]), n["B"] * n["H_KV"]),
    reads={
        **dict.fromkeys(("q", "do"), query_rows),
        **dict.fromkeys(("k", "v"), key_rows),
        **dict.fromkeys(("lse", "delta"), queries),
        "key_lengths": programs,
    },
    writes={"dk": 1, "dv": 1},
    because={
        **dict.fromkeys(("q", "do", "lse", "delta"), NEEDED),
        "k": "a tile of keys is loaded once and kept",
        "v": "a tile of values is loaded once and kept",
        **dict.fromkeys(("dk", "dv"), ONCE),
        "key_lengths": PER_PROGRAM,
    },
    make=partial(make, outputs=OUTPUTS),
    reference=reference,
    space=gradient_space(n_q=(1301, 41_234), n_kv=(67, 11), longest_tile=(128, 16)),
    cases=GRADIENT_CASES
    + LONG_LOOPS
    + gradient_table("""
        B  H_Q  H_KV  N_Q     N_KV  D    BLOCK_M  BLOCK_N  values          dtype     layout      flags               why
        1  1    1     1       1     16   16       16
        1  1    1     37      1     16   16       16       -               -         strided     IS_CAUSAL
        1  2    1     21      19    16   16       16       far_below_zero
        1  1    1     40_003  5     16   256      16       rising          -         -           -                   more queries than 16 bits can count see every key
        1  1    1     37      53    16   16       16       vanishing_tile
        1  1    1     661     3     16   16       16       many_small      float16   -           -                   more terms than a sum in 16 bits can hold
        1  1    1     661     3     32   16       16       many_small      bfloat16
        1  40   1     3       5     16   16       16       many_small      bfloat16  -           -                   heads added up in the keys' type
        1  4    2     3       2     128  16       64       positive        bfloat16  -           SCALE=0.75
        2  6    2     1       1     32   64       32       -               bfloat16  strided
    """),
    film=FilmSpec(
        case=Case(
            {"B": 1, "H_Q": 2, "H_KV": 1, "N_Q": 64, "N_KV": 64, "D": 16},
            {"BLOCK_M": 16, "BLOCK_N": 16},
            family=values.rising,
            flags={"IS_CAUSAL": True, "RAGGED": 0},
        ),
        diagram=attention_dkdv(),
        state={
            "dk": "gradient of the keys",
            "dv": "gradient of the values",
            "p": "weights of this tile",
            "ds": "dS of this tile",
        },
        choices={"N_Q": (32, 64), "N_KV": (32, 64, 80), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    parts=parts(*OUTPUTS),
)
