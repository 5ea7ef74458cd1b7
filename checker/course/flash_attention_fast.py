"""flash_attention_fast: attention over heads, causal or not, with tensor descriptors; made fast."""

from __future__ import annotations

from dataclasses import replace

from checker.course import attention_heads
from checker.course import attention_values as values
from checker.course.attention import attention_table
from checker.course.attention_heads import (
    FORWARD,
    FORWARD_CASES,
    HEADS_DOMAIN,
    HEADS_FACTORS,
    NEEDED,
    ONE_HEAD,
    film,
    forward,
    forward_space,
    parts,
    small_cases,
    visible_keys,
)
from checker.puzzle import Case, Part, Tensors


def make(case: Case) -> Tensors:
    """The tensors of the kernel with lengths, but without the lengths. Rows are contiguous, as a tensor descriptor needs them."""
    return {name: x for name, x in attention_heads.make(case).items() if name != "key_lengths_ptr"}


ONE_LOOP = f"{NEEDED}: in one of the two loops, never in both"
SIZES = {**ONE_HEAD, "N_Q": 128, "N_KV": 128, "D": 16}
HEADS, GROUPS, CAUSAL, _ = parts("o_ptr")

PUZZLE = forward(
    __file__,
    notebook="20_fast",
    reads={"q": 1, "k": visible_keys, "v": visible_keys},
    because={**FORWARD, "k": ONE_LOOP, "v": ONE_LOOP},
    domain=replace(
        HEADS_DOMAIN,
        memory="a row's elements are adjacent, and every other stride is a multiple of 16 bytes, as a descriptor needs. Offsets may "
        "pass 2³².",
        expanded=(),
    ),
    make=make,
    space=forward_space(
        {n: v for n, v in HEADS_FACTORS.items() if n != "ragged"} | {"layout": ("apart", "transposed", "contiguous")}
    ),
    cases=small_cases(lambda case: ONE_HEAD, {})
    + FORWARD_CASES
    + attention_table(
        """
        B  H_Q  H_KV  N_Q   N_KV  D    BLOCK_M  BLOCK_N  values                dtype     layout      flags      on   why
        2  2    1     21    83    16   16       16       rare_keys             -         apart       IS_CAUSAL
        1  2    1     7     85    16   16       16       blanks                -         -           IS_CAUSAL
        1  2    2     64    64    16   16       16       -                     -         -           IS_CAUSAL  -    this and two more: where the loop without a mask ends, at every place of the diagonal in a tile
        1  2    1     64    71    16   32       16       -                     -         apart       IS_CAUSAL
        1  1    1     34    48    16   16       16       -                     bfloat16  -           IS_CAUSAL
        1  1    1     37    1     16   16       16       -                     -         apart       IS_CAUSAL  -    it never begins
        2  1    1     48    80    16   32       64       -                     -         -           -          -    16 divides every size, a tile divides none
        1  1    1     32    64    32   16       32       -                     bfloat16  apart       -          -    nothing is left for the mask
        1  1    1     5     2081  16   16       16       rising_slowly         bfloat16  -           -          -    a factor rounded to 16 bits (rounded_factor)
        1  4    2     50    649   16   16       16       large                 bfloat16  apart       IS_CAUSAL  -    many tiles, many heads
        1  1    1     2     2083  64   64       32       spike                 bfloat16  apart       -          -    more terms than a sum in 16 bits can hold
        1  82   2     3     5     16   16       16       -                     -         -           -          -    more heads than a fixed limit would allow
        1  4    2     1     71    16   16       16
        2  8    2     400   431   64   64       32       score_pairs_in_sight  -         -           IS_CAUSAL  gpu
        3  4    1     512   2048  128  64       32       score_pairs           bfloat16  apart       SCALE=0.3  gpu
        1  2    2     17    17    64   64       128      -                     float16   -           IS_CAUSAL  gpu  this and the rest: lengths without convenient divisors
        1  2    2     17    17    64   64       128      -                     float16   -           -          gpu
        1  2    2     1000  1000  64   64       128      -                     float16   -           IS_CAUSAL  gpu
        1  2    2     1000  1000  64   64       128      -                     float16   -           -          gpu
        1  2    2     4097  4097  64   64       128      -                     float16   -           IS_CAUSAL  gpu
        1  2    2     4097  4097  64   64       128      -                     float16   -           -          gpu
        """,
        flags={"IS_CAUSAL": False},
    ),
    film=film(Case(SIZES, {"BLOCK_M": 32, "BLOCK_N": 32}, family=values.ramp, flags={"IS_CAUSAL": True})),
    parts=(
        replace(HEADS, asks="several heads and texts"),
        *(GROUPS, CAUSAL),
        Part("nothing", "queries that see nothing", lambda case: True, ("o_ptr",)),
        Part("lse", "the log-sum-exp in base e", lambda case: True, ("o_ptr", "lse_ptr")),
    ),
)
