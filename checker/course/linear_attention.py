"""linear_attention: keys and values are summed into one small state, from which every query is answered."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import torch

from checker.authoring import puzzle
from checker.authoring.covering import Row, covering
from checker.course.diagrams import linear
from checker.course.family_words import case_of
from checker.course.linear_cases import (
    FAMILIES,
    LAYOUTS,
    MOST_TURNS,
    REMAINDERS,
    VALUES,
    WIDTHS,
    columns,
    drawn_values,
    sensible,
    tokens,
    values_of,
)
from checker.course.linear_inputs import (
    LONG,
    TOLERANCE,
    empty,
    magnitude,
    queries_keys_values,
    rows,
    slices,
    strides,
)
from checker.course.linear_inputs import linear_attention as exact
from checker.puzzle import DTYPES, GPU, Allowance, Case, FilmSpec, Launch, Scalar, Tensors

AXES = {"q": "hm", "k": "hn", "v": "hn", "o": "hm"}


def _sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H, N_Q, N_KV, D, D_V."""
    b, h, n_q, n_kv, d, d_v = (case.sizes[name] for name in ("B", "H", "N_Q", "N_KV", "D", "D_V"))
    return b, h, n_q, n_kv, d, d_v


def _key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: the number of keys of each batch, N_KV unless the case is ragged.

    Of a ragged case the first batch lacks some keys and the last has none. Those between have one key, all, or full tiles.
    """
    b, n_kv = case.sizes["B"], case.sizes["N_KV"]
    lengths = torch.full((b,), n_kv, dtype=torch.int32)
    if case.flags.get("RAGGED"):
        full = max(n_kv // case.meta["BLOCK_N"] - 1, 0) * case.meta["BLOCK_N"]
        between = torch.tensor([1, n_kv, full], dtype=torch.int32)
        lengths[:] = between[(torch.arange(b) + 2) % 3]
        lengths[0] = max(1, 3 * n_kv // 4)
        lengths[-1] = 0 if b > 1 else lengths[-1]
    return lengths


def make(case: Case) -> Tensors:
    b, h, n_q, n_kv, d, d_v = _sizes(case)
    q, k, v = queries_keys_values(case, (b, h, n_q, d), (b, h, n_kv, d), d_v)
    lengths = _key_lengths(case)
    padding = (torch.arange(n_kv) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    k[padding.expand_as(k)] = 7.0  # a kernel that counts padded keys gets a wrong result
    v[padding.expand_as(v)] = 50.0
    o = empty(case, (b, h, n_q, d_v))
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "key_lengths_ptr": lengths}


def reference(case: Case, inputs: Tensors) -> Tensors:
    seen = torch.arange(case.sizes["N_KV"]) < inputs["key_lengths_ptr"][:, None]  # [B, N_KV]
    return {"o_ptr": exact(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], seen[:, None, :])}


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h, n_q, n_kv, d, d_v = _sizes(case)
    return Launch(
        grid=(b * h, -(-d_v // int(meta["BLOCK_V"]))),
        arguments={**tensors, **strides(tensors, AXES), "H": h, "N_Q": n_q, "N_KV": n_kv, "D_V": d_v},
        meta={**meta, "D": d},
        outputs=("o_ptr",),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h, n_q, _, d, d_v = _sizes(case)
    keys = int(_key_lengths(case).sum()) * h * DTYPES[case.dtype].itemsize
    return {
        "q_ptr": Allowance(slices(case) * rows(case, n_q, d), 0, "each program reads every query once"),
        "k_ptr": Allowance(slices(case) * keys * d, 0, "each program reads every key that counts once, into the state"),
        "v_ptr": Allowance(keys * d_v, 0, "every value that counts is read once"),
        "o_ptr": Allowance(0, rows(case, n_q, d_v), "the output is written once and never read"),
        "key_lengths_ptr": Allowance(b * h * slices(case) * 4, 0, "one number a program"),
    }


def _case(b: int, h: int, n: tuple[int, int], d: tuple[int, int], block: tuple[int, int, int], **more: Any) -> Case:
    flags = {"RAGGED": bool(more.pop("ragged", False))}
    sizes = {"B": b, "H": h, "N_Q": n[0], "N_KV": n[1], "D": d[0], "D_V": d[1]}
    return case_of(sizes, {"BLOCK_M": block[0], "BLOCK_N": block[1], "BLOCK_V": block[2]}, flags=flags, **more)


_TILES = ((16, 16, 16), (32, 16, 16), (16, 32, 16), (16, 16, 32))
_QUERIES = ("as many", "one", "none", "all but one", "alone")
_HEADS = ((2, 1), (1, 2), (1, 5), (3, 1))


def _queries(queries: str, block: int, n_kv: int) -> int:
    """N_Q: N_KV, or a length that fills the last tile of `block` queries as `queries` says."""
    return {"as many": n_kv, "one": block + 1, "none": 2 * block, "all but one": 3 * block - 1, "alone": 1}[queries]


def _covered() -> tuple[Case, ...]:
    """Cases that cover all values in pairs: family, remainders of keys and of queries, tiles, D_V, D, heads, dtype, layout, lengths."""
    factors = {
        "family": FAMILIES,
        "remainder": REMAINDERS,
        "queries": _QUERIES,
        "values": VALUES,
        "tile": _TILES,
        "d": WIDTHS,
        "heads": _HEADS,
        "dtype": tuple(TOLERANCE),
        "layout": LAYOUTS,
        "ragged": (True, False),
    }

    def sizes(row: Row) -> tuple[int, int, int]:
        block_m, block_n, block_v = row["tile"]
        n_kv = tokens(row["family"], block_n, row["remainder"])
        return _queries(row["queries"], block_m, n_kv), n_kv, columns(row["values"], block_v)

    def allowed(row: Row) -> bool:
        (n_q, n_kv, d_v), (block_m, block_n, block_v), (b, h) = sizes(row), row["tile"], row["heads"]
        turns = (-(-n_q // block_m) + -(-n_kv // block_n)) * -(-d_v // block_v) * b * h
        return sensible(row) and turns <= 2 * MOST_TURNS

    found = []
    for row in covering(factors, allowed):
        (n_q, n_kv, d_v), (b, h) = sizes(row), row["heads"]
        found.append(_case(b, h, (n_q, n_kv), (row["d"], d_v), row["tile"], ragged=row["ragged"], **values_of(row)))
    return tuple(dict.fromkeys(found))


def _drawn(draw: Random) -> tuple[Case, ...]:
    """Random cases. The last one is larger than any known case."""
    found = []
    for number in range(7):
        large = number >= 5
        tile = (draw.choice((16, 32)), draw.choice((16, 32, 64)), draw.choice((16, 32)))
        limits = (1, 3 * tile[0]), (1, 6 * tile[1])
        if number == 5:  # many tiles of both
            tile, limits = (64, 64, 64), ((200, 300), (1300, 1500))
        elif number == 6:
            tile, limits = (16, 128, 16), ((1, 16), (40_004, 44_000))
        n_q, n_kv = (draw.randint(*limit) for limit in limits)
        b, h = (1, 1) if large else (draw.randint(1, 3), draw.randint(1, 2))
        widths = (draw.choice(WIDTHS), draw.randint(1, 2 * tile[2]))
        ragged = draw.random() < 0.5
        values = drawn_values(draw)
        if number == 6:  # so many terms do not fit in float16
            values |= {"dtype": "float32", "family": "normal"}
        found.append(_case(b, h, (n_q, n_kv), widths, tile, ragged=ragged, **values))
    return tuple(found)


PUZZLE = puzzle(
    __file__,
    notebook="10_linear_attention",
    points=5,
    outputs=("o_ptr",),
    cases=(
        *_covered(),
        _case(1, 1, (17, 1003), (16, 16), (16, 16, 16), dtype="float16", family="many_small"),
        _case(1, 1, (141, 401), (32, 16), (16, 32, 16), dtype="bfloat16", family="many_small", layout="padded"),
        _case(1, 1, (48, 80), (16, 16), (32, 64, 32)),  # 16 divides every size, a tile divides none
        _case(1, 4, (17, 32), (16, 16), (16, 16, 16), family="halfway"),
        _case(1, 1, (17, 31), (16, 16), (16, 16, 16), family="half_frozen"),
        _case(1, 1, (17, 31), (16, 16), (16, 16, 16), family="warm"),
        _case(1, 1, (17, 300), (16, 16), (16, 64, 16), family="freezing"),
        _case(1, 1, (40, 20), (16, 33), (16, 16, 16), family="huge"),
        _case(1, 2, (90, 90), (16, 24), (16, 16, 16), family="blanks"),
        _case(1, 1, (17, 37), (16, 16), (16, 16, 16), family="short_keys"),
        _case(1, 1, (17, 67), (16, 16), (16, 16, 16), family="dwarfing"),
        _case(1, 1, (17, 37), (16, 17), (16, 16, 16), family="one_way"),
        _case(2, 3, (21, 37), (16, 24), (16, 16, 16), layout="roomy"),
        _case(1, 1, (33, 37), (64, 40), (32, 16, 32), dtype="float16", family="outlier"),
        _case(1, 1, (17, 33), (16, 16), (16, 16, 16), dtype="bfloat16", family="constant"),
        # for mistakes that show in few cases only
        _case(1, 1, (17, 300), (16, 12), (16, 16, 16), family="half_frozen", layout="padded"),
        _case(
            3,
            2,
            (47, 49),
            (64, 9),
            (16, 16, 16),
            dtype="float16",
            family="contributions",
            layout="transposed",
            ragged=True,
        ),
        _case(1, 1, (11, 36), (32, 32), (16, 16, 16), dtype="bfloat16", family="contributions"),
        _case(2, 1, (300, 1), (16, 17), (16, 16, 16), family="warm", layout="padded", ragged=True),
        _case(
            1,
            1,
            (198, 1263),
            (64, 7),
            (64, 32, 64),
            dtype="float16",
            family="contributions",
            layout="transposed",
            ragged=True,
        ),
        _case(1, 1, (15, 65), (16, 33), (64, 64, 16), dtype="float16", family="outlier", ragged=True),
        _case(2, 3, (257, 31), (16, 8), (32, 32, 32), family="contributions", layout="padded", ragged=True),
        _case(1, 1, (162, 1160), (64, 115), (64, 64, 64), family="contributions", layout="transposed", ragged=True),
        _case(3, 1, (143, 129), (16, 16), (16, 64, 16), family="signs", layout="padded", ragged=True),
        # many tiles of queries and of keys, several slices of values
        _case(3, 2, (161, 651), (128, 31), (16, 16, 16), dtype="bfloat16", family="cold", layout="padded", ragged=True),
        _case(2, 3, (161, 641), (32, 47), (16, 16, 16), dtype="float16", family="signs"),
        _case(2, 1, (40, 641), (128, 127), (16, 32, 32), dtype="float16", family="growing", ragged=True),
        # added for mistakes that only a GPU's larger cases had shown
        _case(1, 1, (563, 563), (16, 16), (16, 16, 16), family="signs"),
        _case(1, 1, (3, 1043), (16, 16), (16, 16, 16)),  # more tiles of keys than a fixed limit would allow
        _case(1, 1, (3, 40_003), (16, 16), (16, 256, 16)),  # more keys than 16 bits can count
        _case(1, 2, (17, 40), (16, 16), (16, 16, 16), family="faint"),
        _case(4, 16, (500, 517), (128, 96), (64, 64, 64), devices=GPU, dtype="float16", ragged=True, layout="padded"),
        _case(2, 4, (4099, 4099), (64, 64), (64, 64, 64), devices=GPU, family="signs"),
        _case(1, 1, (2048, 65_536), (64, 64), (64, 64, 64), devices=GPU, dtype="float16", family="outlier"),
        _case(1, 1, (4096, 65_536), (128, 64), (64, 64, 64), devices=GPU, dtype="bfloat16", family="growing"),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=magnitude,
    tolerance=TOLERANCE,
    long=LONG,
    film=FilmSpec(
        case=_case(1, 1, (32, 40), (16, 16), (16, 16, 16), family="growing"),
        diagram=linear(ends=False),
        state={"state": "φ(K)ᵀ V so far", "z": "sum of φ(K)"},
        choices={"N_Q": (16, 32), "N_KV": (24, 40), "D_V": (16, 24, 32)},
    ),
    drawn=_drawn,
)
