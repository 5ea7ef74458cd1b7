"""The values that linear-attention kernels are tried on: families of queries, keys and values, and how they lie in memory.

The feature map φ(x) = elu(x) + 1 is never negative, so an output is an average of values, and normal inputs hide almost every
mistake. Each family exposes a mistake that the others do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from checker.authoring import family
from checker.course.attention_values import Tokens
from checker.course.contributions import DWARFED, FEATURES
from checker.course.contributions import contributions as added_by_chunk
from checker.course.tensors import generator
from checker.course.tensors import stored as stored_rows
from checker.puzzle import DTYPES, NORMAL, Case

NARROW = 12
"""In fewer columns than these all values may nearly cancel, and then the scale of errors would mean nothing."""
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


def add(state: State, k: torch.Tensor, v: torch.Tensor) -> State:
    """The state after more tokens: `k` [..., N, D] are features already, `v` [..., N, D_V]."""
    return State(state.s + k.transpose(-1, -2) @ v, state.z + k.sum(dim=-2))


def chunk_width(case: Case) -> int:
    """How many keys are added to the state at once."""
    return case.meta.get("CHUNK", case.meta.get("BLOCK_N", 1))


def drawn(case: Case, n_q: int, n_kv: int, dots: bool = True) -> Tokens:
    """The case's queries, keys and values, the latter multiplied by its power of two.

    Raises ValueError for kernels with matrix products (`dots`) if tensor cores do not take the case's D.
    """
    b, h, d, d_v = (case.sizes[name] for name in ("B", "H", "D", "D_V"))
    if dots and d not in (16, 32, 64, 128):
        raise ValueError(f"D is 16, 32, 64 or 128, not {d}")
    g = generator(case)
    q, k, v = (
        torch.randn(b, h, *shape, generator=g, dtype=torch.float64) for shape in ((n_q, d), (n_kv, d), (n_kv, d_v))
    )
    if d_v < NARROW:  # values of both signs may cancel in all of a few columns, which leaves nothing but rounding
        v[..., 0] = v[..., 0].abs()
    x = case.family.make(Tokens(q, k, v, g), case)
    x.v = x.v * power(case)
    return x


def in_memory(x: Tokens, case: Case) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, k and v in the case's dtype and layout. Gaps in memory hold NaN."""
    return stored(x.q, case), stored(x.k, case, gap=7), stored(x.v, case, gap=9)


def power(case: Case) -> float:
    """What values are multiplied by, exactly: outputs and the state S then grow by the same factor."""
    return 2.0 ** int(case.flags.get("POWER", 0))


PASTS = NEGATIVE, BLANK, HUGE, TINY, NOTHING, ORDINARY = range(6)
"""What an earlier text may leave behind: S below 0, z without S, more than float16 holds, next to nothing, zeros, or ordinary numbers."""


def past(case: Case) -> State:
    """The float32 state after an earlier text of ``case.flags["PAST"]`` tokens; zeros without one.

    From head to head the texts are of all kinds in turn; in the first head of 11 tokens, and before `contributions`, they are ordinary.
    """
    b, h, d, d_v = (case.sizes[name] for name in ("B", "H", "D", "D_V"))
    tokens = int(case.flags.get("PAST", 0))
    g = torch.Generator().manual_seed(case.seed * 7 + 1)
    k = feature_map(torch.randn(b, h, tokens, d, generator=g, dtype=torch.float64))
    v = torch.randn(b, h, tokens, d_v, generator=g, dtype=torch.float64)
    v = v + 2.0 - 4.0 * (torch.arange(d_v) % 2)  # of either sign, so that new values do not cancel all columns
    kind = (torch.arange(b * h) + tokens).reshape(b, h, 1, 1) % len(PASTS)
    if case.family == contributions:
        kind = torch.full_like(kind, ORDINARY)
    if d_v >= NARROW:
        v = torch.where(kind == NEGATIVE, -v.abs(), v)
    v = v.where(kind != BLANK, 0.0)
    k = k * torch.where(kind == HUGE, 2.0**24, torch.where(kind == TINY, 2.0**-16, (kind != NOTHING).double()))
    state = add(State(torch.zeros(b, h, d, d_v).double(), torch.zeros(b, h, d).double()), k, v * power(case))
    return State(state.s.float(), state.z.float())


REPEATED = ("repeated token", "repeated head")
"""Layouts of inputs that are expanded: all tokens, or all heads of all batches, lie at one address."""


def stored(x: torch.Tensor, case: Case, gap: int = 13) -> torch.Tensor:
    """The input `x` [B, H, N, C] in the case's dtype and layout; of a repeated token or head, the first one."""
    if case.layout == "repeated token":
        first = _apart(x[:, :, :1], "padded", case, gap)
        return first.as_strided(x.shape, (*first.stride()[:2], 0, 1))
    if case.layout == "repeated head":
        first = _apart(x[:1, :1], "padded", case, gap)
        return first.as_strided(x.shape, (0, 0, first.stride(2), 1))
    return _apart(x, case.layout, case, gap)


def stored_output(x: torch.Tensor, case: Case, gap: int) -> torch.Tensor:
    """The output `x` in the case's dtype and layout. No output is expanded."""
    return _apart(x, "padded" if case.layout in REPEATED else case.layout, case, gap)


def _apart(x: torch.Tensor, layout: str, case: Case, gap: int) -> torch.Tensor:
    """`x` in a layout in which no two elements share an address.

    "transposed": heads side by side, with `gap` numbers or a few more between them. "roomy": tokens as far apart in all tensors, and
    heads `gap` tokens further than there are tokens.
    """
    (b, h, n, c), dtype = x.shape, DTYPES[case.dtype]
    if layout == "roomy":
        width = max(case.sizes["D"], case.sizes["D_V"]) + 3
        wide = torch.full((b, h, n + gap, width), torch.nan, dtype=dtype)
        return wide[:, :, :n, :c].copy_(x)
    if layout != "transposed":
        return stored_rows(x, replace(case, layout=layout), gap)
    wide = torch.full((n, b * h, c + gap + case.seed % 5), torch.nan, dtype=dtype)
    wide[..., :c] = x.flatten(0, 1).transpose(0, 1)
    width = wide.shape[-1]
    return wide.as_strided((b, h, n, c), (h * width, width, b * h * width, 1))


# ------------------------------------------------------------------------------------------------------------- families


@family("growing values", "growing values", chunks=3)
def growing(x: Tokens, case: Case) -> Tokens:
    """A token counted too early, too late or twice moves the average visibly."""
    x.v += torch.linspace(0.5, 8.0, x.v.shape[-2], dtype=torch.float64)[:, None]
    return x


@family("equal weights")
def constant(x: Tokens, case: Case) -> Tokens:
    """The output is the mean of the values so far, so any token counted wrongly shows."""
    x.q, x.k = torch.ones_like(x.q), torch.ones_like(x.k)
    return x


@family("large positive queries and keys", "warm values")
def warm(x: Tokens, case: Case) -> Tokens:
    """Far above 0, where φ is a line and exp overflows."""
    x.q, x.k = 20 + 2 * x.q, 20 + 2 * x.k
    x.q[..., 0], x.k[..., 0] = 95.0, 1.0
    return x


@family("one number in each query and key whose exp overflows", "hot values", chunks=3)
def hot(x: Tokens, case: Case) -> Tokens:
    """exp overflows in queries and in keys, and everything else is ordinary."""
    x.q[..., 0], x.k[..., 1] = 95.0, 95.0
    return x


@family("features so small that the 1e-6 in the normaliser counts", "cold values", chunks=3)
def cold(x: Tokens, case: Case) -> Tokens:
    """q · z is about as large as the 1e-6 that is added to it."""
    x.q, x.k = 0.3 * x.q - 9.0, 0.3 * x.k - 8.5
    return x


@family("keys whose features are all tiny", "freezing keys")
def freezing(x: Tokens, case: Case) -> Tokens:
    """Every feature of a key is near 3e-9, and q · z still dwarfs the 1e-6."""
    x.k = 0.1 * x.k - 19.5
    return x


@family("queries whose features are tiny, among large keys", "faint queries")
def faint(x: Tokens, case: Case) -> Tokens:
    """Keys so large that q · z still dwarfs the 1e-6."""
    x.q, x.k = 0.3 * x.q - 22.0, 500 + 20 * x.k
    return x


@family("features that vanish in float32", "frozen values")
def frozen(x: Tokens, case: Case) -> Tokens:
    """0 / 0 without the 1e-6."""
    x.q, x.k = 3 * x.q - 150.0, 3 * x.k - 150.0
    return x


@family("features that vanish in every other query", "half of the queries frozen")
def half_frozen(x: Tokens, case: Case) -> Tokens:
    """As `frozen` in the first query and every other one after it; the rest is ordinary."""
    x.q[..., ::2, :] = 3 * x.q[..., ::2, :] - 150.0
    return x


@family("numbers that float16 cannot hold", "huge values")
def huge(x: Tokens, case: Case) -> Tokens:
    """Queries, keys and so z, values and so the state. With float16 inputs only the state is too large."""
    if case.dtype == "float16":
        x.v = 1500.0 + 200.0 * x.v
        return x
    x.v = x.v * 2.0**20
    x.q[..., 1], x.k[..., 0] = 1e5 + 2e3 * x.q[..., 1], 1e5 + 2e3 * x.k[..., 0]
    return x


@family("numbers of both signs in every row", "signs values", chunks=3)
def signs(x: Tokens, case: Case) -> Tokens:
    """Half of every row is below 0, where φ without its + 1 is negative."""
    x.q, x.k = x.q.abs(), x.k.abs()
    x.q[..., ::2], x.k[..., 1::2] = -x.q[..., ::2], -x.k[..., 1::2]
    return x


@family("numbers halfway between two that bfloat16 can hold", "numbers between those of bfloat16")
def halfway(x: Tokens, case: Case) -> Tokens:
    """Exact in TF32, and bfloat16 rounds all of them down by as much as it can."""
    q, k, v = torch.full_like(x.q, 1 / 256), torch.zeros_like(x.k), torch.full_like(x.v, 1 + 1 / 256)
    k[..., 1::3, 1::2, :], v[..., 1::3, 1::2, :] = 1 / 256, -0.75  # weights of two sizes, values of two signs
    k[..., 2::3, :, :] = 1 / 256
    v[..., 1::2] *= -1
    # in the fourth head two features of the query, one of them rounded, that pull towards values of two signs
    q[..., 3::4, :, 1::2], k[..., 3::4, :, :] = 0.0, 0.0
    k[..., 3::4, ::2, 1::2], k[..., 3::4, 1::2, ::2] = VANISHED, VANISHED
    v[..., 3::4, 1::2, :-1] *= -1
    v[..., 3::4, :, -1] /= 2  # all of one sign, against which the error of a row is measured
    return Tokens(q, k, v, x.generator)


@family("values that a later chunk takes back", "values taken back", chunks=3)
def taken_back(x: Tokens, case: Case) -> Tokens:
    """At the end of every other chunk its weights cancel the state, but for what either was rounded, in all columns but every fourth.

    Features of keys, and half of all others and of the values, are halfway between two that bfloat16 can hold, and exact in TF32.
    """
    token, column, between = torch.arange(x.k.shape[-2]), torch.arange(x.v.shape[-1]), 1 / 256
    x.q[:], x.k[:] = torch.where(torch.arange(x.q.shape[-2]) % 2 == 0, between, 0.0)[:, None], between
    value = torch.where((column // 4) % 2 == 1, 1.0, 1.0 + between)
    back = torch.where(column % 4 == 0, 0.0, -1.0)
    x.v[:] = value * torch.where((token // chunk_width(case) % 2 == 1)[:, None], back, 1.0)
    return x


@family("values that are all below zero", "values below zero")
def one_way(x: Tokens, case: Case) -> Tokens:
    x.v = -x.v.abs() - 0.5
    return x


@family("keys near zero")
def short_keys(x: Tokens, case: Case) -> Tokens:
    """Where φ below 0 is nearly a line, but not quite."""
    x.k = -0.12 + 0.004 * torch.rand(x.k.shape, generator=x.generator, dtype=torch.float64)
    x.v = x.v.abs() + 0.5
    return x


@family("keys that grow tenfold from token to token", "steep keys", chunks=2)
def steep(x: Tokens, case: Case) -> Tokens:
    """Up to 1e7, eight tokens at a time: what comes later must leave no trace, not even by cancelling."""
    x.k = (1 + x.k.abs()) * 10.0 ** (torch.arange(x.k.shape[-2], dtype=torch.float64)[:, None] % 8)
    return x


@family("one small feature beside large ones, and queries that need only the small one", "one small feature")
def uneven(x: Tokens, case: Case) -> Tokens:
    """A state rounded to 16 bits of one scale loses the row of the small feature."""
    x.q[..., 1:], x.k[..., 1:] = -30.0, 1000.0
    x.q[..., 0], x.k[..., 0] = 8.0, -9.0 + 0.1 * x.k[..., 0]
    return x


@family("queries so long that only short keys keep the weights finite", "longest queries")
def longest(x: Tokens, case: Case) -> Tokens:
    """A key of 0, or past the last token, has features of 1, and a weight of inf."""
    x.q, x.k = 4e37 * (1 + x.q.abs().clamp(max=0.5)), -13 - x.k.clamp(-1, 1)
    return x


@family("one number that dwarfs all others", "one number that dwarfs all others")
def dwarfing(x: Tokens, case: Case) -> Tokens:
    """No query asks for the feature that dwarfs the others."""
    x.k[..., 0, 0], x.q[..., 0] = 1e9, VANISHED
    return x


@family("tiles of zeros, tiles whose numbers add up to 0, and tiles whose features vanish", "blank tiles", chunks=3)
def blanks(x: Tokens, case: Case) -> Tokens:
    """In turn, chunks of zero queries and values, values that add up to 0, zero keys and values, one token of these, keys whose
    features vanish, and an ordinary chunk. Each head begins with another one.
    """
    width, (b, h, n, _) = chunk_width(case), x.k.shape
    head = torch.arange(b * h).reshape(b, h, 1)
    token = torch.arange(n)
    chunk = (head + token // width) % 6
    x.q[(head + torch.arange(x.q.shape[-2]) // width) % 6 == 0] = 0.0
    x.v[chunk == 0] = 0.0
    x.v[chunk == 1] = 1.0 - 2.0 * (torch.arange(x.v.shape[-1]) % 2).double()
    for blank in (x.k, x.v):
        blank[(chunk == 2) | ((chunk == 3) & (token % width == min(1, width - 1)))] = 0.0
    x.k[chunk == 4] = VANISHED
    return x


@family("weights that float16 cannot hold", "heavy weights")
def heavy(x: Tokens, case: Case) -> Tokens:
    """A query's features times a key's come to more than 65,504, although none of them is large."""
    each = math.sqrt(80_000 / x.q.shape[-1])
    x.q, x.k = each + x.q.clamp(-1, 1), each + x.k.clamp(-1, 1)
    return x


@family("one large feature", "outlier values")
def outlier(x: Tokens, case: Case) -> Tokens:
    """After a dozen tokens its sums pass 65,504, and float16 cannot hold them."""
    x.k[..., 0] = 6000.0 + 100.0 * x.k[..., 0]
    x.v = x.v + 2.0
    return x


@family(
    "chunks that add nothing to the state, a trace, as much as it holds or a thousand times as much, in all orders",
    "all pairs of contributions",
    chunks=6,
)
def contributions(x: Tokens, case: Case) -> Tokens:
    """Each feature's sum goes through all pairs of `FEATURES`, in another order in each feature and head.

    Most queries have a single feature, so their output is an average by that feature alone, however large the others are.
    From chunk to chunk the values are zeros, ordinary or a thousand times as large, and their sign changes, except in column 0.
    """
    g, (*heads, n, d), small = generator(case), x.k.shape, case.dtype == "float16"
    count, width, d_v = math.prod(heads), chunk_width(case), x.v.shape[-1]
    sizes = [min(width, n - at) for at in range(0, n, width)]
    chunk = torch.arange(n) // width
    before = past(case).z.double().flatten()
    start = torch.tensor([4.0, 64.0] if small else [1.0, 1e-6]).repeat(count * d // 2)
    added = added_by_chunk(FEATURES, sizes, before, start, 2.0**16 / d if small else 1e9, g.initial_seed())
    added = added.unflatten(0, (count, d)).mT[:, chunk] / torch.tensor(sizes)[chunk, None]  # [heads, N, D]
    phi = added * torch.where(added == 1, 1.0, 0.5 + torch.rand(added.shape, generator=g, dtype=torch.float64))
    nothing = torch.full_like(phi, VANISHED)
    if not small:
        nothing[:, ::2] = -30.0
    k = torch.where(phi == 0, nothing, torch.where(phi < 1, phi.clamp(min=1e-300).log(), phi - 1))
    i, head = torch.arange(x.q.shape[-2]), torch.arange(count)[:, None]
    q = torch.full((count, len(i), d), VANISHED, dtype=torch.float64)
    picked = torch.tensor([0.0, -1.25, 2.0, -0.0], dtype=torch.float64)[i % 4].expand(count, -1)
    q.scatter_(2, ((i + head) % d)[..., None], picked[..., None])
    q[:, 3::4] = torch.randn(q[:, 3::4].shape, generator=g, dtype=torch.float64)
    orders = torch.tensor([1, DWARFED, DWARFED, 0, 0, DWARFED, 1, 1, 0], dtype=torch.float64)  # all pairs of the three
    size = orders[(torch.arange(len(sizes)) + 3 * head + case.seed) % 9]
    sign = torch.randint(0, 2, (count, len(sizes), d_v), generator=g, dtype=torch.float64) * 2 - 1
    sign[..., 0] = 1.0
    v = (0.5 + torch.rand(count, n, d_v, generator=g, dtype=torch.float64)) * (size[..., None] * sign)[:, chunk]
    return Tokens(q.reshape(x.q.shape), k.reshape(x.k.shape), v.reshape(x.v.shape), g)


@family("many small contributions beside a large one", "many small contributions")
def many_small(x: Tokens, case: Case) -> Tokens:
    """After the first token a whole chunk adds less than half a step to a sum of features in the case's dtype.

    The same holds for every other column of the state. In the columns between, the lost normaliser shows.
    """
    g = generator(case)
    q = torch.randn(x.q.shape, generator=g, dtype=torch.float64)
    share = 0.45 * torch.finfo(DTYPES[case.dtype]).eps / chunk_width(case)
    k = torch.full(x.k.shape, math.log(64 * share), dtype=torch.float64)
    k[..., 0, :] = 63.0
    v = 0.5 + 0.5 * torch.rand(x.v.shape, generator=g, dtype=torch.float64)
    v[..., 1::2] += 8.0
    v[..., 0, :] = 1.0
    return Tokens(q, k, v, g)


FAMILIES = (
    *(NORMAL, growing, constant, warm, hot, cold, freezing, faint, frozen, half_frozen, huge, signs, halfway, one_way),
    *(short_keys, steep, dwarfing, blanks, heavy, taken_back, outlier, longest, contributions, many_small),
)
