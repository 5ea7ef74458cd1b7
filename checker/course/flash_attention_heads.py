"""flash_attention_heads: attention as models use it, with batches, heads, grouped K/V heads, causal masks, lengths, any layout."""

from __future__ import annotations

from checker.course import attention_values as values
from checker.course.attention import extended
from checker.course.attention_heads import (
    CASES_OF_LAYOUTS,
    FLAGS,
    FORWARD,
    FORWARD_CASES,
    HEADS_FACTORS,
    NEEDED,
    ONE_HEAD,
    PER_PROGRAM,
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
    cases=extended(FORWARD_CASES, flags=FLAGS)
    + CASES_OF_LAYOUTS
    + heads_table("""
        B  H_Q  H_KV  N_Q  N_KV  D    BLOCK_M  BLOCK_N  values                dtype     layout      flags                         on   why
        3  2    1     1    90    64   16       16       score_pairs_in_sight  float16   -           RAGGED=1
        2  2    1     21   83    16   16       16       rare_keys             -         strided     IS_CAUSAL RAGGED=1
        2  1    1     48   80    16   32       64       -                     -         -           RAGGED=1                      -    16 divides every size, a tile divides none
        1  1    1     37   1     16   16       16       -                     -         strided     IS_CAUSAL
        9  2    1     5    23    16   16       16       score_pairs_in_sight  -         -           IS_CAUSAL RAGGED=1
        3  6    2     130  649   16   16       16       large                 bfloat16  strided     IS_CAUSAL RAGGED=2            -    many tiles, many heads, and queries that see nothing
        2  6    3     66   655   16   16       16       -                     -         -           IS_CAUSAL RAGGED=1
        3  3    1     80   640   16   16       64       -                     float16   strided     RAGGED=1
        2  3    1     140  112   16   32       16       score_pairs           float16   transposed  IS_CAUSAL RAGGED=1
        3  4    2     1    15    128  32       16       large                 bfloat16  -           RAGGED=1
        1  1    1     2    2083  64   64       32       spike                 bfloat16  strided     -                             -    more terms than a sum in 16 bits can hold
        3  4    2     160  48    64   32       64       score_pairs_in_sight  float16   strided     IS_CAUSAL                     -    more queries than keys in full tiles
        1  2    1     17   16    16   32       16       rare_keys             bfloat16  transposed  IS_CAUSAL                     -    one tile that begins with a query that sees nothing
        1  2    2     31   1     32   32       64       large                 -         transposed  IS_CAUSAL
        2  41   1     3    23    16   16       16       -                     float16   -           RAGGED=1                      -    41 · (1 / 41) is below 1
        1  82   2     3    23    16   16       16       score_pairs_in_sight  -         strided     -                             -    more heads than a fixed limit would allow
        3  1    1     19   41    16   16       16       constant              -         -           RAGGED=1
        1  4    2     32   13    16   32       32       score_pairs           float16   -           RAGGED=2 SCALE=0.3            -    this and the rest for mistakes that few cases show
        1  3    1     160  129   32   128      64       -                     bfloat16  -           IS_CAUSAL
        1  3    1     160  129   32   128      64       -                     -         -           IS_CAUSAL
        3  3    1     2    1     16   32       16       -                     bfloat16  strided     IS_CAUSAL
        3  1    1     17   2     16   32       64       -                     -         strided     IS_CAUSAL RAGGED=1
        1  8    1     61   22    16   32       32       -                     -         transposed  IS_CAUSAL RAGGED=1 SCALE=0.3
        3  3    1     48   1     16   128      32       constant              -         strided     RAGGED=1
        2  3    1     20   700   16   16       64       -                     float16   strided     IS_CAUSAL RAGGED=1
        1  2    2     27   9     128  32       16       -                     float16   strided     IS_CAUSAL RAGGED=1
        3  3    1     64   23    16   64       32       -                     bfloat16  strided     IS_CAUSAL
        2  3    1     277  37    16   16       16       -                     float16   transposed  IS_CAUSAL RAGGED=1
        2  2    2     171  150   64   32       16       -                     float16   transposed  IS_CAUSAL
        1  2    1     617  609   16   64       16       -                     bfloat16  -           IS_CAUSAL
        1  1    1     53   620   16   16       16       score_pairs           bfloat16  -           SCALE=0.3
        2  8    2     400  431   64   64       32       score_pairs_in_sight  -         -           IS_CAUSAL RAGGED=1            gpu
        3  4    1     512  2048  128  64       32       score_pairs           bfloat16  strided     RAGGED=2 SCALE=0.3            gpu
    """),
    film=film(
        Case(SIZES, {"BLOCK_M": 32, "BLOCK_N": 32}, family=values.ramp, flags={"IS_CAUSAL": True, "RAGGED": 0}),
    ),
    parts=(*parts("o_ptr"), Part("lse", "the log-sum-exp", lambda case: True, ("o_ptr", "lse_ptr"))),
)
