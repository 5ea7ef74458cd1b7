"""Cases that mutants are tried on beside the course's own: other sizes, tiles, families, dtypes and layouts, the same every time.

A mutant that passes its puzzle's cases is *equivalent* only where it does here, too, what the solution does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from checker.course import LADDER
from checker.puzzle import Case, Puzzle

EXTRA = 16
"""Cases drawn for each puzzle."""
Draw = Callable[[Puzzle, random.Random, int], Case]


def extra_cases(puzzle: Puzzle) -> list[Case]:
    """The same every time: sizes around the tile's, every family, dtype and layout, tiles of other shapes."""
    draw = random.Random(puzzle.name)
    return [_DRAWN[puzzle.name](puzzle, draw, number) for number in range(EXTRA)]


def _softmax(puzzle: Puzzle, draw: random.Random, number: int) -> Case:
    n = draw.choice((1, 2, 7, 8, 16, 23, 32, 48, 65, 131))
    sizes = {"M": draw.choice((1, 2, 3, 4, 6, 8, 9)), "N": n}
    meta = {name: draw.choice((4, 8, 16, 32)) for name in puzzle.cases[0].meta}
    families = ["normal", "negative", "deep", "positive", "ascending", "descending", "one_hot", "constant", "masked"]
    families += ["late_max", "early_max", "first_chunk_masked", "uneven", "masked_then_deep", "abyss"]
    match puzzle.name:
        case "vector_add":
            sizes, families = {"N": n}, ["normal"]
        case "row_softmax":
            meta = {"BLOCK_N": 1 << (n - 1).bit_length() << draw.choice((0, 0, 1))}
        case "merge_softmax_stats":
            sizes["SPLITS"] = draw.choice((1, 2, 4, 7, 8, 11))
            meta = {"BLOCK_S": 1 << (sizes["SPLITS"] - 1).bit_length() << draw.choice((0, 0, 1))}
            families += ["empty", "empty"]
    family = families[number] if number < len(families) else draw.choice(families)
    wide = family in ("abyss", "uneven") or draw.random() < 0.6
    dtype = "float32" if wide else draw.choice(sorted(puzzle.tolerance))
    layout = draw.choice(("contiguous", "padded"))
    name = f"extra {number}: {sizes}, {meta}, {dtype}, {family} rows, {layout}"
    return Case(name, sizes, meta, dtype, family, layout, seed=1000 + number)


def _attention(puzzle: Puzzle, draw: random.Random, number: int) -> Case:
    """As `_softmax`, in the sizes of attention: more keys than queries and fewer, grouped heads, causal, ragged, transposed."""
    lengths = (1, 2, 15, 16, 17, 23, 33, 45, 64, 71, 90)
    sizes = {"N_Q": draw.choice(lengths), "N_KV": draw.choice(lengths), "D": draw.choice((16, 16, 32, 64, 128))}
    meta = {"BLOCK_M": draw.choice((16, 32, 64)), "BLOCK_N": draw.choice((16, 32, 64))}
    flags: dict[str, int | float | bool] = {}
    layouts: list[str] = []
    match puzzle.name:
        case "flash_attention":
            layouts = ["contiguous", "padded"]
        case "flash_attention_v1":
            sizes["H"], layouts = draw.choice((1, 2, 3)), ["contiguous", "padded"]
        case "flash_attention_heads":
            shared, h_kv = draw.choice((1, 2, 3)), draw.choice((1, 2))
            sizes |= {"B": draw.choice((1, 2, 3)), "H_Q": shared * h_kv, "H_KV": h_kv}
            flags = {"IS_CAUSAL": number % 3 > 0, "RAGGED": sizes["B"] > 1 and number % 2 == 0}
            layouts = ["contiguous", "transposed", "strided"]
    families = ["normal", "ramp", "rising", "huge", "negative", "positive", "constant", "sink", "abyss"]
    family = families[number] if number < len(families) else draw.choice(families)
    # float16 cannot hold such numbers, and bfloat16 would say nothing that float32 does not
    dtype = "float32" if family in ("huge", "abyss") or draw.random() < 0.5 else draw.choice(sorted(puzzle.tolerance))
    layout = draw.choice(layouts)
    said = [str(sizes), str(meta), *([str(flags)] if flags else []), dtype, f"{family} scores", layout]
    return Case(
        f"extra {number}: {', '.join(said)}", sizes, meta, dtype, family, layout, seed=1000 + number, flags=flags
    )


def _linear_attention(puzzle: Puzzle, draw: random.Random, number: int) -> Case:
    """Linear attention: values wider than keys and narrower, slices that they do not fill, a text that came before, padded keys."""
    lengths = (1, 2, 5, 15, 16, 17, 23, 31, 33, 47, 65)
    sizes = {"B": draw.choice((1, 2, 3)), "H": draw.choice((1, 1, 2, 3))}
    sizes |= {"D": draw.choice((16, 16, 32, 64)), "D_V": draw.choice((8, 12, 16, 17, 24, 33, 40))}
    meta = {name: draw.choice((16, 16, 32) if name == "BLOCK_V" else (16, 32, 64)) for name in puzzle.cases[0].meta}
    flags: dict[str, int | float | bool] = {}
    match puzzle.name:
        case "linear_attention":
            sizes |= {"N_Q": draw.choice(lengths), "N_KV": draw.choice(lengths)}
            flags = {"RAGGED": number % 2 == 0}
        case "causal_linear_attention":  # simulated token by token
            sizes["N"], flags = draw.choice(lengths[:8]), {"PAST": draw.choice((0, 3, 11))}
        case _:
            sizes["N"], flags = draw.choice(lengths), {"PAST": draw.choice((0, 3, 11))}
    families = ["normal", "growing", "constant", "warm", "hot", "cold", "frozen", "half_frozen", "huge", "signs"]
    families += ["outlier"]
    family = families[number] if number < len(families) else draw.choice(families)
    # products of such small features vanish in 16 bits
    small = family in ("cold", "frozen", "half_frozen")
    dtype = "float32" if small or draw.random() < 0.5 else draw.choice(sorted(puzzle.tolerance))
    layout = draw.choice(("contiguous", "padded"))
    name = f"extra {number}: {sizes}, {meta}, {flags}, {dtype}, {family} inputs, {layout}"
    return Case(name, sizes, meta, dtype, family, layout, seed=1000 + number, flags=flags)


def _prefix(puzzle: Puzzle, draw: random.Random, number: int) -> Case:
    sizes = {"G": draw.choice((1, 2, 3, 5)), "N_CHUNKS": draw.choice((1, 2, 3, 5, 8, 16, 17))}
    sizes["SIZE"] = draw.choice((1, 7, 8, 15, 16, 17, 24, 32, 65))
    meta: dict[str, Any] = {"BLOCK_SIZE": draw.choice((8, 16, 32, 64))}
    family = ("normal", "counting", "huge")[number % 3]
    return Case(f"extra {number}: {sizes}, {meta}, {family} numbers", sizes, meta, family=family, seed=1000 + number)


_DRAWN: dict[str, Draw] = {
    **dict.fromkeys(
        ("vector_add", "row_softmax", "chunked_softmax", "online_softmax", "merge_softmax_stats"), _softmax
    ),
    "tiled_softmax": _softmax,
    **dict.fromkeys(("flash_attention", "flash_attention_v1", "flash_attention_heads"), _attention),
    **dict.fromkeys(("linear_attention", "causal_linear_attention"), _linear_attention),
    **dict.fromkeys(("causal_linear_attention_chunked", "linear_chunk_states"), _linear_attention),
    "linear_state_prefix": _prefix,
    "causal_linear_attention_parallel": _linear_attention,
}
"""Who draws the cases of which puzzle."""
SWEPT: tuple[Puzzle, ...] = tuple(puzzle for puzzle in LADDER if puzzle.name in _DRAWN)
"""The puzzles whose solutions are mutated: those that somebody here draws cases for."""
