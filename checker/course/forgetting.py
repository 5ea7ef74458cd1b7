"""What the puzzles with decays and the delta rule share: values, the recurrence as their reference, tolerances.

S ← α S; S ← S + k (β (v − Sᵀ k))ᵀ; o = Sᵀ q, with α = exp(g). Without the delta rule the state is only added to: S ← α S + k vᵀ.
(Yang, Kautz and Hatamizadeh 2024, "Gated Delta Networks", equations 8 to 10; Sun et al. 2023, "Retentive Network", equation 6.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from checker.authoring import Row, family
from checker.authoring.space import length
from checker.course.linear_values import stored
from checker.course.tensors import generator
from checker.puzzle import DTYPES, NORMAL, Case, Family, Tensors

# ------------------------------------------------------------------------------------------------------------ reference


def recurrence(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor, s0: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """o [..., N, D_V] and the state after the last token [..., D, D_V], one token after another, in the type of `q`."""
    s, alpha, o = s0.to(q.dtype), g.to(q.dtype).exp(), torch.empty_like(v)
    for i in range(q.shape[-2]):
        s = alpha[..., i, None, None] * s + k[..., i, :, None] * v[..., i, None, :]
        o[..., i, :] = (q[..., i, None, :] @ s)[..., 0, :]
    return o, s


# --------------------------------------------------------------------------------------------------------------- values


@dataclass
class Tokens:
    """q, k [B, H, N, D], v [B, H, N, D_V] and the logarithms of the decays g [B, H, N], in float64."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    g: torch.Tensor
    generator: torch.Generator

    def chance(self) -> torch.Tensor:
        """Uniform numbers below 1, one for each token."""
        return torch.rand(self.g.shape, generator=self.generator, dtype=torch.float64)


def drawn(case: Case) -> Tokens:
    """The case's tokens. Ordinary ones decay by up to a quarter."""
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    draw = generator(case)
    q, k, v = (torch.randn(b, h, n, c, generator=draw, dtype=torch.float64) for c in (d, d, d_v))
    x = Tokens(q, k, v, torch.empty(b, h, n, dtype=torch.float64), draw)
    x.g = -0.3 * x.chance()
    made: Tokens = case.family.make(x, case)
    return made


def in_memory(x: Tokens, case: Case) -> Tensors:
    """The inputs by parameter. q, k and v are in the case's dtype and layout, with NaN in the gaps; g is float32."""
    q, k, v = stored(x.q, case), stored(x.k, case, gap=7), stored(x.v, case, gap=9)
    return {"q_ptr": q, "k_ptr": k, "v_ptr": v, "g_ptr": x.g.float()}


def past(case: Case) -> torch.Tensor:
    """[B, H, D, D_V] float32: the state after an earlier text, about as large as what a few tokens add; zeros without ``PAST``."""
    shape = [case.sizes[name] for name in ("B", "H", "D", "D_V")]
    if not case.flags.get("PAST"):
        return torch.zeros(shape)
    return 3 * torch.randn(shape, generator=torch.Generator().manual_seed(case.seed * 7 + 1))


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


FAMILIES = (NORMAL, growing, lasting, fixed, strong, mixed, resets, halfway, large, many_small, blanks)


def tokens(family: Family, tile: int, remainder: str | float) -> int:
    """How many tokens a text has that ends as `remainder` says, or so many."""
    if isinstance(remainder, int):
        return remainder
    return length(tile * family.chunks, tile, remainder, off_edges=False)


def flags_of(row: Row) -> dict[str, bool]:
    return {"PAST": True} if row["past"] else {}
