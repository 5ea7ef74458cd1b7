"""delta_chunk_walk: from chunk to chunk with the state, which the tokens' writes are corrected by, and all outputs."""

from __future__ import annotations

import torch

from checker.authoring import Row, Space, cdiv, table
from checker.course import delta_chunks, forgetting
from checker.course.diagrams import decayed
from checker.course.linear import TOKEN_READ, columns, empty, in_every_slice, linear, roundings
from checker.course.tensors import once_a_case
from checker.puzzle import DTYPES, NORMAL, Case, FilmSpec, Tensors

NAMES = ("q", "k", "u", "w", "g", "s0")


def make(case: Case) -> Tensors:
    x, before = forgetting.drawn(case, unit=True), forgetting.past(case)
    t = delta_chunks.inverse(delta_chunks.matrix(x.k, x.g, x.beta, case.meta["CHUNK"]))
    u, w = delta_chunks.written(t, x.k, x.v, x.g, x.beta)
    inputs = {**forgetting.in_memory(x, case), "u_ptr": u.float(), "w_ptr": w.float(), "s0_ptr": before}
    outputs = {"o_ptr": empty(case, case.sizes["N"]), "s_ptr": torch.zeros_like(before)}
    return {**{f"{name}_ptr": inputs[f"{name}_ptr"] for name in NAMES}, **outputs}


def reference(case: Case, inputs: Tensors) -> Tensors:
    """One token after another; each writes U less what W reads from the state that its chunk started from."""
    q, k, u, w, g, s = (inputs[f"{name}_ptr"] for name in NAMES)
    o, alpha, start = torch.empty_like(u), g.exp(), s
    for i in range(case.sizes["N"]):
        start = s if i % case.meta["CHUNK"] == 0 else start
        s = alpha[:, :, i, None, None] * s + k[:, :, [i]].mT @ (u[:, :, [i]] - w[:, :, [i]] @ start)
        o[:, :, [i]] = q[:, :, [i]] @ s
    return {"o_ptr": o, "s_ptr": s}


@once_a_case
def sizes_held(case: Case) -> torch.Tensor:
    """[..., N, D_V]: per column, the largest norm so far of the state or of what a token reads and writes."""
    made = make(case)
    _, k, u, w, g, s = (made[f"{name}_ptr"].double() for name in NAMES)
    most, alpha, start, out = s.norm(dim=-2), g.exp(), s, torch.empty_like(u)
    for i in range(case.sizes["N"]):
        start = s if i % case.meta["CHUNK"] == 0 else start
        s = alpha[:, :, i, None, None] * s + k[:, :, [i]].mT @ (u[:, :, [i]] - w[:, :, [i]] @ start)
        long = k[:, :, i].norm(dim=-1, keepdim=True)
        read = long * (u[:, :, i].abs() + w[:, :, i].norm(dim=-1, keepdim=True) * start.norm(dim=-2))
        most = torch.stack((alpha[:, :, i, None] * most, s.norm(dim=-2), read)).amax(dim=0)
        out[:, :, i] = most
    return out


def scale(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """`sizes_held`, times the query's norm for o; at least 1e-6, and for o at least the smallest normal number of its type."""
    dtype = DTYPES[case.dtype] if output == "o_ptr" else torch.float32
    return forgetting.as_read(sizes_held(case), make(case)["q_ptr"], output).clamp(
        min=max(1e-6, torch.finfo(dtype).tiny)
    )


def from_row(row: Row) -> Case:
    (chunk, block), (b, h) = row["tile"], row["heads"]
    n, d_v = forgetting.tokens(row["family"], chunk, row["remainder"]), columns(row["values"], block)
    sizes, meta = {"B": b, "H": h, "N": n, "D": row["d"], "D_V": d_v}, {"CHUNK": chunk, "BLOCK_V": block}
    return Case(sizes, meta, row["dtype"], row["family"], row["layout"], flags=forgetting.flags_of(row))


def allowed(row: Row) -> bool:
    (chunk, block), (b, h), family = row["tile"], row["heads"], row["family"]
    if not forgetting.fits(row, forgetting.alike, forgetting.strengths):
        return False
    if family is forgetting.erased and (row["dtype"] == "bfloat16" or row["past"] or "repeated" in row["layout"]):
        return False
    if family is forgetting.erased and row["remainder"] in (*range(49), "short"):
        return False
    n = forgetting.tokens(family, chunk, row["remainder"])
    return cdiv(n, chunk) * cdiv(columns(row["values"], block), block) * b * h <= 16


PUZZLE = linear(
    __file__,
    notebook="19_in_chunks_with_an_inverse",
    points=4,
    options=lambda n: {"num_warps": 8 if n["CHUNK"] >= 64 else 4, "num_stages": 1},
    numbers={"CHUNK": lambda case: case.meta["CHUNK"]},
    reads={
        "q": in_every_slice("B", "H", "N", "D"),
        "k": in_every_slice("B", "H", "N", "D"),
        "u": 1,
        "w": in_every_slice("B", "H", "N", "D"),
        "g": in_every_slice("B", "H", "N"),
        "s0": 1,
    },
    writes={"o": 1, "s": 1},
    because={
        **dict.fromkeys(("q", "k", "u", "w", "g"), TOKEN_READ),
        "s0": "the state that the text starts from is read once",
        "s": "the state is written once, at the end: between chunks it stays on chip",
    },
    make=make,
    reference=reference,
    scale=scale,
    tolerance=roundings(float32=12, float16=12, bfloat16=5),
    output_tolerance={"s_ptr": roundings(float32=12, float16=12, bfloat16=1.5)},
    domain=delta_chunks.domain(
        "o may be off by twelve roundings of an operand (five in bfloat16; float32 rounds to TF32): half relative to the number itself, half to the length of q times the "
        "largest norm, per column, of the state or a write so far, counted as at least 1e-6 (for o in float16, 6e-5); s likewise, always in TF32.",
        f"U and W are made from {delta_chunks.MADE_FROM_KEYS}",
        rows="q, k and o",
        repeat=("q", "k"),
        slices=True,
        D=(16, 32, 64, 128),
        D_V=(),
    ),
    space=Space(
        {
            "family": (forgetting.alike, forgetting.strengths, forgetting.mixed),
            "remainder": ("one", "none", "all but one", "short"),
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
                *(NORMAL, forgetting.repeated, forgetting.resets, forgetting.growing, forgetting.huge),
                *(forgetting.erased, forgetting.weak, forgetting.sudden, forgetting.vast, forgetting.uneven),
            ),
            "remainder": (48, 1, 2, 5, 11, 23),
            "values": ("one", 0.5),
            "tile": ((64, 16), (32, 64)),
            "d": (64,),
            "heads": ((1, 5), (3, 1)),
            "layout": ("contiguous", "roomy", "repeated head"),
        },
        wider={"remainder": tuple(i / 64 for i in range(64)), "values": tuple(i / 32 for i in range(4, 65))},
        largest=({"tile": (32, 32), "remainder": 517, "heads": (1, 1), "family": forgetting.growing, "values": 1.5},),
    ),
    cases=table(
        """
        B  H  N     D    D_V  CHUNK  BLOCK_V  values    dtype     layout  flags  on
        1  1  403   16   16   16     16       fixed     -         -       PAST
        1  2  20    16   16   16     16       beyond    float32   -       -
        1  2  150   32   16   128    16       fixed     float32   -       PAST   cpu
        1  1  401   16   16   16     16       creeping  float32   -       -      cpu
        1  1  401   16   16   16     16       creeping  float16   -       -      cpu
        1  1  401   16   16   16     16       creeping  bfloat16  -       -      cpu
        1  2  50    16   32   16     16       mixed     bfloat16  -       PAST
        2  21  3    16   16   16     16       -         -         -       PAST
        1  1  3     16   597  16     16       -         -         -       PAST
        1  2  20    16   16   16     16       long      float16   -       -
        1  2  75    16   16   16     16       traces    float16   -       -
        1  2  75    16   16   16     16       traces    float32   padded  -
        1  4  4096  128  128  64     64       alike     bfloat16  padded  PAST   gpu
        2  3  1031  64   80   32     32       mixed     -         -       -      gpu
        """,
        families=forgetting.DELTA,
    ),
    film=FilmSpec(
        case=Case(
            {"B": 1, "H": 1, "N": 48, "D": 16, "D_V": 16}, {"CHUNK": 16, "BLOCK_V": 16}, family=forgetting.strengths
        ),
        diagram=decayed(values="u_ptr"),
        state={"state": "state", "b": "sum of log decays", "b_end": "of the whole chunk"},
        choices={"N": (32, 48, 56), "D_V": (16, 24), "CHUNK": (16, 32)},
    ),
)
