"""causal_linear_attention_chunked: masked attention inside a chunk, the state between chunks."""

from __future__ import annotations

from checker.course.diagrams import linear as diagram
from checker.course.linear import PASTS, causal, chunk_space, linear_table
from checker.course.linear_values import growing
from checker.puzzle import Case, FilmSpec

PUZZLE = causal(
    __file__,
    notebook="15_in_chunks",
    points=6,
    # more threads for long chunks: state, chunk and weights share the registers
    options=lambda n: {"num_warps": 8 if n["CHUNK"] >= 64 else 4, "num_stages": 1},
    space=chunk_space(PASTS),
    cases=linear_table("""
        B  H  N       D    D_V  CHUNK  BLOCK_V  values         dtype     layout  flags    on   why
        1  1  1043    16   16   16     16       many_small     float16   -       PAST=0   -    a state in 16 bits; too many chunks to unroll
        1  1  401     32   16   16     16       many_small     bfloat16  padded  PAST=0
        1  1  33_003  16   16   128    16       -              -         -       -        -    more tokens than 16 bits can count
        2  3  1031    64   80   32     32       growing        -         padded  -        gpu
        1  2  20_011  64   64   64     64       -              bfloat16  -       PAST=11  gpu
        1  2  16_384  64   64   64     64       -              -         -       -        gpu
        1  1  16_369  128  128  64     64       many_small     float16   -       -        gpu
        2  8  1024    128  128  64     64       contributions  bfloat16  -       -        gpu
    """),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 48, "D": 16, "D_V": 16}, {"CHUNK": 16, "BLOCK_V": 16}, family=growing),
        diagram=diagram(weights=True),
        state={"state": "state", "z": "sum of features"},
        choices={"N": (32, 48, 56), "D_V": (16, 24), "CHUNK": (16, 32)},
    ),
)
