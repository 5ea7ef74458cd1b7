"""delta_rule_recurrent: one token per step, each replacing what the state holds under its key."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.course import forgetting as values
from checker.course.diagrams import delta as diagram
from checker.course.linear import TOKEN_READ, columns, empty, in_every_slice
from checker.course.tensors import once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, Domain, FilmSpec, Tensors, Tolerance


def make(case: Case) -> Tensors:
    before = values.past(case)
    inputs = values.in_memory(values.drawn(case, unit=True), case)
    return {**inputs, "o_ptr": empty(case, case.sizes["N"]), "s0_ptr": before, "s_ptr": torch.zeros_like(before)}


def reference(case: Case, inputs: Tensors) -> Tensors:
    o, s = values.recurrence(*(inputs[f"{name}_ptr"] for name in ("q", "k", "v", "g", "s0", "beta")))
    return {"o_ptr": o, "s_ptr": s}


@once_a_case
def sizes_held(case: Case) -> torch.Tensor:
    """[..., N, D_V]: per column, what the state has held so far."""
    made = make(case)
    return values.held(*(made[f"{name}_ptr"].double() for name in ("k", "v", "g", "s0", "beta")))


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """`sizes_held`; for o, large enough that float16 numbers below the normal ones may be off by half a step."""
    least = 4 * torch.finfo(DTYPES[case.dtype]).tiny if output == "o_ptr" else 0.0
    return values.as_read(sizes_held(case), make(case)["q_ptr"], output).clamp(min=max(1e-6, least))


def from_row(row: Row) -> Case:
    (b, h), d_v = row["heads"], columns(row["values"], row["block"])
    sizes = {"B": b, "H": h, "N": row["tokens"], "D": row["d"], "D_V": d_v}
    flags = values.flags_of(row)
    return Case(sizes, {"BLOCK_V": row["block"]}, row["dtype"], row["family"], row["layout"], flags=flags)


def allowed(row: Row) -> bool:
    (b, h), family, block = row["heads"], row["family"], row["block"]
    if family is values.outside and row["d"] < 4:
        return False
    if family is values.vast and (row["dtype"] == "float16" or row["layout"] == "repeated token"):
        return False
    if family in (values.mixed, values.strengths, values.repeated, values.resets, values.vast) and row["tokens"] < 7:
        return False
    return row["tokens"] * cdiv(columns(row["values"], block), block) * b * h <= 96


STATE = Tolerance(rtol=1e-4, c=64.0)
"""The state is float32 whatever the inputs are, and a text may have thousands of tokens."""

PUZZLE = puzzle(
    __file__,
    notebook="18_read_compare_write",
    points=4,
    grid=lambda n: (n["B"] * n["H"], cdiv(n["D_V"], n["BLOCK_V"])),
    options=lambda n: {"num_warps": 4},
    reads={
        "q": in_every_slice("B", "H", "N", "D"),
        "k": in_every_slice("B", "H", "N", "D"),
        "v": 1,
        "g": in_every_slice("B", "H", "N"),
        "beta": in_every_slice("B", "H", "N"),
        "s0": 1,
    },
    writes={"o": 1, "s": 1},
    because={
        **dict.fromkeys(("q", "k", "v", "g", "beta"), TOKEN_READ),
        "s0": "the state that the text starts from is read once",
        "s": "the state is written once, at the end: between tokens it stays on chip",
    },
    make=make,
    reference=reference,
    scale=scale,
    tolerance={
        "float32": STATE,
        "float16": Tolerance(rtol=1.2e-3, c=0.25),
        "bfloat16": Tolerance(rtol=1e-2, c=0.25),
    },
    output_tolerance={
        "s_ptr": {"float32": STATE, **dict.fromkeys(("float16", "bfloat16"), Tolerance(1e-4, 64 * 2**-13))}
    },
    domain=Domain(
        sizes={"B": (), "H": (), "N": (), "D": (2, 4, 8, 16, 32, 64, 128), "D_V": ()},
        tiles={"BLOCK_V": 2},
        values="q, k, v and s0 are finite. g is 0 or less; -inf is a decay of 0. beta is 0 to 2, and beta · (k · k) is at most 2, up to rounding.",
        memory="the elements of a row of q, k, v and o are adjacent. Rows, heads and batches may be any distance apart, even so far that offsets pass "
        "2³²; those of q, k and v may repeat, with a stride of 0. g, beta and the states are contiguous and float32.",
        accuracy="everything is computed in float32. s may be off by 0.01 % of itself plus 64 roundings of the largest number it has held, counted as at least "
        "1e-6; o likewise (at least 2.4e-4 in float16), plus two roundings to its type.",
        masked=("g",),
        expanded=("q", "k", "v"),
    ),
    space=Space(
        {
            "family": (values.repeated, values.strengths, values.mixed, values.growing),
            "tokens": (7, 1, 13, 16),
            "values": ("one more", "all", "all but one"),
            "block": (16, 4),
            "d": (16, 4, 32),
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
                values.lengths,
                values.alike,
                values.outside,
                values.replacing,
                values.resets,
                values.fixed,
                values.blanks,
                values.vast,
            ),
            "tokens": (2, 3, 5, 8, 11, 17),
            "values": ("one", 0.5),
            "block": (32, 2),
            "d": (2, 64, 128),
            "heads": ((1, 5), (3, 1)),
            "layout": ("contiguous", "roomy", "repeated head"),
        },
        wider={"tokens": range(1, 15), "block": (8, 16, 32), "values": tuple(i / 32 for i in range(4, 65))},
        largest=({"tokens": 163, "heads": (1, 1), "d": 128, "values": 1.0, "family": values.growing},),
    ),
    cases=table(
        """
        B  H   N     D    D_V  BLOCK_V  values    dtype     layout  flags  on   why
        1  1   131   16   16   16       alike     bfloat16  -       -      -    many corrections of one value
        1  1   131   16   16   16       weak      float32   -       PAST   -    weak decays that add up
        2  21  3     16   16   16       -         -         -       PAST   -    many heads
        1  1   3     16   597  16       -         -         -       PAST   -    many columns
        1  2   17    16   16   16       long      float16   -       -      -    products that float16 cannot hold
        1  2   19    16   16   16       traces    float16   padded  -      -    only a trace of a value remains
        4  16  257   128  96   32       mixed     float16   padded  PAST   gpu
        1  2   2053  64   64   64       fixed     -         -       -      gpu
        1  8   4096  128  128  32       -         bfloat16  -       PAST   gpu
        """,
        families=values.DELTA,
    ),
    film=FilmSpec(
        case=Case({"B": 1, "H": 1, "N": 4, "D": 2, "D_V": 2}, {"BLOCK_V": 2}, family=values.replacing),
        diagram=diagram(),
        state={"state": "values under their keys", "old": "what the state held under k", "u": "what is written"},
        choices={"N": (4, 6, 8), "D": (2, 4), "D_V": (2, 4), "BLOCK_V": (2, 4)},
    ),
)
