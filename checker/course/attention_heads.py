"""The setting of attention as models use it: batches, heads that share keys, causal masks, lengths, and tensors in any layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.course.attention_cases import said
from checker.puzzle import Case, Part, Scalar, Tensors

AXES = {"q": "bhmd", "k": "bhnd", "v": "bhnd", "o": "bhmd", "do": "bhmd", "dq": "bhmd", "dk": "bhnd", "dv": "bhnd"}
"""Of a tensor, the letters that its strides end in."""
_STRIDED = {
    "q_ptr": ((0, 2, 1, 3), 2, 8),
    "k_ptr": ((0, 1, 3, 2), 1, 5),
    "v_ptr": ((1, 0, 2, 3), 3, 0),
    "o_ptr": ((2, 0, 1, 3), 4, 0),
    "do_ptr": ((1, 2, 0, 3), 3, 4),
    "dq_ptr": ((2, 1, 0, 3), 2, 3),
    "dk_ptr": ((2, 0, 1, 3), 3, 7),
    "dv_ptr": ((1, 0, 3, 2), 2, 1),
}
"""Of a strided layout, for each tensor: the order of its dimensions in memory, the step of the last one, and the gap after it."""


def sizes(case: Case) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV, D. Raises ValueError where the query heads do not fall into equal groups."""
    b, h_q, h_kv, n_q, n_kv, d = (case.sizes[name] for name in ("B", "H_Q", "H_KV", "N_Q", "N_KV", "D"))
    if h_q % h_kv:
        raise ValueError(f"{h_q} query heads cannot share {h_kv} key heads evenly")
    return b, h_q, h_kv, n_q, n_kv, d


def laid_out(x: torch.Tensor, case: Case, name: str) -> torch.Tensor:
    """[B, H, N, D] in memory as the case says.

    `transposed` lies as [B, N, H, D], the layout a projection leaves behind. `roomy`: parts of larger buffers, whose rows are as far
    apart in every tensor, but not whose heads and batches. `strided`: every tensor in an order of its own,
    with gaps, so that no stride can be taken for another tensor's or left out; keys as caches hold them, D before N.
    """
    match case.layout:
        case "contiguous":
            return x.contiguous()
        case "transposed":
            b, h, n, d = x.shape
            return x.new_empty(b, n, h, d).transpose(1, 2).copy_(x)  # of one head too, its stride is D
        case "roomy":
            room = 1 + list(_STRIDED).index(name)
            wide = x.new_full((x.shape[0], x.shape[1] + room, x.shape[2] + 2 * room, x.shape[3]), torch.nan)
            return wide[:, : x.shape[1], : x.shape[2]].copy_(x)
        case "strided":
            order, step, gap = _STRIDED[name]
            along = x.permute(order)
            wide = torch.full((*along.shape[:-1], along.shape[-1] * step + gap), torch.nan, dtype=x.dtype)
            wide[..., : along.shape[-1] * step : step] = along
            back = sorted(range(4), key=order.__getitem__)
            return wide[..., : along.shape[-1] * step : step].permute(back)
        case other:
            raise ValueError(f"no layout is called {other!r}")


def key_lengths(case: Case) -> torch.Tensor:
    """[B] int32: all keys, unless the case is ragged. Then batches in turn have some keys that end inside a tile, none, and all;
    or, where ``case.flags["RAGGED"]`` is 2, full tiles, one key, and none.
    """
    n_kv, block = case.sizes["N_KV"], case.meta["BLOCK_N"]
    tiles = -(-n_kv // block)
    inside = min(tiles // 2 * block + block // 2 + 1, max(1, 3 * n_kv // 4))
    full = min(max(tiles // 2, 1) * block, n_kv)
    turns = {0: (n_kv,), 1: (inside, 0, n_kv), 2: (full, 1, 0)}[int(case.flags.get("RAGGED", 0))]
    return torch.tensor([turns[b % len(turns)] for b in range(case.sizes["B"])], dtype=torch.int32)


def with_padding(k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded keys hold numbers, as large as any: whoever counts them is seen."""
    padding = (torch.arange(k.shape[2]) >= lengths[:, None])[:, None, :, None]  # [B, 1, N_KV, 1]
    return torch.where(padding, k.amax(), k), torch.where(padding, -v.abs().amax(), v)


def seen(case: Case, lengths: torch.Tensor) -> torch.Tensor:
    """[B, 1, N_Q, N_KV]: keys below the length of their batch and, under a causal mask, not past the query, the ends aligned."""
    _, _, _, n_q, n_kv, _ = sizes(case)
    keys = torch.arange(n_kv)
    below = (keys < lengths[:, None])[:, None, None, :].expand(-1, 1, n_q, n_kv)
    return below & (keys - torch.arange(n_q)[:, None] <= n_kv - n_q) if case.flags["IS_CAUSAL"] else below


def strides(tensors: Tensors, *names: str) -> dict[str, int]:
    """``stride_qb`` … ``stride_qd`` for ``"q"``, and so on."""
    return {f"stride_{name}{axis}": tensors[f"{name}_ptr"].stride(i) for name in names for i, axis in enumerate(AXES[name])}  # fmt: skip


def stride_names(*names: str) -> tuple[str, ...]:
    return tuple(f"stride_{name}{axis}" for name in names for axis in AXES[name])


def heads_case(
    b: int,
    h: tuple[int, int],
    n: tuple[int, int],
    d: int,
    block: tuple[int, int],
    flags: Mapping[str, Scalar] | None = None,
    **more: Any,
) -> Case:
    """B, H_Q and H_KV, N_Q and N_KV, D, BLOCK_M and BLOCK_N; neither causal nor ragged unless the flags say so."""
    flags = {"IS_CAUSAL": False, "RAGGED": 0} | (dict(flags) if flags else {})
    name = f"{b} × {h[0]}/{h[1]} heads, {said(*n, d, block, flags, **more)}"
    sizes = {"B": b, "H_Q": h[0], "H_KV": h[1], "N_Q": n[0], "N_KV": n[1], "D": d}
    return Case(name, sizes, {"BLOCK_M": block[0], "BLOCK_N": block[1]}, flags=flags, **more)


def _one_key_head_each(case: Case) -> bool:
    return _full_texts(case) and case.sizes["H_Q"] == case.sizes["H_KV"]


def _full_texts(case: Case) -> bool:
    return not case.flags["IS_CAUSAL"] and not case.flags["RAGGED"]


def _something_to_see(case: Case) -> bool:
    return not case.flags["RAGGED"] and (not case.flags["IS_CAUSAL"] or case.sizes["N_Q"] <= case.sizes["N_KV"])


def parts(*outputs: str) -> tuple[Part, ...]:
    return (
        Part("heads", "several heads and texts, any strides", _one_key_head_each, outputs),
        Part("groups", "query heads share key heads", _full_texts, outputs),
        Part("causal", "no query sees a later key", _something_to_see, outputs),
        Part("lengths", "texts of different lengths, and queries that see nothing", lambda case: True, outputs),
    )
