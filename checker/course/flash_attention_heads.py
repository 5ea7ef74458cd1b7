"""flash_attention_heads: attention as models use it, with batches, heads, grouped K/V heads, causal masks, lengths, any layout."""

from __future__ import annotations

from checker.course import attention_values as values
from checker.course.attention import extended
from checker.course.attention_heads import (
    FLAGS,
    FORWARD,
    FORWARD_CASES,
    HEADS_FACTORS,
    NEEDED,
    ONE_HEAD,
    PER_PROGRAM,
    SMALL_LENGTHS,
    film,
    forward,
    forward_space,
    heads_table,
    make,
    parts,
    programs,
    visible_keys,
)
from checker.puzzle import Case, Part

SIZES = {**ONE_HEAD, "N_Q": 128, "N_KV": 128, "D": 16}

PUZZLE = forward(
    __file__,
    notebook="07_attention_as_models_use_it",
    reads={"q": 1, "k": visible_keys, "v": visible_keys, "key_lengths": programs},
    because={**FORWARD, "k": NEEDED, "v": NEEDED, "key_lengths": PER_PROGRAM},
    make=make,
    space=forward_space(HEADS_FACTORS),
    cases=SMALL_LENGTHS
    + extended(FORWARD_CASES, flags=FLAGS)
    + heads_table("""
        B  H_Q  H_KV  N_Q  N_KV  D    BLOCK_M  BLOCK_N  values                dtype     layout      flags                         on   why
        2  1    1     48   80    16   32       64       -                     -         -           RAGGED=1                      -    16 divides every size, a tile divides none
        3  6    2     130  649   16   16       16       large                 bfloat16  strided     IS_CAUSAL RAGGED=2            -    many tiles, many heads, and queries that see nothing
        3  4    2     1    15    128  32       16       large                 bfloat16  -           RAGGED=1
        1  1    1     2    2083  64   64       32       spike                 bfloat16  strided     -                             -    more terms than a sum in 16 bits can hold
        1  2    1     17   16    16   32       16       rare_keys             bfloat16  transposed  IS_CAUSAL                     -    one tile that begins with a query that sees nothing
        2  41   1     3    23    16   16       16       -                     float16   -           RAGGED=1                      -    41 · (1 / 41) is below 1
        1  82   2     3    23    16   16       16       score_pairs_in_sight  -         strided     -                             -    more heads than a fixed limit would allow
        1  3    1     160  129   32   128      64       -                     -         -           IS_CAUSAL                     -    a tile larger than any in the space
        2  4    2     21   37    16   16       16       -                     -         repeated keys
        2  4    2     21   37    16   16       16       -                     -         repeated values
        3  3    1     2    1     16   32       16       -                     bfloat16  strided     IS_CAUSAL
        3  1    1     17   2     16   32       64       -                     -         strided     IS_CAUSAL RAGGED=1
        2  8    2     400  431   64   64       32       score_pairs_in_sight  -         -           IS_CAUSAL RAGGED=1            gpu
        3  4    1     512  2048  128  64       32       score_pairs           bfloat16  strided     RAGGED=2 SCALE=0.3            gpu
    """),
    film=film(
        Case(SIZES, {"BLOCK_M": 32, "BLOCK_N": 32}, family=values.ramp, flags={"IS_CAUSAL": True, "RAGGED": 0}),
    ),
    parts=(*parts("o_ptr"), Part("lse", "the log-sum-exp", lambda case: True, ("o_ptr", "lse_ptr"))),
)
