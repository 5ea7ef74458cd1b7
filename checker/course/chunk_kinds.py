"""Rows built from chunks of known kinds: all that a running maximum and a running sum can go through, in every order.

What an online softmax meets in a chunk is told by the chunk's place relative to what was seen before. There are few such kinds,
so rows can be built that run through all pairs of them, or all triples, instead of being drawn and hoped for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random

import torch

BEYOND_EXP = (120.0, 89.5)
"""Further apart than exp reaches in float32: exp(-120) is 0, exp(89.5) is infinite, only just."""


class Kind(Enum):
    """A chunk beside the maximum of all that came before it in its row."""

    EMPTY = auto()  # nothing but -inf
    TIE = auto()  # its largest element is that maximum once more
    BELOW = auto()  # just below
    FAR_BELOW = auto()  # its exponentials vanish
    ABOVE = auto()  # just above
    FAR_ABOVE = auto()  # the exponentials of all before it vanish
    SPIKE = auto()  # one element above, all others well below
    SMALL = auto()  # equal terms that together add 1 % to the sum, or 8 steps of the dtype where that is more
    ZEROS = auto()  # 0.0 and -0.0, wherever the maximum stands


@dataclass(frozen=True)
class Plan:
    """Which kinds a row runs through: in groups of as many rows as there are kinds, every sequence of `order` kinds.

    Rows end near a maximum of `tops`, in turn, those that begin with EMPTY near the lowest: what was put in the place of -inf is
    seen there. FAR_ABOVE rises by BEYOND_EXP, in turn, or as far as the rows' `reach` allows. With `alone`
    one element of a chunk stands far above all others of it, so that of every row one element takes all.
    """

    kinds: tuple[Kind, ...]
    order: int = 2
    tops: tuple[float, ...] = (96.0, -150.0)
    reach: float | None = None
    alone: bool = False

    def without(self, kind: Kind) -> Plan:
        """The same rows but for chunks of this kind, which tie with the maximum instead (ties: lie below it)."""
        instead = Kind.BELOW if kind == Kind.TIE else Kind.TIE
        return replace(self, kinds=tuple(instead if other == kind else other for other in self.kinds))


PAIRS = Plan(tuple(Kind))
IN_SIGHT = Plan(
    (Kind.TIE, Kind.EMPTY, Kind.SMALL, Kind.ABOVE, Kind.FAR_BELOW, Kind.BELOW, Kind.SPIKE), tops=(-150.0, 100.0)
)
"""Without what makes all before it vanish: a mistake in any chunk is still seen at the end of the row."""
TRIPLES = Plan((Kind.FAR_ABOVE, Kind.TIE, Kind.EMPTY, Kind.ABOVE, Kind.FAR_BELOW, Kind.BELOW), order=3)


def extremes(reach: float) -> Plan:
    """Rows between -`reach` and `reach`. One element takes all, so that whatever is rounded at this magnitude, 1 and 0 are right."""
    return Plan((Kind.FAR_ABOVE, Kind.EMPTY, Kind.FAR_BELOW), tops=(-reach / 2, reach), reach=reach, alone=True)


def rows_of_kinds(
    m: int, n: int, width: int, plan: Plan, dtype: torch.dtype, seed: int, *, empty_rows: bool = False
) -> torch.Tensor:
    """[m, n] float64, exact in `dtype`: rows in chunks of `width` columns, the last one ragged.

    Neighbouring rows of a group hold different kinds in every chunk. Where -inf is among the kinds, some elements of other chunks
    are -inf too; unless `empty_rows`, a row never is throughout. Raises ValueError where `dtype` cannot hold such numbers.
    """
    g = torch.Generator().manual_seed(seed)
    numbers = kinds_in_order(m, -(-n // width), len(plan.kinds), plan.order, seed)
    rises = (numbers == _index(plan, Kind.FAR_ABOVE)).sum(dim=-1)
    top = torch.tensor([plan.tops[i % len(plan.tops)] for i in range(m)], dtype=torch.float64)
    top[numbers[:, 0] == _index(plan, Kind.EMPTY)] = min(plan.tops)
    far = _beyond_exp(m, dtype) if plan.reach is None else (top + plan.reach) / (rises + 1)
    start = _rounded(top - rises * far, dtype)
    sizes = [min(width, n - at) for at in range(0, n, width)]
    tops = _tops(numbers, sizes, start, far, plan, dtype, g)
    x = _filled(tops, numbers, sizes, _rounded(start - far, dtype), plan, dtype, g)
    if not empty_rows:
        x[:, -1] = torch.where((x == -torch.inf).all(dim=-1), start, x[:, -1])
    if not bool(start.isfinite().all()) or bool((x == torch.inf).any()):
        raise ValueError(f"{dtype} cannot hold rows of so many chunks that each rise far above the last")
    return x


def _beyond_exp(m: int, dtype: torch.dtype) -> torch.Tensor:
    """[m]: only just, in every other row, where the dtype is fine enough for it."""
    just = BEYOND_EXP[dtype == torch.float32]
    return torch.tensor([(BEYOND_EXP[0], just)[i % 2] for i in range(m)], dtype=torch.float64)


def kinds_in_order(m: int, chunks: int, kinds: int, order: int, seed: int) -> torch.Tensor:
    """[m, chunks] of 0 … kinds - 1: every `kinds` rows run through all sequences of `order` of them, if they are long enough.

    From one chunk to the next, all rows move on by the same number of kinds, modulo `kinds`, and these steps run through a de Bruijn
    sequence of order `order` - 1. Rows of a group begin at different kinds, so they differ in every chunk, and each sequence of steps is
    met from every kind. A group that is too short for all of it leaves the rest to the next.
    """
    draw = Random(seed)
    renamed = draw.sample(range(kinds), kinds)
    steps = [renamed[step] for step in _de_bruijn(kinds, order - 1)]
    first, seen = draw.randrange(kinds), max(chunks - order + 1, 1)
    rows = []
    for row in range(m):
        at = row // kinds * seen
        moved = [steps[(at + j) % len(steps)] for j in range(chunks - 1)]
        kind = [(first + row) % kinds]
        for step in moved:
            kind.append((kind[-1] + step) % kinds)
        rows.append(kind)
    return torch.tensor(rows).reshape(m, chunks)


def _de_bruijn(letters: int, order: int) -> list[int]:
    """A cyclic sequence in which every word of `order` letters stands once: prefer the largest letter (Martin 1934)."""
    word = [0] * order
    seen, out = {tuple(word)}, []
    while True:
        for letter in reversed(range(letters)):
            then = (*word[1:], letter)
            if then not in seen:
                seen.add(then)
                word = list(then)
                out.append(letter)
                break
        else:
            return [*out, 0]


def _tops(
    numbers: torch.Tensor,
    sizes: Sequence[int],
    start: torch.Tensor,
    far: torch.Tensor,
    plan: Plan,
    dtype: torch.dtype,
    g: torch.Generator,
) -> torch.Tensor:
    """[rows, chunks]: the largest element of each chunk. The first that is not -inf or zeros stands at `start` [rows]."""
    m, share = len(numbers), max(0.01, 8 * torch.finfo(dtype).eps)
    apart = 0.25 + 1.25 * torch.rand(numbers.shape, generator=g, dtype=torch.float64)
    highest, total, level = torch.full_like(start, -torch.inf), torch.zeros_like(start), torch.zeros_like(start)
    tops = []
    for j, size in enumerate(sizes):
        beside = start.where(highest == -torch.inf, highest)
        near = torch.maximum(apart[:, j], _step(beside, dtype))
        ordinary = torch.full_like(start, 1 + 0.2 * (size - 1))
        moves_and_sums = {
            Kind.BELOW: (-near, ordinary),
            Kind.FAR_BELOW: (-far, ordinary),
            Kind.ABOVE: (near, ordinary),
            Kind.FAR_ABOVE: (far, ordinary),
            Kind.SPIKE: (2 * near, torch.ones_like(start)),
            Kind.SMALL: (torch.log(share * total / size), torch.full_like(start, size)),
        }
        chosen = [torch.stack(moves_and_sums.get(kind, (level, ordinary))) for kind in plan.kinds]
        move, sum_ = torch.stack(chosen)[numbers[:, j], :, torch.arange(m)].unbind(dim=-1)
        top = _rounded(beside + move.where(highest > -torch.inf, level), dtype)
        top = top.masked_fill(numbers[:, j] == _index(plan, Kind.EMPTY), -torch.inf)
        top = top.masked_fill(numbers[:, j] == _index(plan, Kind.ZEROS), 0.0)
        new = torch.maximum(highest, top)
        against = new.masked_fill(new == -torch.inf, 0.0)
        total = total * torch.exp(highest - against) + sum_ * torch.exp(top - against)
        highest = new
        tops.append(top)
    return torch.stack(tops, dim=-1)


def _filled(
    tops: torch.Tensor,
    numbers: torch.Tensor,
    sizes: Sequence[int],
    lowest: torch.Tensor,
    plan: Plan,
    dtype: torch.dtype,
    g: torch.Generator,
) -> torch.Tensor:
    """[rows, columns]: every chunk with elements below its largest one, which stands anywhere in it."""
    widths = torch.tensor(sizes)
    n, top = int(widths.sum()), tops.repeat_interleave(widths, dim=-1)
    special = (Kind.SPIKE, Kind.SMALL, Kind.ZEROS, Kind.EMPTY)
    is_ = {kind: (numbers == _index(plan, kind)).repeat_interleave(widths, dim=-1) for kind in special}
    drop, holes = torch.rand(2, *top.shape, generator=g, dtype=torch.float64)
    drop = torch.where(is_[Kind.SPIKE], 5 + 2 * drop, 4 * drop).masked_fill(is_[Kind.SMALL], 0.0)
    x = torch.minimum(lowest[:, None] if plan.alone else _rounded(top - drop, dtype), top)
    if Kind.EMPTY in plan.kinds:
        x = x.masked_fill((holes < 0.15) & ~is_[Kind.SMALL], -torch.inf)
    within = (torch.rand(tops.shape, generator=g, dtype=torch.float64) * widths).long()
    x.scatter_(1, widths.cumsum(0) - widths + within, tops)
    zeros = torch.zeros(n, dtype=torch.float64)
    zeros[1::2] = -0.0
    return zeros.where(is_[Kind.ZEROS], x).masked_fill(is_[Kind.EMPTY], -torch.inf)


def _index(plan: Plan, kind: Kind) -> int:
    """The kind's number in the plan, -1 where it is none of it."""
    return plan.kinds.index(kind) if kind in plan.kinds else -1


def _rounded(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x.to(dtype).double()


def _step(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance of two neighbouring numbers of `dtype` at x."""
    return torch.finfo(dtype).eps * torch.exp2(torch.floor(torch.log2(x.abs().clamp(min=1.0))))
