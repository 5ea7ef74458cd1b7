"""The puzzles, one file each, and their order."""

from __future__ import annotations

from importlib import import_module

from checker.puzzle import Puzzle

ORDER = (
    *("vector_add", "row_softmax", "chunked_softmax", "online_softmax", "merge_softmax_stats"),
    *("tile_copy", "tiled_softmax"),
    *("score_tile", "flash_attention", "flash_attention_v1", "flash_attention_heads"),
    *("flash_attention_window", "decode_attention_split", "merge_attention_splits"),
    "decode_attention_paged",
    *("softmax_backward", "attention_delta", "attention_dkdv", "attention_dq"),
    *("linear_attention", "causal_linear_attention", "causal_linear_attention_chunked"),
    *("linear_chunk_states", "linear_state_prefix", "causal_linear_attention_parallel"),
    *("decay_linear_attention_chunked", "delta_rule_recurrent"),
    *("delta_chunk_matrix", "triangular_inverse", "delta_chunk_values", "delta_chunk_walk"),
    "flash_attention_fast",
)
"""The order in which the puzzles are taught. Each has a file here and a page beside it."""

LADDER: tuple[Puzzle, ...] = tuple(import_module(f"{__name__}.{name}").PUZZLE for name in ORDER)
PUZZLES: dict[str, Puzzle] = {puzzle.name: puzzle for puzzle in LADDER}
KERNELS: dict[str, Puzzle] = {puzzle.kernel: puzzle for puzzle in LADDER}


def after(name: str) -> Puzzle | None:
    """The puzzle after the one called `name`; None after the last one and for an unknown name."""
    return dict(zip(ORDER, LADDER[1:], strict=False)).get(name)
