"""What the linear-attention puzzles share: the reference, tolerances, launches, and the space of their cases.

φ(x) = elu(x) + 1, and 1e-6 is added to the normaliser (Katharopoulos et al. 2020, "Transformers are RNNs", equations 4, 5, 7 and
section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch

from checker.authoring import Row, Space, cdiv, puzzle, table
from checker.authoring.space import ANY_REMAINDER, length
from checker.course import linear_values as values
from checker.course.linear_values import State, drawn, feature_map, in_memory, past, power, stored_output
from checker.course.tensors import largest_of_row
from checker.puzzle import DTYPES, NORMAL, Case, Domain, Family, Tensors, Tolerance

EPS = 1e-6
"""Added to the normaliser q · z."""
STEP = 64
"""Tokens that the causal reference takes at a time: the N x N weights of a long text would not fit in memory."""

# ------------------------------------------------------------------------------------------------------------ tolerance

ROUNDING = {"float32": 2.0**-11, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The largest relative error of a product's operand: float32 is rounded to TF32, the others to their own precision."""


def roundings(float32: float, float16: float, bfloat16: float) -> dict[str, Tolerance]:
    """Tolerances of so many roundings of an operand: half relative to the element, half relative to its row."""
    by_dtype = {"float32": float32, "float16": float16, "bfloat16": bfloat16}
    halves = {dtype: number / 2 * ROUNDING[dtype] for dtype, number in by_dtype.items()}
    return {dtype: Tolerance(rtol=half, c=half / torch.finfo(DTYPES[dtype]).eps) for dtype, half in halves.items()}


TOLERANCE = roundings(float32=10, float16=10, bfloat16=5)
"""For outputs: features, values, state, weights and the output itself are rounded."""
STATE_TOLERANCE = {
    "s_ptr": roundings(float32=8, float16=6, bfloat16=5),  # one product
    "z_ptr": roundings(float32=2, float16=2, bfloat16=2),  # one operand, as z may be a product with ones
}
"""For states, which are float32 whatever the inputs are."""


def magnitude(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The scale of an error: the largest magnitude of each row, at least 1e-6, or as much less as the values are.

    Where every feature vanishes, float64 still gives numbers below 1e-60. Tiny outputs in float16 are rounded to multiples of 6e-8.
    """
    least = 1e-6 if output == "z_ptr" else 1e-6 * power(case)
    tiny = torch.finfo(DTYPES[case.dtype]).tiny if output == "o_ptr" else 0.0
    return largest_of_row(expected).clamp(min=max(least, tiny))


# ------------------------------------------------------------------------------------------------------------ reference


def linear_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor | None = None
) -> torch.Tensor:
    """φ(q_i) Σ_j φ(k_j)ᵀ v_j / (φ(q_i) · Σ_j φ(k_j) + 1e-6): equation 5, with no order among the keys.

    `seen` is broadcastable to [..., N_KV], True for the keys that count.
    """
    q, k = feature_map(q), feature_map(k)
    if seen is not None:
        k, v = k * seen[..., None], v.masked_fill(~seen[..., None], 0.0)
    s, z = k.transpose(-1, -2) @ v, k.sum(dim=-2)
    return (q @ s) / ((q * z[..., None, :]).sum(dim=-1, keepdim=True) + EPS)


def causal_linear_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, before: State, step: int = STEP
) -> tuple[torch.Tensor, State]:
    """Outputs over the keys up to each query's own, and the state after the last token; equations 9 to 12 and 16 to 20.

    `before` is the initial state. Inside `step` tokens the weights are masked, and a state connects the steps. All steps are computed
    at once, because one large product is much faster than a thousand small ones.
    """
    n, start = q.shape[-2], State(before.s.to(q.dtype), before.z.to(q.dtype))
    # [..., steps, step, D or D_V]; tokens past the end are zeros, and so are their features
    q, k, v = (_cut(x, step) for x in (feature_map(q), feature_map(k), v))
    # [..., 1 + steps, D, D_V] and [..., 1 + steps, D]: what each step starts from, and at the end what the last one leaves
    s = torch.cat((start.s[..., None, :, :], k.transpose(-1, -2) @ v), dim=-3).cumsum(dim=-3)
    z = torch.cat((start.z[..., None, :], k.sum(dim=-2)), dim=-2).cumsum(dim=-2)
    weights = (q @ k.transpose(-1, -2)).tril()
    den = weights.sum(dim=-1) + (q * z[..., :-1, None, :]).sum(dim=-1) + EPS
    o = (weights @ v + q @ s[..., :-1, :, :]) / den[..., None]
    return o.flatten(-3, -2)[..., :n, :], State(s[..., -1, :, :], z[..., -1, :])


def _cut(x: torch.Tensor, step: int) -> torch.Tensor:
    """[..., N, C] as [..., ceil(N / step), step, C], zeros past the end."""
    return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[-2] % step)).unflatten(-2, (-1, step))


# -------------------------------------------------------------------------------------------------- tensors and launches


def empty(case: Case, n: int) -> torch.Tensor:
    """Zeros [B, H, n, D_V] for an output, in the case's dtype and layout. If padded, its row stride differs from every input's."""
    b, h, d_v = (case.sizes[name] for name in ("B", "H", "D_V"))
    return stored_output(torch.zeros(b, h, n, d_v), case, gap=3)


def slices(case: Case) -> int:
    """How many programs share a head, each with BLOCK_V columns of the values."""
    return cdiv(case.sizes["D_V"], case.meta["BLOCK_V"])


def chunks(case: Case) -> int:
    """How many chunks of CHUNK tokens the text has. The last one may be short."""
    return cdiv(case.sizes["N"], case.meta["CHUNK"])


def in_every_slice(*shape: str) -> Callable[[Case], int]:
    """For `reads`: the elements of a tensor of this shape, once for each slice of the values."""

    def elements(case: Case) -> int:
        numbers = {**case.sizes, "N_CHUNKS": chunks(case) if "CHUNK" in case.meta else 0}
        return slices(case) * math.prod(numbers[name] for name in shape)

    return elements


def make(case: Case) -> Tensors:
    """Inputs and outputs of the causal kernels, with a state before and after the text."""
    n, before = case.sizes["N"], past(case)
    q, k, v = in_memory(drawn(case, n, n), case)
    return {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": empty(case, n),
        "s0_ptr": before.s,
        "z0_ptr": before.z,
        "s_ptr": torch.zeros_like(before.s),
        "z_ptr": torch.zeros_like(before.z),
    }


def reference(case: Case, inputs: Tensors) -> Tensors:
    before = State(inputs["s0_ptr"], inputs["z0_ptr"])
    o, after = causal_linear_attention(inputs["q_ptr"], inputs["k_ptr"], inputs["v_ptr"], before)
    return {"o_ptr": o, "s_ptr": after.s, "z_ptr": after.z}


ROUNDED = (
    "o may be off by ten roundings of an operand (five in bfloat16; float32 rounds to TF32): half of them relative to the element itself, "
    "half to the largest of its row"
)
DOMAIN = Domain(
    sizes={"B": (), "H": (), "N": (), "D": (16, 32, 64, 128), "D_V": ()},
    tiles={"CHUNK": 16, "BLOCK_V": 16},
    values="q, k and v are finite, and so are φ(q) · φ(k) of any two tokens and the sums of φ(k) and of φ(k) v. Where all features of q round to 0, o is 0. In float16, a "
    "feature or a weight below 6e-5 may lose bits.",
    memory="the elements of a row are adjacent. Rows, heads and batches may be any distance apart, even so far that offsets pass 2³²; those "
    "of q, k and v may repeat, with a stride of 0. States are contiguous.",
    accuracy=f"{ROUNDED}. States are float32; a sum may lose what is below a rounding of the largest sum so far, and "
    "what is below 1e-6.",
    expanded=("q", "k", "v"),
)
linear = partial(
    puzzle,
    domain=DOMAIN,
    scale=magnitude,
    tolerance=TOLERANCE,
    grid=lambda n: (n["B"] * n["H"], cdiv(n["D_V"], n["BLOCK_V"])),
    options=lambda n: {"num_warps": 4, "num_stages": 2},
)
"""A puzzle with one program for each head of a batch and each slice of BLOCK_V value columns."""

TOKEN_READ = "each program reads every token once"
causal = partial(
    linear,
    make=make,
    reference=reference,
    output_tolerance=STATE_TOLERANCE,
    reads={
        "q": in_every_slice("B", "H", "N", "D"),
        "k": in_every_slice("B", "H", "N", "D"),
        "v": 1,
        "s0": 1,
        "z0": in_every_slice("B", "H", "D"),
    },
    writes={"o": 1, "s": 1, "z": 1},
    because={
        **dict.fromkeys(("q", "k", "v"), TOKEN_READ),
        **dict.fromkeys(("s0", "z0"), "the state that the text starts from is read once"),
        **dict.fromkeys(("s", "z"), "the state is written once, at the end: between tokens it stays on chip"),
    },
)
"""A puzzle that computes all outputs and the state after the last token, from the state before the first."""

of_chunks = partial(
    linear,
    grid=lambda n: (n["N_CHUNKS"], n["B"] * n["H"], cdiv(n["D_V"], n["BLOCK_V"])),
    # states depend on CHUNK, so that a configuration of the learner's cannot change it
    numbers={"N_CHUNKS": chunks, "CHUNK": lambda case: case.meta["CHUNK"]},
)
"""A puzzle with one program for each chunk as well, so that all chunks are computed at once."""

# ---------------------------------------------------------------------------------------------------------------- cases

COVERED = (values.contributions, values.growing, values.signs, values.hot, values.cold, values.blanks)
"""The families of which every value of another factor meets each."""
ONCE = (
    *(NORMAL, values.constant, values.warm, values.freezing, values.faint, values.frozen, values.half_frozen),
    *(values.huge, values.one_way, values.short_keys, values.steep, values.dwarfing, values.outlier, values.halfway),
    values.uneven,
)
"""The families that need one case each."""
NOT_FLOAT16: dict[str, tuple[object, ...]] = {"dtype": ("float32", "bfloat16")}
ALONE: dict[str, tuple[object, ...]] = {
    "past": (None, 0),
    "power": (0,),
    "layout": ("padded", "transposed", "contiguous", "roomy"),
}
NEEDS: dict[Family, dict[str, tuple[object, ...]]] = {
    values.contributions: {"power": (0,)},  # whose values are 1000 times as large already
    values.cold: NOT_FLOAT16,  # whose products vanish there
    values.longest: {**NOT_FLOAT16, **ALONE, "remainder": ("one", "all but one", "prime")},
    values.freezing: {**NOT_FLOAT16, **ALONE},
    values.faint: {**NOT_FLOAT16, "power": (0,)},
    values.steep: {**NOT_FLOAT16, "power": (0,)},
    values.dwarfing: {**NOT_FLOAT16, "power": (0,)},
    values.huge: {"dtype": ("float32",), "power": (0,)},
    values.uneven: ALONE,
    values.one_way: ALONE,
    values.outlier: {"dtype": ("float16",), **ALONE},
    values.heavy: {"dtype": ("float16",), **ALONE},
    values.short_keys: {"dtype": ("float32",), **ALONE},
    values.halfway: {"dtype": ("float32",), **ALONE, "heads": ((1, 5), (1, 4))},
    values.taken_back: {"dtype": ("float32", "float16"), **ALONE, "past": (None, 0)},
}
"""What a family takes to show what it is for."""
REMAINDERS = ("one", "none", "all but one", "prime", "short", "alone")
SWEPT = (48, 2, 3, 5, 8, 11, 15, 17, 20, 23, 31, 33, 37, 40)
"""Numbers of tokens, for a case each."""
COLUMNS = ("one more", "all", "full", "all but one", "one")
WIDTHS = (16, 32, 64, 128)
HEADS = ((1, 2), (1, 1), (1, 5), (2, 2))
LAYOUTS = ("padded", "transposed", "contiguous", "roomy", *values.REPEATED)
PASTS = (11, 0, 6, 8)
"""Numbers of earlier tokens. In the first head they leave ordinary numbers, none, a state below 0, and more than float16 holds."""
POWERS = (0, 1, -1)
"""Whether values are multiplied by a power of two, a large or a small one (`EXPONENTS`)."""
EXPONENTS = {"float32": {1: 80, -1: -80}, "float16": {1: 10, -1: -10}, "bfloat16": {1: 80, -1: -80}}
"""By dtype, the powers of two that bring values near the ends of their type. Sums of products with features still fit in float32."""
ANY_COLUMNS = tuple(i / 32 for i in range(1, 65))
"""For `Space.wider`: D_V as a share of a slice, up to two slices."""
MOST_ITERATIONS = 24
"""Limit on the loop iterations of all programs together, which is what a case costs to simulate."""

linear_table = partial(table, families=values.FAMILIES)


def tokens(family: Family, tile: int, remainder: str | float) -> int:
    """How many tokens a text in tiles has, of which the last is as full as `remainder` says (`space.length`), or so many."""
    if isinstance(remainder, int):
        return remainder
    return length(tile * max(3, family.chunks), tile, remainder, off_edges=False)


def columns(share: str | float, block: int) -> int:
    """D_V for slices of `block` columns: one slice, three, four and one column more, one column less than a slice, or a single one."""
    if not isinstance(share, str):
        return max(1, int(share * block))
    return {"all": block, "full": 3 * block, "one more": 4 * block + 1, "all but one": block - 1, "one": 1}[share]


def sensible(row: Row) -> bool:
    """False for combinations that cannot show what their family is for. Raises KeyError while it cannot tell."""
    family = row["family"]
    if family in (values.contributions, values.uneven, values.taken_back) and row["remainder"] in (
        "short",
        "alone",
        *SWEPT,
    ):
        return False
    if family in (values.outlier, values.halfway, values.dwarfing) and row["remainder"] in ("alone", *range(16)):
        return False
    return all(row[factor] in choices for factor, choices in NEEDS.get(family, {}).items() if factor in row)


def flags_of(row: Row) -> dict[str, int]:
    """The number of earlier tokens, for kernels with an initial state, and the exponent of the values' power of two."""
    power = {"POWER": EXPONENTS[row["dtype"]][row["power"]]} if row["power"] else {}
    return power if row["past"] is None else {"PAST": row["past"], **power}


def chunk_space(past: Sequence[int | None], weights: bool = True) -> Space:
    """Cases in chunks that combine family, remainder, tiles, D_V, D, heads, dtype, layout, powers of two and the number of earlier tokens.

    `past` is (None,) for a kernel without an initial state, and `weights` says whether the kernel has weights.
    """

    def sizes(row: Row) -> dict[str, int]:
        (chunk, block), (b, h) = row["tile"], row["heads"]
        n = row.get("n") or tokens(row["family"], chunk, row["remainder"])
        return {"B": b, "H": h, "N": n, "D": row["d"], "D_V": columns(row["values"], block)}

    def case(row: Row) -> Case:
        meta = dict(zip(("CHUNK", "BLOCK_V"), row["tile"], strict=True))
        return Case(sizes(row), meta, row["dtype"], row["family"], row["layout"], flags=flags_of(row))

    def allowed(row: Row) -> bool:
        (chunk, block), (b, h) = row["tile"], row["heads"]
        if not sensible(row) or (chunk > 64 and row["remainder"] != "short"):
            return False
        n, d_v = tokens(row["family"], chunk, row["remainder"]), columns(row["values"], block)
        return cdiv(n, chunk) * cdiv(d_v, block) * b * h <= (MOST_ITERATIONS if b * h < 8 else 2 * b * h)

    # in float32, because so many terms do not fit in float16, and with as many columns as a slice, which do not all cancel
    longest = {"tile": (128, 16), "n": 34_567, "heads": (1, 1), "d": 16, "values": 1.5, "dtype": "float32", "power": 0}
    return Space(
        {
            "family": COVERED,
            "remainder": REMAINDERS,
            "values": COLUMNS,
            "tile": ((16, 16), (32, 16), (16, 32), (64, 16)),
            "d": WIDTHS,
            "heads": HEADS,
            "dtype": tuple(DTYPES),
            "layout": LAYOUTS,
            "past": past,
            "power": POWERS,
        },
        case,
        allowed,
        once={
            "family": (*ONCE, values.heavy, values.taken_back, values.longest) if weights else ONCE,
            "remainder": SWEPT,
            "heads": ((3, 11),),
            "tile": ((256, 16), (32, 64)),
            "values": (0.5,),
        },
        wider={"tile": ((16, 16), (32, 32), (64, 16), (32, 64)), "values": ANY_COLUMNS, "remainder": ANY_REMAINDER},
        largest=(
            {"tile": (64, 32), "n": 1237, "heads": (1, 1), "family": values.growing},
            {**longest, "family": NORMAL},
        ),
    )
