"""decay_linear_attention_chunked: linear attention that forgets, with decays inside a chunk and between chunks."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.course import forgetting as values
from checker.course.diagrams import decayed as diagram
from checker.course.linear import TOKEN_READ, columns, empty, in_every_slice, roundings
from checker.course.tensors import once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors


def make(case: Case) -> Tensors:
    before = values.past(case)
    inputs = values.in_memory(values.drawn(case), case)
    del inputs["beta_ptr"]
    return {**inputs, "o_ptr": empty(case, case.sizes["N"]), "s0_ptr": before, "s_ptr": torch.zeros_like(before)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    o, s = values.recurrence(*(inputs[f"{name}_ptr"] for name in ("q", "k", "v", "g", "s0")))
    return {"o_ptr": o, "s_ptr": s}


@once_a_case
def magnitudes(case: Case, output: str) -> torch.Tensor:
    """The sum of the magnitudes of all terms of an output: rounding an operand moves the output by a fraction of it."""
    inputs = {name: x.double() if name == "g_ptr" else x.double().abs() for name, x in make(case).items()}
    return reference(case, inputs)[output]


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The magnitudes of the terms; at least 1e-6, so that a state which has decayed to less may be lost, and o may lose a subnormal number."""
    dtype = DTYPES[case.dtype] if output == "o_ptr" else torch.float32
    return magnitudes(case, output).clamp(min=max(1e-6, torch.finfo(dtype).tiny))


def sizes(row: Row) -> dict[str, int]:
    (chunk, block), (b, h) = row["tile"], row["heads"]
    n = values.tokens(row["family"], chunk, row["remainder"])
    return {"B": b, "H": h, "N": n, "D": row["d"], "D_V": columns(row["values"], block)}


def from_row(row: Row) -> Case:
    meta = dict(zip(("CHUNK", "BLOCK_V"), row["tile"], strict=True))
    return Case(sizes(row), meta, row["dtype"], row["family"], row["layout"], flags=values.flags_of(row))


def allowed(row: Row) -> bool:
    """Few iterations, enough tokens for what a family is for, and numbers that the dtype can hold."""
    n, (chunk, block) = sizes(row), row["tile"]
    if not values.fits(row, values.strong, values.large):
        return False
    return cdiv(n["N"], chunk) * cdiv(n["D_V"], block) * n["B"] * n["H"] <= 18


PUZZLE = puzzle(
    __file__,
    notebook="17_forgetting",
    points=5,
    grid=lambda n: (n["B"] * n["H"], cdiv(n["D_V"], n["BLOCK_V"])),
    options=lambda n: {"num_warps": 8 if n["CHUNK"] >= 64 else 4, "num_stages": 1},
    reads={
        "q": in_every_slice("B", "H", "N", "D"),
        "k": in_every_slice("B", "H", "N", "D"),
        "v": 1,
        "g": in_every_slice("B", "H", "N"),
        "s0": 1,
    },
    writes={"o": 1, "s": 1},
    because={
        **dict.fromkeys(("q", "k", "v", "g"), TOKEN_READ),
        "s0": "the state that the text starts from is read once",
        "s": "the state is written once, at the end: between chunks it stays on chip",
    },
    make=make,
    reference=reference,
    scale=scale,
    tolerance=roundings(float32=10, float16=10, bfloat16=5),
    output_tolerance={"s_ptr": roundings(float32=8, float16=6, bfloat16=5)},
    domain=Domain(
        sizes={"B": (), "H": (), "N": (), "D": (16, 32, 64, 128), "D_V": ()},
        tiles={"CHUNK": 16, "BLOCK_V": 16},
        values="q, k, v, s0 and all sums of products are finite. g is 0 or less; -inf is a decay of 0, and a decay below e⁻⁸⁰ may count as 0.",
        memory="the elements of a row of q, k, v and o are adjacent. Rows, heads and batches may be any distance apart, even so far that offsets pass "
        "2³²; those of q, k and v may repeat, with a stride of 0. g and the states are contiguous and float32.",
        accuracy="o may be off by ten roundings of an operand (five in bfloat16; float32 rounds to TF32): half of them relative to the element itself, half to "
        "the sum of its terms' magnitudes, counted as at least 1e-6 (for o in float16, 6e-5); s likewise, by eight, not ten (six in float16).",
        masked=("g",),
        expanded=("q", "k", "v"),
    ),
    space=Space(
        {
            "family": (values.mixed, values.growing, values.strong, values.resets),
            "remainder": ("one", "none", "all but one", "prime", "short"),
            "values": ("one more", "all", "all but one"),
            "tile": ((16, 16), (32, 16), (16, 32)),
            "d": (16, 32),
            "heads": ((1, 2), (1, 1), (2, 2)),
            "dtype": tuple(DTYPES),
            "layout": ("padded", "transposed", "repeated token"),
            "past": (True, False),
        },
        from_row,
        allowed,
        once={
            "family": (
                NORMAL,
                values.lasting,
                values.fixed,
                values.halfway,
                values.large,
                values.blanks,
                values.weak,
                values.sudden,
                values.vast,
            ),
            "remainder": (48, 1, 2, 5, 8, 11, 23),
            "values": ("one", 0.5),
            "tile": ((64, 16), (32, 64)),
            "d": (64, 128),
            "heads": ((1, 5), (3, 1)),
            "layout": ("contiguous", "roomy", "repeated head"),
        },
        wider={
            "family": (values.mixed, values.growing, values.resets, values.fixed, values.traces),
            "remainder": tuple(i / 64 for i in range(64)),
            "values": tuple(i / 32 for i in range(1, 65)),
            "tile": ((16, 16), (32, 32), (64, 16)),
            "d": (16, 32, 64),
        },
        largest=({"tile": (64, 32), "remainder": 1237, "heads": (1, 1), "family": values.growing, "values": 1.5},),
    ),
    cases=table(
        """
        B  H  N       D    D_V  CHUNK  BLOCK_V  values      dtype     layout  flags  on   why
        1  1  1043    16   16   16     16       many_small  float16   -       -      -    a state in 16 bits; too many chunks to unroll
        1  1  401     16   16   16     16       many_small  bfloat16  padded
        1  2  20      16   16   16     16       large       -         -       -      -    a state that float16 cannot hold
        1  2  20      16   16   16     16       beyond      float32   -       -      -    queries and keys that float16 cannot hold
        1  2  20      16   16   16     16       beyond      float16   -       -      -    keys that float16 can barely hold
        2  21  3      16   16   16     16       -           -         -       PAST   -    many heads
        1  1  3       16   597  16     16       -           -         -       PAST   -    many columns
        1  2  75      16   16   16     16       traces      float16   -       -      -    only a trace of a value remains
        1  2  75      16   16   16     16       traces      float32   padded  -      -    the same, with logarithms that TF32 rounds
        1  1  150     16   16   128    16       -           float32   -       PAST   cpu  the longest chunks
        1  2  150     16   1    64     16       resets      -         padded  PAST   -    long chunks, and a single column of values
        1  2  43      16   17   16     16       resets      bfloat16  -       -      -    a second slice of a second head
        2  3  1031    64   80   32     32       growing     -         padded  -      gpu
        1  2  4099    64   64   64     64       mixed       bfloat16  -       PAST   gpu
        2  8  1024    128  128  64     64       fixed       bfloat16  -       -      gpu
        """,
        families=values.FAMILIES,
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 48, "D": 16, "D_V": 16}, {"CHUNK": 16, "BLOCK_V": 16}, family=values.mixed),
        diagram=diagram(),
        state={"state": "state", "b": "sum of log decays", "b_end": "of the whole chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24), "CHUNK": (16, 32)},
    ),
)
