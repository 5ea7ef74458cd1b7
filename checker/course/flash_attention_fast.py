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
    notebook="13_fast",
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
    cases=FORWARD_CASES
    + attention_table(
        """
        B  H_Q  H_KV  N_Q   N_KV  D    BLOCK_M  BLOCK_N  values                dtype     layout      flags      on   why
        3  2    1     1     90    64   16       16       score_pairs_in_sight  float16
        2  2    1     21    83    16   16       16       rare_keys             -         apart       IS_CAUSAL
        1  2    2     64    64    16   16       16       -                     -         -           IS_CAUSAL  -    this and four more: where the loop without a mask ends, at every place of the diagonal in a tile
        1  2    1     64    71    16   32       16       -                     -         apart       IS_CAUSAL
        1  1    1     34    48    16   16       16       -                     bfloat16  -           IS_CAUSAL
        1  1    1     48    65    16   16       32       score_pairs           float16   -           IS_CAUSAL
        2  2    2     66    31    16   16       16       -                     float16   transposed  IS_CAUSAL
        1  1    1     37    1     16   16       16       -                     -         apart       IS_CAUSAL  -    it never begins
        2  1    1     48    80    16   32       64       -                     -         -           -          -    16 divides every size, a tile divides none
        1  1    1     32    64    32   16       32       -                     bfloat16  apart       -          -    nothing is left for the mask
        1  4    2     50    649   16   16       16       large                 bfloat16  apart       IS_CAUSAL  -    many tiles, many heads
        1  3    3     34    655   16   16       16       -                     -         -           IS_CAUSAL
        2  3    1     80    640   16   16       64       -                     float16   apart
        2  3    1     140   112   16   32       16       score_pairs           float16   transposed  IS_CAUSAL
        1  1    1     2     2083  64   64       32       spike                 bfloat16  apart       -          -    more terms than a sum in 16 bits can hold
        1  82   2     3     5     16   16       16       -                     -         -           -          -    more heads than a fixed limit would allow
        3  1    1     19    41    16   16       16       constant
        3  3    1     64    23    16   64       32       -                     bfloat16  apart       IS_CAUSAL
        1  4    2     299   33    16   16       16       large                 -         apart       SCALE=0.3  -    many tiles of queries, few keys for them
        1  2    2     299   280   16   16       16       -                     -         -           IS_CAUSAL
        1  4    2     130   519   32   64       32       score_pairs           float16   -           IS_CAUSAL  -    from here on groups of each size beside each dtype, tile and edge
        2  4    2     48    640   32   32       64       rare_keys             bfloat16  apart       IS_CAUSAL
        1  8    1     44    72    32   32       64       rare_keys             bfloat16  -           IS_CAUSAL
        1  1    1     103   65    16   32       64       rare_keys             bfloat16  -           IS_CAUSAL
        2  2    2     64    17    64   16       16       extreme_scores        float16   -           IS_CAUSAL
        2  1    1     143   16    64   32       64       -                     -         -           IS_CAUSAL
        1  6    2     143   17    16   16       64       extreme_scores        float16
        1  4    2     90    1     128  64       32       large
        3  2    2     49    5     128  32       16       large                 float16   apart       IS_CAUSAL
        1  4    2     1     71    16   16       16
        1  4    2     27    3     16   16       16       -                     float16   transposed  IS_CAUSAL
        2  4    2     143   144   64   16       16       extreme_scores        float16   apart       IS_CAUSAL
        1  4    2     65    65    64   64       32       rare_keys             bfloat16
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
