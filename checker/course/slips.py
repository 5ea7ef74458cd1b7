"""What the mutants of a family of puzzles need: random cases besides the puzzle's own, and names that are easily confused.

`tools/mutations.py` and `tools/mutate.py` use them. The cases have other sizes, tiles, families, dtypes and layouts than the puzzle's
own. A puzzle passes a function for what is special in its cases, such as heads, flags, or a tile that must hold a whole row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from checker.course import guards
from checker.puzzle import FAR, Case, Guard, Puzzle, Scalar, Slips

Sizes = dict[str, int]
Flags = dict[str, Scalar]


def names(*groups: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split()) for group in groups)


def drawn_dtype(puzzle: Puzzle, draw: Random, wide: bool, share: float) -> str:
    """float32 if only it can hold the numbers (`wide`), otherwise with probability `share`."""
    return "float32" if wide or draw.random() < share else draw.choice(sorted(puzzle.tolerance))


def drawn_family(families: Sequence[str], draw: Random, number: int) -> str:
    """Each family once, then a random one."""
    return families[number] if number < len(families) else draw.choice(families)


def _case(
    number: int, sizes: Sizes, meta: Sizes, dtype: str, family: str, layout: str, noun: str, flags: Flags | None = None
) -> Case:
    """The case of a draw. Its name says everything, and `noun` what the family's numbers are."""
    flags = flags or {}
    words = [str(sizes), str(meta), *([str(flags)] if flags else []), dtype, f"{family} {noun}", layout]
    name = f"extra {number}: {', '.join(words)}"
    return Case(name, sizes, meta, dtype, family, layout, seed=1000 + number, flags=flags)


# -------------------------------------------------------------------------------------------------------------- softmax

ROWS: tuple[str, ...] = (
    *("normal", "negative", "deep", "positive", "ascending", "descending", "one_hot", "constant", "masked", "late_max"),
    *("early_max", "first_chunk_masked", "uneven", "masked_then_deep", "abyss"),
)

FAR_COLUMNS = (1, 15, 16, 17, 64, 129, 193, 200, 257, 513, 1024, 1025, 1031, 1153)
FAR_ROWS = (1, 2, 3, 5, 16, 17, 70)


def softmax(
    own: Callable[[Random, Sizes, Sizes], None] | None = None,
    families: Sequence[str] = ROWS,
    guarded: tuple[Guard, ...] = guards.SOFTMAX,
) -> Slips:
    """Kernels over the rows of x and y. ``own(draw, sizes, meta)`` changes the sizes and tiles that were drawn."""

    def draw_case(puzzle: Puzzle, draw: Random, number: int) -> Case:
        far = number >= FAR
        n = draw.choice(FAR_COLUMNS if far else (1, 2, 7, 8, 16, 23, 32, 48, 65, 131))
        sizes = {"M": draw.choice(FAR_ROWS if far else (1, 2, 3, 4, 6, 8, 9)), "N": n}
        meta = {name: draw.choice((4, 8, 16, 32)) for name in puzzle.cases[0].meta}
        if far and "BLOCK_N" in meta:
            meta["BLOCK_N"] = draw.choice((16, 32, 32, 64, 512))
        if own is not None:
            own(draw, sizes, meta)
        family = drawn_family(families, draw, number)
        dtype = drawn_dtype(puzzle, draw, wide=family in ("abyss", "uneven"), share=0.6)
        layout = draw.choice(("contiguous", "padded"))
        return _case(number, sizes, meta, dtype, family, layout, "rows")

    return Slips(
        draw_case,
        alike=names("M N", "BLOCK_M BLOCK_N", "x_ptr y_ptr z_ptr", "m_part_ptr l_part_ptr", "m_ptr l_ptr", "x y")
        + names("m_i m_new m_safe l_i", "offs_m offs_n"),
        mistaken={
            "stride_xm": ("N", "BLOCK_N"),
            "stride_ym": ("N", "BLOCK_N"),
            "stride_pm": ("SPLITS", "BLOCK_S"),
            "N": ("BLOCK_N", "stride_xm"),
            "M": ("BLOCK_M",),
            "SPLITS": ("BLOCK_S", "stride_pm"),
        },
        guards=guarded,
        usual={"stride_xm": ("stride_ym",), "stride_pm": ("SPLITS",), "N": ("stride_xm",)},
    )


def gradient_rows(own: Callable[[Random, Sizes, Sizes], None], families: Sequence[str]) -> Slips:
    """Kernels over the rows of y, dy and dx."""
    return replace(
        softmax(own, families, guards.GRADIENT_ROWS),
        alike=names("y_ptr dy_ptr dx_ptr", "y dy delta"),
        mistaken={
            **{f"stride_{x}m": ("N", "BLOCK_N") for x in ("y", "dy", "dx")},
            "N": ("BLOCK_N", "stride_ym"),
        },
        usual={"stride_dym": ("stride_ym",), "stride_dxm": ("stride_ym",), "N": ("stride_ym",)},
    )


def tile_holding(length: int, draw: Random) -> int:
    """A power of two that holds `length`, or twice that."""
    return 1 << (length - 1).bit_length() << draw.choice((0, 0, 1))


# ------------------------------------------------------------------------------------------------------------ attention

SCORES = ("normal", "ramp", "rising", "huge", "negative", "positive", "constant", "sink", "abyss")

FAR_LENGTHS = (1, 16, 17, 31, 32, 48, 65, 129, 143, 160, 257, 300, 640)


def attention(
    layouts: Sequence[str],
    own: Callable[[Random, int, Sizes], Flags] | None = None,
    families: Sequence[str] = SCORES,
) -> Slips:
    """Attention with more keys than queries or fewer, and every D. ``own(draw, number, sizes)`` adds sizes and returns the flags."""

    def draw_case(puzzle: Puzzle, draw: Random, number: int) -> Case:
        lengths = FAR_LENGTHS if number >= FAR else (1, 2, 15, 16, 17, 23, 33, 45, 64, 71, 90)
        sizes = {"N_Q": draw.choice(lengths), "N_KV": draw.choice(lengths), "D": draw.choice((16, 16, 32, 64, 128))}
        tiles = (16, 32, 64, 128) if number >= FAR else (16, 32, 64)
        meta = {"BLOCK_M": draw.choice(tiles), "BLOCK_N": draw.choice(tiles)}
        flags = own(draw, number, sizes) if own is not None else {}
        family = drawn_family(families, draw, number)
        # float16 cannot hold such numbers, and bfloat16 would show nothing that float32 does not
        dtype = drawn_dtype(puzzle, draw, wide=family in ("huge", "abyss"), share=0.5)
        layout = draw.choice(layouts)
        return _case(number, sizes, meta, dtype, family, layout, "scores", flags)

    return Slips(
        draw_case,
        alike=names("BLOCK_M BLOCK_N", "m_ptr l_ptr", "q_ptr k_ptr v_ptr o_ptr", "lse_ptr m_ptr", "batch head head_kv")
        + names("m_i m_new m_safe l_i", "l_i l_new l_safe", "q k v o", "kv qo", "s p", "acc o", "length end_n")
        + names("rows cols offs_m offs_n", "offs_d offs_m offs_n", "mask_m mask_n seen"),
        mistaken={
            "N_Q": ("BLOCK_M", "stride_qm"),
            "N_KV": ("BLOCK_N", "stride_kn"),
            "length": ("N_KV",),
            "end_n": ("N_KV",),
            "D": ("BLOCK_M", "BLOCK_N"),
            **{f"stride_{name}": ("D",) for name in ("qm", "kn", "vn", "om", "qh", "kh", "vh", "oh")},
        },
        guards=guards.ATTENTION,
        usual={
            "scale": ("D ** -0.5", "0.25", "0.125"),
            **{f"stride_{x}b": (f"H_Q * stride_{x}h",) for x in "qo"},
            **{f"stride_{x}b": (f"H_KV * stride_{x}h",) for x in "kv"},
            **{f"stride_{x}h": (f"N_Q * stride_{x}m",) for x in "qo"},
            **{f"stride_{x}h": (f"N_KV * stride_{x}n",) for x in "kv"},
            "H_KV": ("H_Q",),
        },
    )


def delta(families: Sequence[str]) -> Slips:
    """The output of attention and its gradient, by query."""

    def draw_case(puzzle: Puzzle, draw: Random, number: int) -> Case:
        far = number >= FAR
        sizes = {"B": draw.choice((1, 2, 3)), "H_Q": draw.choice((1, 2, 3, 5))}
        sizes["N_Q"] = draw.choice(FAR_LENGTHS if far else (1, 2, 15, 16, 17, 23, 33, 45, 64, 71, 90))
        sizes["D"] = draw.choice((16, 16, 32, 64, 128))
        meta = {"BLOCK_M": draw.choice((16, 32, 64, 128) if far else (8, 16, 32, 64))}
        family = drawn_family(families, draw, number)
        dtype = drawn_dtype(puzzle, draw, wide=False, share=0.5)
        layout = draw.choice(("contiguous", "transposed", "strided"))
        return _case(number, sizes, meta, dtype, family, layout, "values")

    return Slips(
        draw_case,
        alike=names("o_ptr do_ptr delta_ptr", "batch head", "o do", "o_row do_row", "o_ptrs do_ptrs", "offs_d offs_m"),
        mistaken={
            "N_Q": ("BLOCK_M", "stride_om"),
            "D": ("BLOCK_M",),
            **{f"stride_{x}{axis}": ("D",) for x in ("o", "do") for axis in "hm"},
        },
        guards=guards.DELTA,
        usual={
            **{f"stride_{x}b": (f"H_Q * stride_{x}h",) for x in ("o", "do")},
            **{f"stride_{x}h": (f"N_Q * stride_{x}m",) for x in ("o", "do")},
            **{f"stride_do{axis}": (f"stride_o{axis}",) for axis in "bhmd"},
        },
    )


def attention_gradients(guarded: tuple[Guard, ...] = guards.ATTENTION) -> Slips:
    """As `attention`, without scores so large that the float32 rounding of a weight's exponent exceeds the tolerance."""
    families = ("normal", "ramp", "rising", "negative", "positive", "large", "constant", "sink")
    found = attention(("contiguous", "transposed", "strided"), grouped_heads, families)
    return replace(
        found,
        alike=found.alike
        + names(
            "q_ptr k_ptr v_ptr do_ptr", "lse_ptr delta_ptr", "dk_ptr dv_ptr dq_ptr", "q k v do", "s p dp ds", "dk dv"
        )
        + names(
            "lse delta", "q_row k_row v_row do_row dq_row", "dk_row dv_row", "begin_m start_m end_m", "group H_KV H_Q"
        ),
        guards=guarded,
        usual={**found.usual}
        | {f"stride_{x}b": (f"H_Q * stride_{x}h",) for x in ("do", "dq")}
        | {f"stride_{x}b": (f"H_KV * stride_{x}h",) for x in ("dk", "dv")}
        | {f"stride_{x}h": (f"N_Q * stride_{x}m",) for x in ("do", "dq")}
        | {f"stride_{x}h": (f"N_KV * stride_{x}n",) for x in ("dk", "dv")},
    )


def grouped_heads(draw: Random, number: int, sizes: Sizes) -> Flags:
    """Adds batches and heads, and returns the flags of `attention_heads.heads_case`."""
    shared, h_kv = draw.choice((1, 2, 3)), draw.choice((1, 2))
    sizes |= {"B": draw.choice((1, 2, 3)), "H_Q": shared * h_kv, "H_KV": h_kv}
    return {"IS_CAUSAL": number % 3 > 0, "RAGGED": (sizes["B"] > 1 and number % 2 == 0) * draw.choice((1, 2))}


# ----------------------------------------------------------------------------------------------------- linear attention

FEATURES = ("normal", "growing", "constant", "warm", "hot", "cold", "frozen", "half_frozen", "huge", "signs", "outlier")
LENGTHS = (1, 2, 5, 15, 16, 17, 23, 31, 33, 47, 65)


def tokens(
    draw: Random, number: int, sizes: Sizes, near: Sequence[int] = LENGTHS, far: Sequence[int] = FAR_LENGTHS
) -> Flags:
    """Adds the number of tokens, and returns the flag for the number of earlier ones."""
    sizes["N"] = draw.choice(far if number >= FAR else near)
    return {"PAST": draw.choice((0, 3, 11))}


def linear_attention(own: Callable[[Random, int, Sizes], Flags] = tokens) -> Slips:
    """D_V above D or below, with slices that are not full. ``own(draw, number, sizes)`` as in `attention`."""

    def draw_case(puzzle: Puzzle, draw: Random, number: int) -> Case:
        sizes = {"B": draw.choice((1, 2, 3)), "H": draw.choice((1, 1, 2, 3))}
        sizes |= {"D": draw.choice((16, 16, 32, 64)), "D_V": draw.choice((8, 12, 16, 17, 24, 33, 40))}
        tiles = puzzle.cases[0].meta
        meta = {name: draw.choice((16, 16, 32) if name == "BLOCK_V" else (16, 32, 64)) for name in tiles}
        if number >= FAR:
            sizes["D"] = draw.choice((16, 32, 64, 128))
        flags = own(draw, number, sizes)
        family = drawn_family(FEATURES, draw, number)
        # products of such small features vanish in 16 bits
        dtype = drawn_dtype(puzzle, draw, wide=family in ("cold", "frozen", "half_frozen"), share=0.5)
        layout = draw.choice(("contiguous", "padded"))
        return _case(number, sizes, meta, dtype, family, layout, "inputs", flags)

    return Slips(
        draw_case,
        alike=names("BLOCK_M BLOCK_N", "N N_CHUNKS", "D D_V", "CHUNK BLOCK_V", "chunk head", "q_ptr k_ptr v_ptr o_ptr")
        + names("s0_ptr z0_ptr s_ptr z_ptr", "q k v o", "a q k", "state z", "num den")
        + names("offs_v offs_d offs_m offs_n offs_c"),
        mistaken={
            "N_Q": ("BLOCK_M", "stride_qm"),
            "N_KV": ("BLOCK_N", "stride_kn"),
            "length": ("N_KV",),
            "D": ("BLOCK_M", "BLOCK_N"),
            "D_V": ("BLOCK_V",),
            "N": ("CHUNK",),
            "CHUNK": ("N",),
            "N_CHUNKS": ("CHUNK",),
            "H": ("N_Q", "N_KV"),
            **{f"stride_{name}": ("D",) for name in ("qm", "kn", "vn", "om", "qh", "kh", "vh", "oh", "qn")},
            "stride_on": ("D", "D_V"),
        },
        guards=guards.LINEAR,
        usual={
            **{f"stride_{x}h": (f"N * stride_{x}n", f"N_Q * stride_{x}m") for x in "qo"},
            **{f"stride_{x}h": (f"N * stride_{x}n", f"N_KV * stride_{x}n") for x in "kv"},
            "D_V": ("D",),
            "H": ("1",),
        },
    )
