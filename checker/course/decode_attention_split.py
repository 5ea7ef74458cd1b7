"""decode_attention_split: one query of each head, whose keys several programs share."""

from __future__ import annotations

import torch

from checker.authoring import puzzle
from checker.course import attention_heads as heads
from checker.course import attention_values as values
from checker.course import decode
from checker.course.attention import FILM_STATE, TOLERANCE, attention_table
from checker.course.attention_values import scale_of
from checker.course.tensors import once_a_case
from checker.puzzle import Case, FilmSpec, Part, Tensors


def make(case: Case) -> Tensors:
    """q [B, H_Q, D], k and v [B, H_KV, N_KV, D] in the case's layout, the parts, and the lengths [B]."""
    q, k, v = decode.queries_keys_values(case)
    lengths = heads.key_lengths(case)
    k, v = heads.with_padding(k, v, case, lengths)
    return {
        "q_ptr": q,
        "k_ptr": heads.input_laid_out(k, case, "k_ptr"),
        "v_ptr": heads.input_laid_out(v, case, "v_ptr"),
        **decode.parts_of(case),
        "key_lengths_ptr": lengths,
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    return decode.attention_in_parts(case, *(inputs[f"{name}_ptr"] for name in ("q", "k", "v", "key_lengths")))


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    return (
        decode.scale(case, output, expected, *_queries_and_keys(case)) if output == "o_part_ptr" else _lse(case, output)
    )


def _queries_and_keys(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    made = make(case)
    return made["q_ptr"], made["k_ptr"]


@once_a_case
def _lse(case: Case, output: str) -> torch.Tensor:
    return decode.scale(case, output, torch.empty(0), *_queries_and_keys(case))


def keys(case: Case) -> int:
    return decode.keys_loaded(case) * case.sizes["D"]


PUZZLE = puzzle(
    __file__,
    notebook="09_decode",
    points=5,
    grid=lambda n: (n["SPLITS"], n["B"] * n["H_KV"]),
    options=lambda n: {"num_warps": 4, "num_stages": 2},
    numbers={"scale": scale_of},
    reads={"q": decode.queries_loaded, "k": keys, "v": keys, "key_lengths": decode.programs},
    writes={"o_part": 1, "lse_part": 1},
    because=decode.BECAUSE,
    make=make,
    reference=reference,
    scale=scale,
    tolerance=TOLERANCE,
    output_tolerance=decode.OUTPUT_TOLERANCE,
    space=decode.space(decode.FACTORS["layout"], {}, {}),
    cases=decode.one_head({}, {})
    + attention_table(
        """
        B  H_Q  H_KV  N_KV    SPLITS  D    BLOCK_G  BLOCK_N  values                dtype     layout    flags               on   why
        1  2    1     200     3       128  16       32       -                     float16   strided   RAGGED=1
        1  5    1     70      2       32   16       16       rare_keys             bfloat16  strided
        1  41   41    23      2       16   16       16       -                     float16   -         -                   -    more heads than a fixed limit would allow
        1  20   1     50      3       16   32       16       -                     -         strided   -                   -    a group larger than 16
        1  1    1     40_003  4       16   16       256      score_pairs_in_sight  -         -         -                   -    more keys than 16 bits can count
        1  2    2     2083    1       64   16       32       spike                 bfloat16  strided   -                   -    more terms than a sum in 16 bits can hold
        1  2    1     5       300     16   16       16       -                     -         -         -                   -    more splits than keys
        1  3    1     75      4       16   16       16       extreme_scores        float16
        1  3    1     61      2       16   16       16       lowest_scores         -         -         -                   cpu
        1  2    1     90      3       32   16       64       negative              float32   -         -                   -    a first maximum of 0
        1  2    1     90      3       16   16       16       positive              -         strided   -                   -    exponentials that overflow
        1  1    1     413     1       16   16       16       climbing_scores
        1  8    1     349     2       16   16       16       one_rise              float16
        1  20   10    41      1       16   16       16       common_rise           float16
        1  1    1     41      2       16   16       16       overflowing_scores    float16   -         SCALE=0.000244140625
        2  16   4     16_384  16      128  16       64       -                     bfloat16  -         RAGGED=1            gpu
        1  16   2     4099    7       64   16       128      -                     float16   -         -                   gpu
        """,
        flags=decode.FLAGS,
    ),
    domain=decode.DOMAIN,
    film=FilmSpec(
        case=Case(
            {"B": 1, "H_Q": 4, "H_KV": 1, "N_KV": 112, "SPLITS": 3, "D": 16},
            {"BLOCK_G": 16, "BLOCK_N": 16},
            family=values.rising,
            flags=decode.FLAGS,
        ),
        diagram=decode.diagram(),
        state=FILM_STATE,
        choices={"N_KV": (40, 112), "SPLITS": (1, 3, 8), "BLOCK_N": (16, 32)},
    ),
    parts=(
        Part("whole", "all keys in one split", lambda case: case.sizes["SPLITS"] == 1, ("o_part_ptr", "lse_part_ptr")),
        Part("splits", "keys in splits", lambda case: True, ("o_part_ptr", "lse_part_ptr")),
    ),
)
