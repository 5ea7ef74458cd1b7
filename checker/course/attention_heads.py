"""Attention as models use it, which five puzzles share: batches, heads that share keys, causal masks, lengths, any layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.authoring.covering import Row
from checker.course.attention_cases import FACTORS, SCALED, TILES_OF_KEYS, values_of
from checker.course.attention_inputs import attention, queries_keys_values, scale_of
from checker.course.family_words import case_of
from checker.puzzle import DTYPES, Allowance, Case, Launch, Long, Part, Scalar, Tensors

AXES = {"q": "bhmd", "k": "bhnd", "v": "bhnd", "o": "bhmd", "do": "bhmd", "dq": "bhmd", "dk": "bhnd", "dv": "bhnd"}
"""The last letters of each tensor's strides, by dimension."""
_ORDERS = {
    "strided": {
        "q_ptr": ((0, 2, 1, 3), 2, 8),
        "k_ptr": ((0, 1, 3, 2), 1, 5),
        "v_ptr": ((1, 0, 2, 3), 3, 0),
        "o_ptr": ((2, 0, 1, 3), 4, 0),
        "do_ptr": ((1, 2, 0, 3), 3, 4),
        "dq_ptr": ((2, 1, 0, 3), 2, 3),
        "dk_ptr": ((2, 0, 1, 3), 3, 7),
        "dv_ptr": ((1, 0, 3, 2), 2, 1),
    },
    "apart": {
        "q_ptr": ((0, 2, 1, 3), 1, 8),
        "k_ptr": ((1, 0, 2, 3), 1, 16),
        "v_ptr": ((2, 0, 1, 3), 1, 24),
        "o_ptr": ((2, 1, 0, 3), 1, 40),
    },
}
"""For a layout and a tensor: the order of its dimensions in memory, the step of the last one, and the gap after it, in elements."""
MIXED = ("mixed 1", "mixed 2", "mixed 3", "mixed 4")
_STRIDED_IN = {
    "q_ptr": (1, 2),
    "k_ptr": (3, 4),
    "v_ptr": (1, 3),
    "o_ptr": (1, 4),
    "do_ptr": (2, 3),
    "dq_ptr": (2, 4),
    "dk_ptr": (2, 4),
    "dv_ptr": (1, 4),
}
"""The mixed layouts in which a tensor is strided. No two tensors of a puzzle have the same, so each is strided where each other is not."""
CAUSAL, RAGGED, FULL = {"IS_CAUSAL": True}, {"RAGGED": 1}, {"RAGGED": 2}
CAUSAL_RAGGED, CAUSAL_FULL, FULL_SCALED = CAUSAL | RAGGED, CAUSAL | FULL, FULL | SCALED
"""Flags of cases. RAGGED and FULL are the two ways in which batches differ in length: inside a tile, and by whole tiles (`key_lengths`)."""


def sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV, D. Raises ValueError where the query heads do not fall into equal groups."""
    b, h_q, h_kv, n_q, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_Q", "N_KV", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    return b, h_q, h_kv, n_q, n_kv, d


def laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """`x` [B, H, N, D] in the case's layout. Raises ValueError for an unknown one.

    - `transposed`: [B, N, H, D] in memory, the layout a projection leaves behind.
    - `roomy`: part of a larger buffer. All tensors have the same row stride, but different strides of heads and batches.
    - `strided`: each tensor has its own order in memory, and gaps, so no stride can be left out or replaced by another tensor's.
      Keys lie as in a cache, D before N.
    - `apart`: the same, but with each row contiguous and all other strides multiples of 16 bytes, as a tensor descriptor needs.
    - `mixed 1` to `mixed 4`: some tensors are strided, the others contiguous. Between them the four layouts have each tensor strided
      beside each other one that is contiguous.
    """
    layout = case.layout
    if layout in MIXED:
        layout = "strided" if 1 + MIXED.index(layout) in _STRIDED_IN[name] else "contiguous"
    match layout:
        case "contiguous":
            return x.contiguous()
        case "transposed":
            b, h, n, d = x.shape
            return x.new_empty(b, n, h, d).transpose(1, 2).copy_(x)  # of one head too, its stride is D
        case "roomy":
            room = 1 + list(_ORDERS["strided"]).index(name)
            wide = x.new_full((x.shape[0], x.shape[1] + room, x.shape[2] + 2 * room, x.shape[3]), torch.nan)
            return wide[:, : x.shape[1], : x.shape[2]].copy_(x)
        case "strided" | "apart":
            order, step, gap = _ORDERS[layout][name]
            along = x.permute(order)
            wide = torch.full((*along.shape[:-1], along.shape[-1] * step + gap), torch.nan, dtype=x.dtype)
            wide[..., : along.shape[-1] * step : step] = along
            back = sorted(range(4), key=order.__getitem__)
            return wide[..., : along.shape[-1] * step : step].permute(back)
        case other:
            raise ValueError(f"no layout is called {other!r}")


def key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: the number of keys of each batch, N_KV unless ``case.flags["RAGGED"]``.

    With RAGGED = 1 the batches in turn end inside a tile, have no key, and have all keys. With RAGGED = 2 they have full tiles,
    one key, and none.
    """
    n_kv, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
    tiles = -(-n_kv // block)
    inside = min(tiles // 2 * block + block // 2 + 1, max(1, 3 * n_kv // 4))
    full = min(max(tiles // 2, 1) * block, n_kv)
    turns = {0: (n_kv,), 1: (inside, 0, n_kv), 2: (full, 1, 0)}[int(case.flags.get("RAGGED", 0))]
    return torch.tensor([turns[b % len(turns)] for b in range(case.sizes["B"])], dtype=torch.int32)


def with_padding(k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """k and v with large numbers past each length, so that a kernel that counts padded keys gets a wrong result."""
    padding = (torch.arange(k.shape[2]) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    return torch.where(padding, k.amax(), k), torch.where(padding, -v.abs().amax(), v)


def seen(case: Case, lengths: torch.Tensor) -> torch.Tensor:
    """[B, 1, N_Q, N_KV], True where a query sees a key: below the batch's length and, if causal, not past the query (ends aligned)."""
    _, _, _, n_q, n_kv, _ = sizes(case)
    keys = torch.arange(n_kv)
    below = (keys < lengths[:, None])[:, None, None, :].expand(-1, 1, n_q, n_kv)
    return below & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q) if case.flags["IS_CAUSAL"] else below


def strides(tensors: Tensors, *names: str) -> dict[str, int]:
    """``stride_qb`` to ``stride_qd`` for ``"q"``, and so on, in elements."""
    every = [(name, i) for name in names for i in range(4)]
    return {f"stride_{name}{AXES[name][i]}": tensors[f"{name}_ptr"].stride(i) for name, i in every}


def stride_names(*names: str) -> tuple[str, ...]:
    return tuple(f"stride_{name}{axis}" for name in names for axis in AXES[name])


def long(*names: str) -> tuple[Long, ...]:
    """What has to be addressed in 64 bits: batches, heads, and rows of queries and of keys."""
    of_queries, of_keys = (tuple(f"{x}_ptr" for x in names if axis in AXES[x]) for axis in "mn")
    found = [Long(tuple(f"{x}_ptr" for x in names), "batch")]
    for axis, units in ((1, ("head", "head")), (2, ("query", "key"))):
        found += [Long(group, unit, (axis,)) for group, unit in zip((of_queries, of_keys), units, strict=True) if group]
    return tuple(found)


# ----------------------------------------------------------------------------------------------- the forward pass


def make(case: Case) -> Tensors:
    """q, o [B, H_Q, N_Q, D], k, v [B, H_KV, N_KV, D] in the case's dtype and layout, lse [B, H_Q, N_Q] and the key lengths [B]."""
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    q, k, v = queries_keys_values(case, (b, h_q, n_q, d), (b, h_kv, n_kv, d))
    lengths = key_lengths(case)
    k, v = with_padding(k, v, lengths)
    given = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": torch.zeros_like(q)}
    return {
        **{name: laid_out(x, case, name) for name, x in given.items()},
        "lse_ptr": torch.zeros(b, h_q, n_q, dtype=torch.float32),
        "key_lengths_ptr": lengths,
    }


def visible(case: Case, tensors: Tensors) -> torch.Tensor:
    """`seen` with the lengths among the tensors; without any, every batch has all keys."""
    return seen(case, tensors.get("key_lengths_ptr", key_lengths(case)))


def visible_to_head(case: Case, tensors: Tensors, at: tuple[int, ...]) -> torch.Tensor:
    """[N_Q, N_KV] of the query head ``at`` = (batch, head)."""
    return visible(case, tensors)[at[0], 0]


def key_head(case: Case, at: tuple[int, ...]) -> tuple[int, ...]:
    """(batch, key head) that the query head ``at`` = (batch, head) reads."""
    return (at[0], at[1] // (case.sizes["H_Q"] // case.sizes["H_KV"]))


def reference(case: Case, inputs: Tensors) -> Tensors:
    """Output and log-sum-exp in float64."""
    _, h_q, h_kv, _, _, _ = sizes(case)
    k, v = (inputs[name].repeat_interleave(h_q // h_kv, dim=1) for name in ("k_ptr", "v_ptr"))
    o, lse = attention(inputs["q_ptr"], k, v, scale_of(case), visible(case, inputs))
    return {"o_ptr": o, "lse_ptr": lse}


def launch(
    case: Case, tensors: Tensors, meta: Mapping[str, Scalar], outputs: tuple[str, ...], by_keys: bool = False
) -> Launch:
    """One program for each tile of queries of each head; with `by_keys`, for each tile of keys of each key head."""
    b, h_q, h_kv, n_q, n_kv, d = sizes(case)
    tiles = -(-n_kv // int(meta["BLOCK_N"])) if by_keys else -(-n_q // int(meta["BLOCK_M"]))
    with_strides = (name.removesuffix("_ptr") for name, x in tensors.items() if x.dim() == 4)
    counts = {"H_Q": h_q, "H_KV": h_kv, "N_Q": n_q, "N_KV": n_kv}
    return Launch(
        grid=(tiles, b * (h_kv if by_keys else h_q)),
        arguments={**tensors, **strides(tensors, *with_strides), "scale": scale_of(case), **counts},
        meta={**meta, "IS_CAUSAL": bool(case.flags["IS_CAUSAL"]), "D": d},
        outputs=outputs,
        options={"num_warps": 4, "num_stages": 2},
    )


def keys_loaded(case: Case) -> int:
    """Rows of K that all programs load together, if each loads the tiles that one of its queries may see."""
    _, h_q, _, n_q, n_kv, _ = sizes(case)
    block_m, block_n = case.meta["BLOCK_M"], case.meta["BLOCK_N"]
    keys = 0
    for length in key_lengths(case).tolist():
        for start_m in range(0, n_q, block_m):
            end = min(length, start_m + block_m + n_kv - n_q) if case.flags["IS_CAUSAL"] else length
            keys += h_q * min(length, -(-max(end, 0) // block_n) * block_n)
    return keys


def budget(case: Case, needed: str) -> dict[str, Allowance]:
    """Bytes of the forward pass. `needed` says why K and V may be loaded so often."""
    b, h_q, _, n_q, _, d = sizes(case)
    row, keys = d * DTYPES[case.dtype].itemsize, keys_loaded(case)
    once = "the output is written once, at the end, and never read: scores, weights and half-done rows stay on chip"
    return {
        "q_ptr": Allowance(b * h_q * n_q * row, 0, "a tile of queries is loaded once and kept"),
        "k_ptr": Allowance(keys * row, 0, needed),
        "v_ptr": Allowance(keys * row, 0, needed),
        "o_ptr": Allowance(0, b * h_q * n_q * row, once),
        "lse_ptr": Allowance(0, b * h_q * n_q * 4, "one number a query"),
    }


# ---------------------------------------------------------------------------------------------------------------- cases

FACTORS_OF_HEADS = {
    "heads": ((2, 2), (4, 2), (10, 2), (8, 1)),
    "batches": (1, 2, 3),
    **FACTORS,
    "layout": ("strided", "transposed", "contiguous"),
    "causal": (True, False),
    "ragged": (0, 1, 2),
}


def allowed(row: Row) -> bool:
    """Leaves out cases of many heads and many tiles, which take long."""
    programs = row["batches"] * row["heads"][0]
    if programs > 4 and row["family"] in TILES_OF_KEYS:
        return False
    return programs <= (10 if row["more"] == "keys" else 4)


def from_row(row: Row, n_q: int, n_kv: int) -> Case:
    """The case of one row of `FACTORS_OF_HEADS`."""
    more = values_of(row)
    more["flags"] |= {"IS_CAUSAL": row["causal"], "RAGGED": row.get("ragged", 0)}
    return heads_case(row["batches"], row["heads"], (n_q, n_kv), row["d"], row["tile"], **more)


def heads_case(
    b: int,
    h: tuple[int, int],
    n: tuple[int, int],
    d: int,
    block: tuple[int, int],
    flags: Mapping[str, Scalar] | None = None,
    **more: Any,
) -> Case:
    """A case of B batches, `h` = (H_Q, H_KV), `n` = (N_Q, N_KV), D and `block` = (BLOCK_M, BLOCK_N).

    It is neither causal nor ragged unless `flags` say so.
    """
    flags = {"IS_CAUSAL": False, "RAGGED": 0} | (dict(flags) if flags else {})
    sizes = {"B": b, "H_Q": h[0], "H_KV": h[1], "N_Q": n[0], "N_KV": n[1], "D": d}
    return case_of(sizes, {"BLOCK_M": block[0], "BLOCK_N": block[1]}, flags=flags, **more)


def _one_key_head_each(case: Case) -> bool:
    return _all_keys_visible(case) and case.sizes["H_Q"] == case.sizes["H_KV"]


def _all_keys_visible(case: Case) -> bool:
    return not case.flags["IS_CAUSAL"] and not case.flags.get("RAGGED")


def _every_query_sees_a_key(case: Case) -> bool:
    return not case.flags.get("RAGGED") and (not case.flags["IS_CAUSAL"] or case.sizes["N_Q"] <= case.sizes["N_KV"])


def parts(*outputs: str) -> tuple[Part, ...]:
    """The order in which a kernel with heads is written: what each part is judged on."""
    return (
        Part("heads", "several heads and texts, any strides", _one_key_head_each, outputs),
        Part("groups", "query heads share key heads", _all_keys_visible, outputs),
        Part("causal", "no query sees a later key", _every_query_sees_a_key, outputs),
        Part("lengths", "texts of different lengths, and queries that see nothing", lambda case: True, outputs),
    )
