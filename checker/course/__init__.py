"""The puzzles, one file each, and their order."""

from __future__ import annotations

from checker.course import (
    attention_delta,
    attention_dkdv,
    attention_dq,
    causal_linear_attention,
    causal_linear_attention_chunked,
    causal_linear_attention_parallel,
    chunked_softmax,
    flash_attention,
    flash_attention_fast,
    flash_attention_heads,
    flash_attention_v1,
    linear_attention,
    linear_chunk_states,
    linear_state_prefix,
    merge_softmax_stats,
    online_softmax,
    row_softmax,
    softmax_backward,
    tiled_softmax,
    vector_add,
)
from checker.puzzle import Puzzle

LADDER: tuple[Puzzle, ...] = (
    vector_add.PUZZLE,
    row_softmax.PUZZLE,
    chunked_softmax.PUZZLE,
    online_softmax.PUZZLE,
    merge_softmax_stats.PUZZLE,
    tiled_softmax.PUZZLE,
    flash_attention.PUZZLE,
    flash_attention_v1.PUZZLE,
    flash_attention_heads.PUZZLE,
    softmax_backward.PUZZLE,
    attention_delta.PUZZLE,
    attention_dkdv.PUZZLE,
    attention_dq.PUZZLE,
    linear_attention.PUZZLE,
    causal_linear_attention.PUZZLE,
    causal_linear_attention_chunked.PUZZLE,
    linear_chunk_states.PUZZLE,
    linear_state_prefix.PUZZLE,
    causal_linear_attention_parallel.PUZZLE,
    flash_attention_fast.PUZZLE,
)
"""All puzzles in the order they are taught."""

PUZZLES: dict[str, Puzzle] = {puzzle.name: puzzle for puzzle in LADDER}
KERNELS: dict[str, Puzzle] = {puzzle.kernel: puzzle for puzzle in LADDER}

RENAMED: dict[str, tuple[str, ...]] = {
    "05_flash_attention": ("05_flash_attention", "06_other_loop_order", "07_attention_as_models_use_it"),
    "08_linear_attention": ("10_linear_attention", "11_in_chunks", "12_few_heads"),
}
"""Notebooks that were split, and their successors. Progress is stored by puzzle, so it still counts."""


def after(name: str) -> Puzzle | None:
    """The puzzle after the one called `name`; None after the last one and for an unknown name."""
    names = list(PUZZLES)
    return dict(zip(names, LADDER[1:], strict=False)).get(name)
