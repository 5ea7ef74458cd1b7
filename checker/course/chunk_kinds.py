"""Rows built from chunks of known kinds: all that a running maximum and a running sum can go through, in every order.

What an online softmax meets in a chunk is told by the chunk's place relative to what was seen before. There are few such kinds,
so rows can be built that run through all pairs of them, or all triples, instead of being drawn and hoped for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from random import Random

import torch

BEYOND_EXP = 120.0
"""Further apart than exp reaches: exp(-120) is 0 in float32, exp(120) is infinite."""


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

    Rows end near a maximum of `tops`, in turn. FAR_ABOVE rises by `far`, or as far as the rows' `reach` allows. With `alone`
    one element of a chunk stands far above all others of it, so that of every row one element takes all.
    """

    kinds: tuple[Kind, ...]
    order: int = 2
    tops: tuple[float, ...] = (-64.0, 96.0)
    reach: float | None = None
    alone: bool = False


PAIRS = Plan(tuple(Kind), tops=(96.0, -64.0))
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
    far = torch.full_like(top, BEYOND_EXP) if plan.reach is None else (top + plan.reach) / (rises + 1)
    state = _State.at(_rounded(top - rises * far, dtype), far, plan, dtype)
    chunks = [state.next(numbers[:, j], min(width, n - j * width), g) for j in range(numbers.shape[1])]
    x = torch.cat(chunks, dim=-1)
    if not empty_rows:
        x[:, -1] = torch.where((x == -torch.inf).all(dim=-1), state.start, x[:, -1])
    if not bool(state.start.isfinite().all()) or bool((x == torch.inf).any()):
        raise ValueError(f"{dtype} cannot hold rows of so many chunks that each rise far above the last")
    return x


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


@dataclass
class _State:
    """Of each row: the maximum and the sum so far, [rows] float64, and where it starts and how far it jumps."""

    start: torch.Tensor
    far: torch.Tensor
    plan: Plan
    dtype: torch.dtype
    highest: torch.Tensor
    total: torch.Tensor

    @classmethod
    def at(cls, start: torch.Tensor, far: torch.Tensor, plan: Plan, dtype: torch.dtype) -> _State:
        return cls(start, far, plan, dtype, torch.full_like(start, -torch.inf), torch.zeros_like(start))

    def next(self, numbers: torch.Tensor, size: int, g: torch.Generator) -> torch.Tensor:
        """[rows, size]: a chunk of the kind so numbered for each row. The state moves on."""
        x = self._chunk(numbers, size, g)
        highest = torch.maximum(self.highest, x.amax(dim=-1))
        against = highest.masked_fill(highest == -torch.inf, 0.0)
        self.total = self.total * torch.exp(self.highest - against) + torch.exp(x - against[:, None]).sum(dim=-1)
        self.highest = highest
        return x

    def _chunk(self, numbers: torch.Tensor, size: int, g: torch.Generator) -> torch.Tensor:
        m = len(numbers)
        is_ = {kind: numbers == _index(self.plan, kind) for kind in Kind}
        fresh = self.highest == -torch.inf
        beside = self.start.where(fresh, self.highest)
        near = torch.maximum(0.25 + 1.25 * torch.rand(m, generator=g, dtype=torch.float64), _step(beside, self.dtype))
        share = max(0.01, 8 * torch.finfo(self.dtype).eps)
        moves = {
            Kind.BELOW: -near,
            Kind.FAR_BELOW: -self.far,
            Kind.ABOVE: near,
            Kind.FAR_ABOVE: self.far,
            Kind.SPIKE: 2 * near,
            Kind.SMALL: torch.log(share * self.total / size),
        }
        move = torch.zeros(m, dtype=torch.float64)
        for kind, by in moves.items():
            move = by.where(is_[kind] & ~fresh, move)
        top = _rounded(beside + move, self.dtype)

        drop = torch.rand(m, size, generator=g, dtype=torch.float64)
        drop = torch.where(is_[Kind.SPIKE][:, None], 5 + 2 * drop, 4 * drop).masked_fill(is_[Kind.SMALL][:, None], 0.0)
        x = torch.minimum(_rounded(top[:, None] - drop, self.dtype), top[:, None])
        if self.plan.alone:
            x = torch.minimum(_rounded(self.start - self.far, self.dtype), top)[:, None].repeat(1, size)
        holes = torch.rand(m, size, generator=g) < (0.15 if Kind.EMPTY in self.plan.kinds else 0.0)
        x = x.masked_fill(holes & ~is_[Kind.SMALL][:, None], -torch.inf)
        x[torch.arange(m), torch.randint(size, (m,), generator=g)] = top
        zeros = torch.zeros(size, dtype=torch.float64)
        zeros[1::2] = -0.0
        x = torch.where(is_[Kind.ZEROS][:, None], zeros, x)
        return x.masked_fill(is_[Kind.EMPTY][:, None], -torch.inf)


def _index(plan: Plan, kind: Kind) -> int:
    """The kind's number in the plan, -1 where it is none of it."""
    return plan.kinds.index(kind) if kind in plan.kinds else -1


def _rounded(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return x.to(dtype).double()


def _step(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The distance of two neighbouring numbers of `dtype` at x."""
    return torch.finfo(dtype).eps * torch.exp2(torch.floor(torch.log2(x.abs().clamp(min=1.0))))
