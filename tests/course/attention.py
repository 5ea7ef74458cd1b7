"""Cases of attention by the names of their families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checker.course import attention_values
from checker.course.attention_gradients import many_small
from checker.course.attention_heads import FLAGS
from checker.puzzle import NORMAL, Case, Scalar

FAMILIES = {family.name: family for family in (NORMAL, *attention_values.FAMILIES, many_small)}
TILE = {"BLOCK_M": 16, "BLOCK_N": 16}


def one_head(n_q: int, n_kv: int, d: int, *, family: str = "normal", **more: Any) -> Case:
    return Case({"N_Q": n_q, "N_KV": n_kv, "D": d}, TILE, family=FAMILIES[family], **more)


def heads_case(
    b: int,
    heads: tuple[int, int],
    n: tuple[int, int],
    d: int,
    tile: int = 16,
    flags: Mapping[str, Scalar] | None = None,
    family: str = "normal",
    **more: Any,
) -> Case:
    """A case of B batches, `heads` = (H_Q, H_KV) and `n` = (N_Q, N_KV), neither causal nor ragged unless `flags` say so."""
    sizes = {"B": b, "H_Q": heads[0], "H_KV": heads[1], "N_Q": n[0], "N_KV": n[1], "D": d}
    meta = {"BLOCK_M": tile, "BLOCK_N": tile}
    return Case(sizes, meta, family=FAMILIES[family], flags={**FLAGS, **(flags or {})}, **more)
