"""flash_attention_heads: attention as models use it: batch, heads, grouped K/V heads, causal, ragged lengths, any layout."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import torch

from checker.course import slips
from checker.course.attention_cases import (
    CPU,
    FACTORS,
    GPU,
    OTHER_SCALE,
    STATISTICS,
    TILES_OF_KEYS,
    TOLERANCE,
    built,
    covered,
    drawn,
    magnitude,
    said,
)
from checker.course.attention_inputs import attention, laid_out, queries_keys_values, running, scale_of
from checker.course.covering import Row
from checker.course.diagrams import attention as attention_diagram
from checker.course.families import row_magnitude
from checker.puzzle import DTYPES, Allowance, Case, FilmSpec, Hint, Launch, Long, Part, Puzzle, Scalar, Tensors


def _sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV, D. Raises ValueError where the query heads do not fall into equal groups."""
    b, h_q, h_kv, n_q, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_Q", "N_KV", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    return b, h_q, h_kv, n_q, n_kv, d


_STRIDED = {"q_ptr": ((0, 2, 1, 3), 2, 8), "k_ptr": ((0, 1, 3, 2), 1, 5), "v_ptr": ((1, 0, 2, 3), 3, 0), "o_ptr": ((2, 0, 1, 3), 4, 0)}  # fmt: skip
"""Of a strided layout, for each tensor: the order of its dimensions in memory, the step of the last one, and the gap after it. Keys lie as caches hold them, D before N."""


def _key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: all keys, unless the case is ragged. Then batches in turn have some keys that end inside a tile, none, and all;
    or, where ``case.flags["RAGGED"]`` is 2, full tiles, one key, and none.
    """
    n_kv, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
    tiles = -(-n_kv // block)
    inside = min(tiles // 2 * block + block // 2 + 1, max(1, 3 * n_kv // 4))
    full = min(max(tiles // 2, 1) * block, n_kv)
    turns = {0: (n_kv,), 1: (inside, 0, n_kv), 2: (full, 1, 0)}[int(case.flags.get("RAGGED", 0))]
    return torch.tensor([turns[b % len(turns)] for b in range(case.sizes["B"])], dtype=torch.int32)


def make(case: Case) -> Tensors:
    b, h_q, h_kv, n_q, n_kv, d = _sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    lengths = _key_lengths(case)
    padding = (torch.arange(n_kv) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    # padded keys hold numbers, as large as any: whoever counts them is seen
    k, v = torch.where(padding, k.amax(), k), torch.where(padding, -v.abs().amax(), v)
    return {
        "q_ptr": laid_out(q, case.layout, *_STRIDED["q_ptr"]),
        "k_ptr": laid_out(k, case.layout, *_STRIDED["k_ptr"]),
        "v_ptr": laid_out(v, case.layout, *_STRIDED["v_ptr"]),
        "o_ptr": laid_out(torch.zeros_like(q), case.layout, *_STRIDED["o_ptr"]),
        "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
        "key_lengths_ptr": lengths,
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    _, h_q, h_kv, n_q, n_kv, _ = _sizes(case)
    group = h_q // h_kv
    k, v = (inputs[name].repeat_interleave(group, dim=1) for name in ("k_ptr", "v_ptr"))
    keys = torch.arange(n_kv)
    seen = (keys < inputs["key_lengths_ptr"][:, None])[:, None, None, :]  # [B, 1, 1, N_KV]
    if case.flags["IS_CAUSAL"]:
        seen = seen & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q)
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), seen)
    return {"o_ptr": o, "lse_ptr": lse}


def _visible(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of batch ``at[0]``: keys below its length and, under a causal mask, not past the query, the ends aligned."""
    n_q, n_kv, keys = case.sizes["N_Q"], case.sizes["N_KV"], torch.arange(case.sizes["N_KV"])
    seen = (keys < tensors["key_lengths_ptr"][at[0]]).expand(n_q, n_kv)
    return seen & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q) if case.flags["IS_CAUSAL"] else seen


def _head_kv(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """Batch and key head of a query head."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def launch(case: Case, tensors: Tensors, meta: Mapping[str, Scalar]) -> Launch:
    b, h_q, h_kv, n_q, n_kv, d = _sizes(case)
    axes = {"q": "bhmd", "k": "bhnd", "v": "bhnd", "o": "bhmd"}
    strides = {
        f"stride_{name}{axis}": tensors[f"{name}_ptr"].stride(i) for name in axes for i, axis in enumerate(axes[name])
    }
    return Launch(
        grid=(-(-n_q // int(meta["BLOCK_M"])), b * h_q),
        arguments={**tensors, **strides, "scale": scale_of(case), "H_Q": h_q, "H_KV": h_kv, "N_Q": n_q, "N_KV": n_kv},
        meta={**meta, "IS_CAUSAL": bool(case.flags["IS_CAUSAL"]), "D": d},
        outputs=("o_ptr", "lse_ptr"),
        options={"num_warps": 4, "num_stages": 2},
    )


def budget(case: Case) -> dict[str, Allowance]:
    b, h_q, _, n_q, n_kv, d = _sizes(case)
    block_m, block_n, itemsize = case.meta["BLOCK_M"], case.meta["BLOCK_N"], DTYPES[case.dtype].itemsize
    keys = 0  # keys loaded, over all programs of all batches
    for length in _key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, -(-max(end, 0) // block_n) * block_n)
    queries, programs = b * h_q * n_q * d * itemsize, b * h_q * -(-n_q // block_m)
    needed = "only the tiles that a query of the tile may see, each once"
    return {
        "q_ptr": Allowance(queries, 0, "a tile of queries is loaded once and kept"),
        "k_ptr": Allowance(keys * d * itemsize, 0, needed),
        "v_ptr": Allowance(keys * d * itemsize, 0, needed),
        "o_ptr": Allowance(
            0,
            queries,
            "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip",
        ),
        "lse_ptr": Allowance(0, b * h_q * n_q * 4, "one number a query"),
        "key_lengths_ptr": Allowance(programs * 4, 0, "one number a program"),
    }


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """A row of O is measured against its largest element, a log-sum-exp against its own size."""
    return row_magnitude(case, output, expected) if output == "o_ptr" else magnitude(case, expected)


def _case(
    b: int,
    h: tuple[int, int],
    n: tuple[int, int],
    d: int,
    block: tuple[int, int],
    flags: Mapping[str, Scalar] | None = None,
    **more: Any,
) -> Case:
    flags = {"IS_CAUSAL": False, "RAGGED": 0} | (dict(flags) if flags else {})
    name = f"{b} × {h[0]}/{h[1]} heads, {said(*n, d, block, flags, **more)}"
    sizes = {"B": b, "H_Q": h[0], "H_KV": h[1], "N_Q": n[0], "N_KV": n[1], "D": d}
    return Case(name, sizes, {"BLOCK_M": block[0], "BLOCK_N": block[1]}, flags=flags, **more)


def _built(row: Row, n_q: int, n_kv: int) -> Case:
    more = built(row)
    more["flags"] |= {"IS_CAUSAL": row["causal"], "RAGGED": row["ragged"]}
    return _case(row["batches"], row["heads"], (n_q, n_kv), row["d"], row["tile"], **more)


_FACTORS = {
    "heads": ((2, 2), (4, 2), (10, 2), (8, 1)),
    "batches": (1, 2, 3),
    **FACTORS,
    "layout": ("strided", "transposed", "contiguous"),
    "causal": (True, False),
    "ragged": (0, 1, 2),
}


def _allowed(row: Row) -> bool:
    """Not many heads and many tiles."""
    programs = row["batches"] * row["heads"][0]
    if programs > 4 and row["family"] in TILES_OF_KEYS:
        return False
    return programs <= (10 if row["more"] == "keys" else 4)


_STRIDES = tuple(
    f"stride_{name}{axis}" for name, axes in zip("qkvo", ("bhmd", "bhnd", "bhnd", "bhmd"), strict=True) for axis in axes
)


def _grouped_heads(draw: Random, number: int, sizes: slips.Sizes) -> slips.Flags:
    shared, h_kv = draw.choice((1, 2, 3)), draw.choice((1, 2))
    sizes |= {"B": draw.choice((1, 2, 3)), "H_Q": shared * h_kv, "H_KV": h_kv}
    return {"IS_CAUSAL": number % 3 > 0, "RAGGED": (sizes["B"] > 1 and number % 2 == 0) * draw.choice((1, 2))}


def _one_key_head_each(case: Case) -> bool:
    return _full_texts(case) and case.sizes["H_Q"] == case.sizes["H_KV"]


def _full_texts(case: Case) -> bool:
    return not case.flags["IS_CAUSAL"] and not case.flags["RAGGED"]


def _something_to_see(case: Case) -> bool:
    return not case.flags["RAGGED"] and (not case.flags["IS_CAUSAL"] or case.sizes["N_Q"] <= case.sizes["N_KV"])


_OUTPUT = ("o_ptr",)
PARTS = (
    Part("heads", "several heads and texts, any strides", _one_key_head_each, _OUTPUT),
    Part("groups", "query heads share key heads", _full_texts, _OUTPUT),
    Part("causal", "no query sees a later key", _something_to_see, _OUTPUT),
    Part("lengths", "texts of different lengths, and queries that see nothing", lambda case: True, _OUTPUT),
    Part("lse", "the log-sum-exp", lambda case: True, ("o_ptr", "lse_ptr")),
)


PUZZLE = Puzzle(
    name="flash_attention_heads",
    title="FlashAttention as models use it",
    kernel="flash_attention_heads_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr", "key_lengths_ptr"),
        *_STRIDES,
        *("scale", "H_Q", "H_KV", "N_Q", "N_KV", "IS_CAUSAL", "BLOCK_M", "BLOCK_N", "D"),
    ),
    notebook="07_attention_as_models_use_it",
    points=8,
    outputs=("o_ptr", "lse_ptr"),
    statement="Attention over batches and heads: any strides, query heads that share key heads, a causal mask with the ends"
    " aligned, keys padded to key_lengths[b], and the log-sum-exp stored. A query that sees no key gives 0 and a "
    "log-sum-exp of -inf.",
    cases=(
        *covered(_built, _FACTORS, _allowed),
        _case(1, (1, 1), (1, 1), 16, (16, 16)),
        _case(1, (3, 3), (5, 23), 16, (16, 16)),
        _case(3, (2, 1), (1, 90), 64, (16, 16), {"RAGGED": 1}, dtype="float16", family="score_pairs_in_sight"),
        _case(2, (2, 1), (1, 45), 128, (16, 16), {"IS_CAUSAL": True}, dtype="bfloat16", layout="transposed"),
        _case(2, (1, 1), (48, 80), 16, (32, 64), {"RAGGED": 1}),  # 16 divides every size, a tile divides none
        _case(1, (1, 1), (37, 1), 16, (16, 16), {"IS_CAUSAL": True}, layout="strided"),
        _case(1, (1, 1), (270, 20), 16, (16, 16), {"IS_CAUSAL": True}, family="score_pairs_in_sight"),
        _case(9, (2, 1), (5, 23), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, family="score_pairs_in_sight"),
        _case(1, (1, 1), (16, 445), 16, (16, 16), {"SCALE": OTHER_SCALE}, family="score_triples"),
        # so many terms that no sum in 16 bits holds them
        _case(1, (1, 1), (2, 649), 64, (16, 16), dtype="float16", family="spike"),
        _case(1, (1, 1), (2, 2083), 64, (64, 32), dtype="bfloat16", family="spike", layout="strided"),
        _case(1, (1, 1), (9, 75), 16, (16, 16), family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 64, (16, 16), {"IS_CAUSAL": True}, dtype="float16", family="extreme_scores"),
        _case(1, (1, 1), (9, 75), 128, (16, 16), dtype="bfloat16", family="extreme_scores"),
        _case(1, (1, 1), (5, 61), 16, (16, 16), {"IS_CAUSAL": True}, family="vast_scores", devices=CPU),
        _case(3, (1, 1), (19, 41), 16, (16, 16), {"RAGGED": 1}, family="constant"),
        _case(
            1, (1, 1), (5, 1), 16, (16, 16), family="constant"
        ),  # a sum of exactly 1: its logarithm is 0 and nothing else
        _case(1, (1, 1), (19, 263), 32, (32, 64), dtype="bfloat16", family="constant"),
        _case(1, (1, 1), (19, 263), 128, (32, 64), {"IS_CAUSAL": True}, dtype="float16", family="constant"),
        # mistakes that show only in few cases asked for these: `make mutants ARGS=--guarded`
        _case(3, (3, 1), (2, 1), 16, (32, 16), {"IS_CAUSAL": True}, dtype="bfloat16", layout="strided"),
        _case(3, (1, 1), (17, 2), 16, (32, 64), {"IS_CAUSAL": True, "RAGGED": 1}, layout="strided"),
        _case(
            1,
            (8, 1),
            (61, 22),
            16,
            (32, 32),
            {"IS_CAUSAL": True, "RAGGED": 1, "SCALE": OTHER_SCALE},
            layout="transposed",
        ),
        _case(3, (3, 1), (48, 1), 16, (128, 32), {"RAGGED": 1}, family="constant", layout="strided"),
        _case(2, (3, 1), (20, 700), 16, (16, 64), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="strided"),
        _case(1, (2, 2), (27, 9), 128, (32, 16), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="strided"),
        _case(3, (3, 1), (64, 23), 16, (64, 32), {"IS_CAUSAL": True}, dtype="bfloat16", layout="strided"),
        _case(
            2, (3, 1), (277, 37), 16, (16, 16), {"IS_CAUSAL": True, "RAGGED": 1}, dtype="float16", layout="transposed"
        ),
        _case(
            2,
            (8, 2),
            (400, 431),
            64,
            (64, 32),
            {"IS_CAUSAL": True, "RAGGED": 1},
            devices=GPU,
            family="score_pairs_in_sight",
        ),
        _case(
            2, (8, 8), (631, 577), 64, (64, 64), {"IS_CAUSAL": True}, devices=GPU, dtype="float16", layout="transposed"
        ),
        _case(1, (8, 2), (1024, 1024), 128, (64, 64), {"IS_CAUSAL": True}, devices=GPU, dtype="bfloat16"),
        _case(
            3,
            (4, 1),
            (512, 2048),
            128,
            (64, 32),
            {"RAGGED": 2, "SCALE": OTHER_SCALE},
            devices=GPU,
            dtype="bfloat16",
            family="score_pairs",
            layout="strided",
        ),
    ),
    make=make,
    reference=reference,
    launch=launch,
    budget=budget,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance={"lse_ptr": STATISTICS},
    hint=Hint(
        question="Four query heads share two key heads: which key head does query head 3 use? Three queries stand at the end of five "
        "keys: which keys may the first of them see?",
        idea="Key head = head // (H_Q // H_KV). Query i sees key j when j - i <= N_KV - N_Q, and j < key_lengths[batch]. So the loop may "
        "stop early: no query of the tile sees past (pid_m + 1) * BLOCK_M + N_KV - N_Q. A row that has seen nothing has m_new = -inf: "
        "subtract 0 instead, and divide by 1 where l_i is 0.",
        skeleton="batch, head = ...\nhead_kv = ...\nend_n = tl.minimum(tl.load(key_lengths_ptr + batch), N_KV)\nlength = end_n\n"
        "if IS_CAUSAL:\n    end_n = tl.minimum(end_n, ...)\nfor start_n in range(0, end_n, BLOCK_N):\n    ...\n    seen = ...\n"
        "    s = tl.where(seen, s, float('-inf'))\n    m_new = ...\n    m_safe = tl.where(m_new == float('-inf'), 0.0, m_new)\n    ...\n"
        "tl.store(...)  # o\ntl.store(...)  # m_i + log(l), per query",
    ),
    explanation="Heads only choose where a program's rows start; grouped heads share keys, so consecutive heads read the same K and V. "
    "Under a causal mask the tiles above the diagonal hold nothing, and not loading them halves the work. The log-sum-exp m + log(l) "
    "is all that the backward pass needs to rebuild any score's weight without the matrix.",
    long=(
        Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "batch"),
        Long(("q_ptr", "o_ptr"), "head", (1,)),
        Long(("k_ptr", "v_ptr"), "head", (1,)),
        Long(("q_ptr", "o_ptr"), "query", (2,)),
        Long(("k_ptr", "v_ptr"), "key", (2,)),
    ),
    film=FilmSpec(
        case=_case(1, (1, 1), (128, 128), 16, (32, 32), {"IS_CAUSAL": True}, family="ramp"),
        diagram=attention_diagram(running(_visible, _head_kv), ("lse_ptr",)),
        state={"m_i": "running max", "l_i": "running sum", "acc": "accumulator", "s": "scores of this tile"},
        choices={"N_Q": (64, 128), "N_KV": (64, 128, 160), "BLOCK_M": (16, 32), "BLOCK_N": (16, 32)},
    ),
    drawn=drawn(_built, _FACTORS, _allowed),
    parts=PARTS,
    slips=slips.attention(("contiguous", "transposed", "strided"), _grouped_heads),
)
