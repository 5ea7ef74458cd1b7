"""Queries, keys and values for the linear-attention kernels, and linear attention itself in float64.

The feature map is φ(x) = elu(x) + 1, that is x + 1 above 0 and exp(x) below. 1e-6 is added to the normaliser (Katharopoulos et al.
2020, "Transformers are RNNs", equations 4, 5, 7 and section 3.2). φ is never negative, so an output is an average of values, and
normal inputs hide almost every mistake. Each other family exposes a mistake that the rest do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from checker.course.contributions import DWARFED, FEATURES, contributions
from checker.course.tensors import generator, largest_of_row
from checker.course.tensors import stored as stored_rows
from checker.puzzle import DTYPES, Case, Long, Tensors, Tolerance

EPS = 1e-6
"""Added to the normaliser q · z."""
STEP = 64
"""Tokens that the causal reference takes at a time: the N x N weights of a long text would not fit in memory."""

ROUNDING = {"float32": 2.0**-11, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The largest relative error of a product's operand: float32 is rounded to TF32, the others to their own precision."""


def roundings(float32: float, float16: float, bfloat16: float) -> dict[str, Tolerance]:
    """Tolerances of so many roundings of an operand: half relative to the element, half relative to its row."""
    by_dtype = {"float32": float32, "float16": float16, "bfloat16": bfloat16}
    halves = {dtype: number / 2 * ROUNDING[dtype] for dtype, number in by_dtype.items()}
    return {dtype: Tolerance(rtol=half, c=half / torch.finfo(DTYPES[dtype]).eps) for dtype, half in halves.items()}


TOLERANCE = roundings(float32=10, float16=10, bfloat16=5)
"""For outputs. Features, values, state, weights and the output itself are rounded; docs/decisions.md has the figures."""
OUTPUT_TOLERANCE = {
    "s_ptr": roundings(float32=8, float16=6, bfloat16=5),  # one product
    "z_ptr": roundings(float32=2, float16=2, bfloat16=2),  # one operand, as z may be a product with ones
}
"""The state is float32 whatever the inputs are."""

LONG = (
    Long(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), "head", (0, 1)),
    Long(("q_ptr", "o_ptr"), "token", (2,)),
    Long(("k_ptr", "v_ptr"), "token", (2,)),
)
"""What has to be addressed in 64 bits."""
CONSTRUCTED = ("contributions", "many_small")
"""Families whose keys are not random but built from what each chunk adds to the state."""
NARROW = 12
"""Fewer columns than these may all nearly cancel in some row: then the scale of its errors would say nothing."""
VANISHED = -150.0
"""A number whose feature is 0 in float32."""


@dataclass(frozen=True)
class State:
    """What linear attention keeps of the tokens so far: `s` [..., D, D_V] = φ(K)ᵀ V and `z` [..., D], the sum of φ(K)."""

    s: torch.Tensor
    z: torch.Tensor


def feature_map(x: torch.Tensor) -> torch.Tensor:
    """φ(x) = elu(x) + 1, written as max(x, 0) + exp(min(x, 0))."""
    return x.clamp(min=0) + torch.exp(x.clamp(max=0))


def queries_keys_values(
    case: Case, q_shape: tuple[int, ...], k_shape: tuple[int, ...], d_v: int, dots: bool = True
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q [..., N_Q, D], k [..., N_KV, D] and v [..., N_KV, `d_v`] in the case's dtype and layout. Gaps in memory hold NaN.

    Raises ValueError for an unknown family and, for kernels with matrix products (`dots`), for a D that tensor cores do not take.
    """
    if dots and q_shape[-1] not in (16, 32, 64, 128):
        raise ValueError(f"D is 16, 32, 64 or 128, not {q_shape[-1]}")
    if case.family.name in CONSTRUCTED:
        build = _contributions if case.family.name == "contributions" else _many_small
        q, k, v = build(case, q_shape, k_shape, d_v)
        return stored(q, case), stored(k, case, gap=7), stored(v, case, gap=9)
    g = generator(case)
    q = torch.randn(q_shape, generator=g, dtype=torch.float64)
    k = torch.randn(k_shape, generator=g, dtype=torch.float64)
    v = torch.randn((*k_shape[:-1], d_v), generator=g, dtype=torch.float64)
    if d_v < NARROW:  # of a few columns of both signs nothing but rounding may be left
        v[..., 0] = v[..., 0].abs()
    n = k_shape[-2]
    match case.family.name:
        case "normal":
            pass
        case "growing":  # a token counted too early, too late or twice moves the average visibly
            v = v + torch.linspace(0.5, 8.0, n, dtype=torch.float64)[:, None]
        case "constant":  # equal weights: the output is the mean of what was seen, and any token counted wrongly shows
            q, k = torch.ones_like(q), torch.ones_like(k)
        case "warm":  # far above 0, where φ is a line and exp overflows
            q, k = 20 + 2 * q, 20 + 2 * k
            q[..., 0], k[..., 0] = 95.0, 1.0
        case "hot":  # exp overflows in queries and in keys, and everything else is ordinary
            q[..., 0], k[..., 1] = 95.0, 95.0
        case "cold":  # q · z is about as large as the 1e-6 that is added to it
            q, k = 0.3 * q - 9.0, 0.3 * k - 8.5
        case "freezing":  # every feature of a key is near 3e-9, and q · z still dwarfs the 1e-6
            k = 0.1 * k - 19.5
        case "faint":  # tiny features of queries, and keys so large that q · z still dwarfs the 1e-6
            q, k = 0.3 * q - 22.0, 500 + 20 * k
        case "frozen":  # φ vanishes in float32: 0 / 0 without the 1e-6
            q, k = 3 * q - 150.0, 3 * k - 150.0
        case "half_frozen":  # the same for every other query, the first one included; the rest is ordinary
            q[..., ::2, :] = 3 * q[..., ::2, :] - 150.0
        case "huge" if case.dtype == "float16":  # a state that float16 cannot hold
            v = 1500.0 + 200.0 * v
        case "huge":  # numbers that float16 cannot hold: queries, keys and so z, values and so the state
            v = v * 2.0**20
            q[..., 1], k[..., 0] = 1e5 + 2e3 * q[..., 1], 1e5 + 2e3 * k[..., 0]
        case "signs":  # half of every row below 0: φ without its + 1 is negative there
            q, k = q.abs(), k.abs()
            q[..., ::2], k[..., 1::2] = -q[..., ::2], -k[..., 1::2]
        case "halfway":  # exact in TF32, and bfloat16 rounds all of them down by as much as it can
            q, k, v = torch.full_like(q, 1 / 256), torch.zeros_like(k), torch.full_like(v, 1 + 1 / 256)
            k[..., 1::3, 1::2, :], v[..., 1::3, 1::2, :] = 1 / 256, -0.75  # weights of two sizes, values of two signs
            k[..., 2::3, :, :] = 1 / 256
            v[..., 1::2] *= -1
            # in the fourth head two features of the query, one of them rounded, that pull towards values of two signs
            q[..., 3::4, :, 1::2], k[..., 3::4, :, :] = 0.0, 0.0
            k[..., 3::4, ::2, 1::2], k[..., 3::4, 1::2, ::2] = VANISHED, VANISHED
            v[..., 3::4, 1::2, :-1] *= -1
            v[..., 3::4, :, -1] /= 2  # all of one sign, against which the error of a row is measured
        case "one_way":  # no value above 0
            v = -v.abs() - 0.5
        case "short_keys":  # where φ below 0 is nearly a line, but not quite
            k = -0.12 + 0.004 * torch.rand(k_shape, generator=g, dtype=torch.float64)
            v = v.abs() + 0.5
        case "dwarfing":  # by a number that no query asks for
            k[..., 0, 0], q[..., 0] = 1e9, VANISHED
        case (
            "blanks"
        ):  # chunks of zeros in turn: queries, values that add up to 0, keys and values, a token of these, none
            token = torch.arange(n)
            chunk = token // chunk_width(case) % 5
            sign = 1.0 - 2.0 * (torch.arange(d_v) % 2).double()
            q[..., torch.arange(q_shape[-2]) // chunk_width(case) % 5 == 0, :] = 0.0
            v[..., chunk == 1, :] = sign
            for blank in (k, v):
                blank[..., (chunk == 2) | ((chunk == 3) & (token % chunk_width(case) == 1)), :] = 0.0
            v[..., chunk == 0, :] = 0.0
        case "outlier":  # one large feature: after a dozen tokens its sums pass 65,504, and float16 cannot hold them
            k[..., 0] = 6000.0 + 100.0 * k[..., 0]
            v = v + 2.0
        case other:
            raise ValueError(f"no family of linear attention's inputs is called {other!r}")
    return stored(q, case), stored(k, case, gap=7), stored(v, case, gap=9)


def _contributions(
    case: Case, q_shape: tuple[int, ...], k_shape: tuple[int, ...], d_v: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v such that each feature's sum goes through all pairs of `FEATURES`, in another order in each feature and head.

    Most queries have a single feature, so their output is an average by that feature alone, however large the others are.
    From chunk to chunk the values are zeros, ordinary or a thousand times as large, and their sign changes, except in column 0.
    """
    g, (*heads, n, d), small = generator(case), k_shape, case.dtype == "float16"
    count, width = math.prod(heads), chunk_width(case)
    sizes = [min(width, n - at) for at in range(0, n, width)]
    chunk = torch.arange(n) // width
    before = past(case, tuple(heads), d, d_v).z.double().flatten()
    start = torch.tensor([4.0, 64.0] if small else [1.0, 1e-6]).repeat(count * d // 2)
    added = contributions(FEATURES, sizes, before, start, 2.0**16 / d if small else 1e9, g.initial_seed())
    added = added.unflatten(0, (count, d)).mT[:, chunk] / torch.tensor(sizes)[chunk, None]  # [heads, N, D]
    phi = added * torch.where(added == 1, 1.0, 0.5 + torch.rand(added.shape, generator=g, dtype=torch.float64))
    nothing = torch.full_like(phi, VANISHED)
    if not small:
        nothing[:, ::2] = -30.0
    k = torch.where(phi == 0, nothing, torch.where(phi < 1, phi.clamp(min=1e-300).log(), phi - 1))
    i, head = torch.arange(q_shape[-2]), torch.arange(count)[:, None]
    q = torch.full((count, q_shape[-2], d), VANISHED, dtype=torch.float64)
    picked = torch.tensor([0.0, -1.25, 2.0, -0.0], dtype=torch.float64)[i % 4].expand(count, -1)
    q.scatter_(2, ((i + head) % d)[..., None], picked[..., None])
    q[:, 3::4] = torch.randn(q[:, 3::4].shape, generator=g, dtype=torch.float64)
    orders = torch.tensor([1, DWARFED, DWARFED, 0, 0, DWARFED, 1, 1, 0], dtype=torch.float64)  # all pairs of the three
    size = orders[(torch.arange(len(sizes)) + 3 * head + case.seed) % 9]
    sign = torch.randint(0, 2, (count, len(sizes), d_v), generator=g, dtype=torch.float64) * 2 - 1
    sign[..., 0] = 1.0
    v = (0.5 + torch.rand(count, n, d_v, generator=g, dtype=torch.float64)) * (size[..., None] * sign)[:, chunk]
    return q.reshape(q_shape), k.reshape(k_shape), v.reshape(*heads, n, d_v)


def _many_small(
    case: Case, q_shape: tuple[int, ...], k_shape: tuple[int, ...], d_v: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v such that after the first token a whole chunk adds less than half a step to a sum of features in the case's dtype.

    The same holds for every other column of the state. In the columns between, the lost normaliser shows.
    """
    g = generator(case)
    q = torch.randn(q_shape, generator=g, dtype=torch.float64)
    share = 0.45 * torch.finfo(DTYPES[case.dtype]).eps / chunk_width(case)
    k = torch.full(k_shape, math.log(64 * share), dtype=torch.float64)
    k[..., 0, :] = 63.0
    v = 0.5 + 0.5 * torch.rand((*k_shape[:-1], d_v), generator=g, dtype=torch.float64)
    v[..., 1::2] += 8.0
    v[..., 0, :] = 1.0
    return q, k, v


def chunk_width(case: Case) -> int:
    """How many keys are added to the state at once."""
    return case.meta.get("CHUNK", case.meta.get("BLOCK_N", 1))


def stored(x: torch.Tensor, case: Case, gap: int = 13) -> torch.Tensor:
    """`x` [B, H, N, C] in the case's dtype and layout.

    "transposed": heads side by side, with `gap` numbers or a few more between them. "roomy": `gap` tokens between heads.
    """
    if case.layout == "roomy":
        wide = torch.full((*x.shape[:2], x.shape[2] + gap, x.shape[3]), torch.nan, dtype=DTYPES[case.dtype])
        return wide[:, :, : x.shape[2]].copy_(x)
    if case.layout != "transposed":
        return stored_rows(x, case, gap)
    b, h, n, c = x.shape
    wide = torch.full((n, b * h, c + gap + case.seed % 5), torch.nan, dtype=DTYPES[case.dtype])
    wide[..., :c] = x.flatten(0, 1).transpose(0, 1)
    width = wide.shape[-1]
    return wide.as_strided((b, h, n, c), (h * width, width, b * h * width, 1))


def empty(case: Case, shape: tuple[int, ...]) -> torch.Tensor:
    """Zeros for an output, in the case's dtype and layout. If padded, its row stride differs from every input's."""
    return stored(torch.zeros(shape), case, gap=3)


def past(case: Case, heads: tuple[int, ...], d: int, d_v: int) -> State:
    """The float32 state after an earlier text of ``case.flags["PAST"]`` tokens; zeros without one."""
    tokens = int(case.flags.get("PAST", 0))
    g = torch.Generator().manual_seed(case.seed * 7 + 1)
    k = feature_map(torch.randn((*heads, tokens, d), generator=g, dtype=torch.float64))
    v = torch.randn((*heads, tokens, d_v), generator=g, dtype=torch.float64)
    v = v + 2.0 - 4.0 * (torch.arange(d_v) % 2)  # of either sign, so that new values do not cancel all columns
    if case.family.name == "blanks":  # a text of which only z remains
        v = torch.zeros_like(v)
    state = add(State(torch.zeros(*heads, d, d_v).double(), torch.zeros(*heads, d).double()), k, v)
    return State(state.s.float(), state.z.float())


def add(state: State, k: torch.Tensor, v: torch.Tensor) -> State:
    """The state after more tokens: `k` [..., N, D] are features already, `v` [..., N, D_V]."""
    return State(state.s + k.transpose(-1, -2) @ v, state.z + k.sum(dim=-2))


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

    `before` is the initial state. Inside `step` tokens the weights are masked, between steps there is the state. All steps are computed
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


def magnitude(case: Case, output: str, expected: torch.Tensor) -> torch.Tensor:
    """The scale of an error: the largest magnitude of each row, at least 1e-6.

    Where every feature vanishes, float64 still gives numbers below 1e-60. Tiny outputs in float16 are rounded to multiples of 6e-8.
    """
    least = torch.finfo(DTYPES[case.dtype]).tiny if output == "o_ptr" else 0.0
    return largest_of_row(expected).clamp(min=max(1e-6, least))


def strides(tensors: Tensors, axes: dict[str, str]) -> dict[str, int]:
    """``stride_qh`` and ``stride_qm`` for ``{"q": "hm"}``: the head and token strides of q_ptr [B, H, N, D], in elements.

    There is no batch stride: the heads of all batches are evenly spaced.
    """
    return {
        f"stride_{name}{axis}": tensors[f"{name}_ptr"].stride(1 + i)
        for name in axes
        for i, axis in enumerate(axes[name])
    }


def rows(case: Case, count: int, columns: int) -> int:
    """Bytes of `count` rows of `columns` numbers in every head, in the case's dtype."""
    return case.sizes["B"] * case.sizes["H"] * count * columns * DTYPES[case.dtype].itemsize


def slices(case: Case) -> int:
    """How many programs share a head, each with BLOCK_V columns of the values."""
    return -(-case.sizes["D_V"] // case.meta["BLOCK_V"])
