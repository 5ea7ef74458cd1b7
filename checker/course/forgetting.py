"""What the puzzles with decays and the delta rule share: values, the recurrence as their reference, tolerances.

S ← α S; S ← S + k (β (v − Sᵀ k))ᵀ; o = Sᵀ q, with α = exp(g). Without the delta rule the state is only added to: S ← α S + k vᵀ.
(Yang, Kautz and Hatamizadeh 2024, "Gated Delta Networks", equations 8 to 10; Sun et al. 2023, "Retentive Network", equation 6.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from checker.authoring import Row, family
from checker.authoring.space import length
from checker.course.linear_values import stored
from checker.course.tensors import generator
from checker.puzzle import DTYPES, NORMAL, Case, Family, Tensors

# ------------------------------------------------------------------------------------------------------------ reference


def states(
    k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, s0: torch.Tensor, beta: torch.Tensor | None = None
) -> Iterator[torch.Tensor]:
    """The state [..., D, D_V] after each token, in the type of `k`. With `beta` a token writes by the delta rule, else it is added."""
    s, alpha = s0.to(k.dtype), g.to(k.dtype).exp()
    for i in range(k.shape[-2]):
        s = alpha[..., i, None, None] * s
        u = v[..., i, None, :]
        if beta is not None:
            u = beta[..., i, None, None] * (u - k[..., i, None, :] @ s)
        s = s + k[..., i, :, None] * u
        yield s


def recurrence(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    s0: torch.Tensor,
    beta: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o [..., N, D_V] and the state after the last token [..., D, D_V], one token after another."""
    o, s = torch.empty_like(v), s0
    for i, s in enumerate(states(k, v, g, s0, beta)):
        o[..., i, :] = (q[..., i, None, :] @ s)[..., 0, :]
    return o, s


def held(k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, s0: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    """[..., N, D_V]: by column, the largest norm of the state so far, or a value written into it, as far as it has not decayed.

    The error of a state is a fraction of it. A step of the delta rule lengthens no column whose key has a norm of 1, and no error.
    """
    most, out = s0.norm(dim=-2), torch.empty_like(v)
    for i, s in enumerate(states(k, v, g, s0, beta)):
        written = (beta[..., i, None] * v[..., i, :] * k[..., i, :].norm(dim=-1, keepdim=True)).abs()
        most = torch.stack((g[..., i, None].exp() * most, s.norm(dim=-2), written)).amax(dim=0)
        out[..., i, :] = most
    return out


def as_read(held: torch.Tensor, q: torch.Tensor, output: str) -> torch.Tensor:
    """`held` [..., N, D_V] times the norm of each query for o; for the state, its last row [..., 1, D_V]."""
    return held * q.double().norm(dim=-1, keepdim=True) if output == "o_ptr" else held[..., -1:, :]


# --------------------------------------------------------------------------------------------------------------- values


@dataclass
class Tokens:
    """q, k [B, H, N, D], v [B, H, N, D_V], the logarithms of the decays g [B, H, N] and the strengths beta [B, H, N], in float64."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    g: torch.Tensor
    beta: torch.Tensor
    generator: torch.Generator

    def chance(self) -> torch.Tensor:
        """Uniform numbers below 1, one for each token."""
        return torch.rand(self.g.shape, generator=self.generator, dtype=torch.float64)


def drawn(case: Case, unit: bool = False) -> Tokens:
    """The case's tokens. Ordinary ones decay by up to a quarter. With `unit`, keys have a norm of 1 unless the family says otherwise."""
    b, h, n = (case.sizes[name] for name in ("B", "H", "N"))
    d, d_v, draw = case.sizes.get("D", 16), case.sizes.get("D_V", 1), generator(case)
    q, k, v = (torch.randn(b, h, n, c, generator=draw, dtype=torch.float64) for c in (d, d, d_v))
    none = torch.zeros(b, h, n, dtype=torch.float64)
    x = Tokens(q, normalised(k) if unit else k, v, none, none.clone(), draw)
    x.g, x.beta = -0.3 * x.chance(), x.chance()
    made: Tokens = case.family.make(x, case)
    return made


def normalised(k: torch.Tensor) -> torch.Tensor:
    return k / k.norm(dim=-1, keepdim=True)


def in_memory(x: Tokens, case: Case) -> Tensors:
    """The inputs by parameter. q, k and v are in the case's dtype and layout, with NaN in the gaps; g and beta are float32."""
    q, k, v = stored(x.q, case), stored(x.k, case, gap=7), stored(x.v, case, gap=9)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "g_ptr": x.g.float(), "beta_ptr": x.beta.float()}


def past(case: Case) -> torch.Tensor:
    """[B, H, D, D_V] float32: the state after an earlier text, about as large as what a few tokens add; zeros without ``PAST``.

    Before `vast` values it is as large as they are.
    """
    shape = [case.sizes[name] for name in ("B", "H", "D", "D_V")]
    if not case.flags.get("PAST"):
        return torch.zeros(shape)
    size = VAST if case.family is vast else 3
    return size * torch.randn(shape, generator=torch.Generator().manual_seed(case.seed * 7 + 1))


def positions(x: Tokens, case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """The chunk and the place inside it of each token [B, H, N]. Each head begins with another chunk."""
    (b, h, n), width = x.g.shape, case.meta.get("CHUNK", 4)
    token, head = torch.arange(n), torch.arange(b * h).reshape(b, h, 1)
    return head + token // width, (token % width).expand(b, h, n)


@family("growing values", "growing values", chunks=3)
def growing(x: Tokens, case: Case) -> Tokens:
    """A token counted too early, too late or twice moves the output visibly."""
    x.v += torch.linspace(0.5, 8.0, x.v.shape[-2], dtype=torch.float64)[:, None]
    return x


@family("decays of 1: nothing is forgotten", "nothing forgotten")
def lasting(x: Tokens, case: Case) -> Tokens:
    x.g.zero_()
    return x


@family("a fixed decay for each head", "fixed decays")
def fixed(x: Tokens, case: Case) -> Tokens:
    """1 - 2⁻⁵, 1 - 2⁻⁶ and so on, as in RetNet."""
    b, h, _ = x.g.shape
    x.g[:] = torch.log1p(-(2.0 ** -(5 + torch.arange(b * h).double()))).reshape(b, h, 1)
    return x


@family("decays a little below 1, the same throughout a chunk", "weak decays", chunks=4)
def weak(x: Tokens, case: Case) -> Tokens:
    """Each is nearly 1, and their product over a chunk, or over a long text, is not. Little is written over the state."""
    logs = torch.tensor([-1e-3, -3e-3, -8e-3, -2e-2], dtype=torch.float64)
    x.g = logs[positions(x, case)[0] % 4] * 16 / case.meta.get("CHUNK", 16)
    x.beta = x.beta / 50
    return x


@family("strong decays, whose logarithms add up to less than -88 in a chunk", "strong decays", chunks=3)
def strong(x: Tokens, case: Case) -> Tokens:
    """exp of a sum of them vanishes, and that of its negative overflows."""
    x.g = -4 - 20 * x.chance()
    return x


@family("chunks that forget nothing, little, nearly all or all, in turn", "decays of all kinds", chunks=4)
def mixed(x: Tokens, case: Case) -> Tokens:
    """In turn, chunks with decays of 1, ordinary ones, strong ones, one strong one among ordinary ones, and one of 0."""
    (chunk, place), width = positions(x, case), case.meta.get("CHUNK", 4)
    middle = place == width // 2
    kind = chunk % 5
    x.g = torch.where(kind == 1, 0.0, torch.where(kind == 2, -4 - 20 * x.chance(), x.g))
    x.g[(kind == 3) & middle], x.g[(kind == 4) & middle] = -40.0, -math.inf
    return x


@family("tokens that forget everything before them", "decays of 0", chunks=3)
def resets(x: Tokens, case: Case) -> Tokens:
    """The first token of a chunk, its last, two in the middle, and in some heads the first or the last of the text."""
    (chunk, place), width = positions(x, case), case.meta.get("CHUNK", 4)
    kind, middle = chunk % 4, (place == width // 2) | (place == width // 2 + 1)
    x.g[((kind == 0) & (place == 0)) | ((kind == 1) & (place == width - 1)) | ((kind == 2) & middle)] = -math.inf
    heads = x.g.flatten(0, 1)
    heads[1::3, 0] = -math.inf
    heads[2::3, -1] = -math.inf
    return x


@family("single decays that vanish in float32, though their logarithms are finite", "huge logarithms", chunks=4)
def sudden(x: Tokens, case: Case) -> Tokens:
    """In the middle of a chunk. Beside such a logarithm, a sum in float32 loses those of the ordinary decays around it."""
    (chunk, place), width = positions(x, case), case.meta.get("CHUNK", 4)
    logs = torch.tensor([-1e9, -1e3, -1e30, -2e4], dtype=torch.float64)
    x.g = torch.where(place == width // 3, logs[chunk % 4], x.g)
    return x


VAST = 1e14


@family("values and a state of 10¹⁴ that decay to ordinary numbers or to 0", "vast values that decay", chunks=4)
def vast(x: Tokens, case: Case) -> Tokens:
    """In turn, a chunk leaves e⁻³² of the state, nothing, e⁻²⁵, or e⁻⁵⁸. Every second one ends with a vast value.

    The one that leaves nothing also begins with one, and forgets in its middle.
    """
    (chunk, place), width = positions(x, case), case.meta.get("CHUNK", 4)
    kind = chunk % 4
    x.g = torch.tensor([-32.0, 0.0, -25.0, -58.0], dtype=torch.float64)[kind] / width
    x.g[(kind == 1) & (place == width // 2)] = -math.inf
    x.v[(kind % 2 == 1) & (place == width - 1) | (kind == 1) & (place == 0)] *= VAST
    return x


@family("single values, forgotten down to a trace before anything reads them", "traces of large values", chunks=4)
def traces(x: Tokens, case: Case) -> Tokens:
    """All else is 0, so the trace is the whole output: e⁻¹⁷ to e⁻⁶⁰ of a value, or in float16 e⁻⁸ to e⁻¹⁷ of up to 30,000.

    In turn, chunks begin with a value, end with one, or write none. The token after a value forgets it.
    """
    (chunk, place), width, small = positions(x, case), case.meta.get("CHUNK", 4), case.dtype == "float16"
    written = ((chunk % 3 == 0) & (place == 0)) | ((chunk % 3 == 1) & (place == width - 1))
    logs = torch.tensor([8.013, 10.57, 13.3, 16.91] if small else [17.03, 31.992, 46.77, 59.973], dtype=torch.float64)
    forgotten = logs[-1 - chunk % 4]
    x.g = -torch.where(written, forgotten, 0.0).roll(1, dims=-1)
    x.g[..., 0] = 0.0
    size = forgotten.exp().clamp(max=3e4 if small else math.inf)
    x.v = torch.where(written, size, 0.0)[..., None] * (0.5 + x.v.abs().clamp(max=0.5))
    x.q = torch.where(written[..., None], 0.0, x.q)  # float16 could not hold their output
    x.beta = written.double()
    return x


@family(
    "numbers halfway between two that bfloat16 can hold, and nothing forgotten", "numbers between those of bfloat16"
)
def halfway(x: Tokens, case: Case) -> Tokens:
    """Exact in TF32, and bfloat16 rounds all of them down by as much as it can."""
    for part in (x.q, x.k, x.v):
        part[:] = 1 + 1 / 256
    x.g.zero_()
    return x


@family("weights and states that float16 cannot hold", "large numbers")
def large(x: Tokens, case: Case) -> Tokens:
    """In even heads a query times a key comes to more than 65,504, in odd heads a number of the state does. Outputs fit."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    q, k, v = (part.flatten(0, 1) for part in (x.q, x.k, x.v))
    each = math.sqrt(80_000 / q.shape[-1])
    k[:] = each + k.clamp(-1, 1)
    q[even], v[even] = each + q[even].clamp(-1, 1), v[even] / 100
    q[odd], v[odd] = (1 + q[odd].abs()) / 1000, 1000 + 90 * v[odd]
    return x


@family("queries far above, and keys far below, what float16 can hold", "numbers beyond float16")
def beyond(x: Tokens, case: Case) -> Tokens:
    """Their products are ordinary. In float16 the queries still fit, and keys have few bits: decayed or not, none may be lost."""
    if case.dtype == "float16":
        x.q, x.k, x.v = x.q * 2.0**13, x.k * 2.0**-20, x.v * 2.0**10
    else:
        x.q, x.k = x.q * 2.0**20, x.k * 2.0**-20
    return x


@family("many small contributions beside a large one", "many small contributions")
def many_small(x: Tokens, case: Case) -> Tokens:
    """After the first token, every other adds less than half a step in the case's dtype to a state that hardly decays."""
    share = 0.4 * torch.finfo(DTYPES[case.dtype]).eps / case.meta.get("CHUNK", 1)
    x.q, x.k, x.v = x.q.abs() + 0.5, torch.full_like(x.k, share), x.v.abs() + 0.5
    x.k[..., 0, :], x.v[..., 0, :] = 1.0, 1.0
    x.g[:] = 0.0
    return x


@family("chunks of zeros", "blank tiles", chunks=4)
def blanks(x: Tokens, case: Case) -> Tokens:
    """Queries, keys or values of a chunk are 0; the decays go on."""
    kind = positions(x, case)[0] % 4
    for at, part in enumerate((x.q, x.k, x.v)):
        part[kind == at] = 0.0
    return x


# ---------------------------------------------------------------------------------------------- values for the delta rule


@family("few keys, which come again and again", "repeated keys", chunks=3)
def repeated(x: Tokens, case: Case) -> Tokens:
    """Three keys in turn, written in full and never decayed: each value replaces the one before under its key."""
    n = x.k.shape[-2]
    x.k = x.k[..., :3, :][..., torch.arange(n) % min(3, n), :]
    x.g.zero_()
    x.beta[:] = 1.0
    return x


@family("values that replace one another under two keys", "replaced values")
def replacing(x: Tokens, case: Case) -> Tokens:
    """Two keys in turn, along an axis each, and small whole numbers: easy to follow by eye."""
    n, d = x.k.shape[-2:]
    x.k.zero_()
    x.k[..., torch.arange(n), torch.arange(n) % min(2, d)] = 1.0
    x.q, x.v = x.k.clone(), (4 * x.v).round()
    x.g.zero_()
    x.beta[:] = 1.0
    return x


@family("keys that are nearly equal", "nearly equal keys", chunks=3)
def alike(x: Tokens, case: Case) -> Tokens:
    """Every token corrects what the one before it wrote. Nothing decays, and all of the difference is written."""
    x.k = normalised(x.k[..., :1, :] + 0.05 * x.k)
    x.g.zero_()
    x.beta[:] = 1.0
    return x


@family("strengths of 0, 1, 2 and between, in turn", "strengths of all kinds", chunks=3)
def strengths(x: Tokens, case: Case) -> Tokens:
    """Nothing is written, all of the difference, twice as much, or a share."""
    kind = (positions(x, case)[0] + torch.arange(x.g.shape[-1])) % 4
    x.beta = torch.where(kind == 0, 0.0, torch.where(kind == 1, 1.0, torch.where(kind == 2, 2.0, x.beta)))
    return x


@family("keys of other lengths than 1", "keys of all lengths")
def lengths(x: Tokens, case: Case) -> Tokens:
    """From 0 to 1.4: with beta up to 1, no step overshoots by more than the state itself."""
    x.k = x.k * (1.4 * x.chance())[..., None]
    x.k[..., 1::5, :] = 0.0
    return x


@family("queries and keys whose products float16 cannot hold, with strengths to match", "long queries and keys")
def long(x: Tokens, case: Case) -> Tokens:
    """Keys are 3,000 long, and beta · (k · k) is 1 to 2: a strength of a ten-millionth writes all that a key is for."""
    x.q, x.k = 300 * x.q, 3000 * normalised(x.k)
    x.beta = (1 + x.beta) / 3000**2
    return x


@family("queries at right angles to every key, so that only the start answers", "queries outside the span")
def outside(x: Tokens, case: Case) -> Tokens:
    x.k[..., 0], x.q[..., 1:] = 0.0, 0.0
    x.k = normalised(x.k)
    return x


@family(
    "nearly parallel keys whose lengths differ by up to 300,000 times, with strengths to match", "uneven keys", chunks=3
)
def uneven(x: Tokens, case: Case) -> Tokens:
    """In turn: short keys, ordinary ones, ordinary ones that hardly write, and long ones, which write zeros.

    beta · (k · k) is at most 2. In every second chunk the logarithms of the decays add up to -86, close to the edge of float32.
    """
    (chunk, place), width = positions(x, case), case.meta.get("CHUNK", 4)
    kind, most = place % 4, torch.tensor([2.0, 2.0, 2e-7, 2e-5], dtype=torch.float64)
    length = torch.tensor([1e-3, 1.0, 1.0, 300.0], dtype=torch.float64)[kind]
    x.k = length[..., None] * normalised(x.k[..., :1, :] + 0.05 * x.k)
    x.beta = most[kind] * (1 + x.beta) / 2
    x.v[kind == 3] = 0.0
    x.g = torch.where(chunk % 2 == 1, -86 / width, x.g)
    return x


FAMILIES = (
    *(NORMAL, growing, lasting, fixed, weak, strong, mixed, resets, sudden, vast, halfway),
    *(large, many_small, beyond, blanks, traces),
)


@family("keys so small that float16 would lose them", "tiny keys")
def tiny(x: Tokens, case: Case) -> Tokens:
    x.k = x.k / 2**20
    return x


@family("values that float16 cannot hold", "huge values")
def huge(x: Tokens, case: Case) -> Tokens:
    x.v = 1e6 * x.v
    return x


@family("many small corrections of a large value", "many small corrections")
def creeping(x: Tokens, case: Case) -> Tokens:
    """Under one key, each chunk moves the value from 1 towards 2 by less than half a step in 16 bits (bfloat16's in float32)."""
    sixteen = DTYPES["bfloat16" if case.dtype == "float32" else case.dtype]
    x.k[:], x.v[:], x.g[:] = torch.eye(x.k.shape[-1], dtype=torch.float64)[0], 2.0, 0.0
    x.beta[:] = 0.4 * torch.finfo(sixteen).eps / case.meta.get("CHUNK", 1)
    x.v[..., 0, :], x.beta[..., 0] = 1.0, 1.0
    return x


@family("values that are written and then erased", "values erased", chunks=4)
def erased(x: Tokens, case: Case) -> Tokens:
    """Chunks write and erase in turn, and queries ask for what was erased: what the state still held and what the chunk took from it
    cancel, but for what either was rounded.

    A quarter of the queries, keys and strengths, and half of the values, are halfway between two numbers that bfloat16 can hold, and
    exact in TF32. Keys are at right angles.
    """
    (chunk, place), between = positions(x, case), 1 + 1 / 256
    odd, kind, column = chunk[0, 0] % 2 == 1, place[0, 0] % 16, torch.arange(x.v.shape[-1])
    index = torch.arange(16)
    common = (index[:, None] & index)[..., None] >> torch.arange(4) & 1  # the bits that two indices share
    signs = 1.0 - 2.0 * (common.sum(dim=-1) % 2)
    keys = torch.nn.functional.pad(signs / 4, (0, x.k.shape[-1] - 16))
    x.k[:], x.q[:] = keys[kind], keys[torch.where(odd, kind, (kind + 8) % 16)]
    x.g.zero_()
    x.beta[:] = torch.where(kind % 4 == 1, between, 1.0)
    x.q *= torch.where(kind % 4 == 2, between, 1.0)[:, None]
    x.k *= torch.where(kind % 4 == 3, between, 1.0)[:, None]
    value = torch.where((column // 4 + column // 16) % 2 == 1, between, 1.0) * 4
    x.v[:] = torch.where((kind[:, None] == column % 16) & ~odd[:, None], value, 0.0)
    return x


DELTA = (
    NORMAL,
    growing,
    beyond,
    creeping,
    repeated,
    replacing,
    alike,
    strengths,
    lengths,
    outside,
    long,
    uneven,
    traces,
    mixed,
    resets,
    sudden,
    vast,
    strong,
    weak,
    fixed,
    blanks,
)
"""The families for the delta rule."""


def tokens(family: Family, tile: int, remainder: str | float) -> int:
    """How many tokens a text has that ends as `remainder` says, or so many."""
    if isinstance(remainder, int):
        return remainder
    return length(tile * family.chunks, tile, remainder, off_edges=False)


SHORT = ("short", "alone", *range(16))
"""Remainders that leave less than a chunk."""
NEEDS = {
    halfway: ("float32",),
    large: ("float16",),
    tiny: ("float32",),
    huge: ("float32",),
    vast: ("float32", "bfloat16"),
    uneven: ("float16",),
    weak: ("float32",),
}
"""The dtypes in which a family shows what it is for, if not all."""


def fits(row: Row, *long: Family) -> bool:
    """Whether a case has the dtype, the layout and the tokens for what its family is for; those in `long` need a whole chunk."""
    family, in_turn = row["family"], row["family"] in (weak, sudden, vast, uneven)
    if in_turn and isinstance(row["remainder"], int):
        return False
    if row["dtype"] not in NEEDS.get(family, DTYPES) or (
        family in (uneven, vast) and row["layout"] == "repeated token"
    ):
        return False
    return row["remainder"] not in SHORT or not (in_turn or family in (*long, mixed))


def flags_of(row: Row) -> dict[str, bool]:
    return {"PAST": True} if row["past"] else {}
