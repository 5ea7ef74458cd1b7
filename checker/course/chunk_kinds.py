"""Rows built from chunks of known kinds: everything that can happen to a running maximum and sum, in every order.

What a chunk does to an online softmax depends on where it lies relative to the maximum so far. There are few such kinds, so rows
can be built that contain all pairs of them, or all triples. Random rows might miss some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random

import torch

BEYOND_EXP = (120.0, 89.5)
"""Differences beyond the range of exp in float32: exp(-120) is 0, and exp(89.5) just overflows."""


class Kind(Enum):
    """What a chunk is relative to the maximum of everything before it in its row."""

    EMPTY = auto()  # nothing but -inf
    TIE = auto()  # its largest element equals that maximum
    BELOW = auto()  # just below
    FAR_BELOW = auto()  # its exponentials vanish
    ABOVE = auto()  # just above
    FAR_ABOVE = auto()  # the exponentials of everything before it vanish
    SPIKE = auto()  # one element above, all others well below
    SMALL = auto()  # equal terms that together add 1 % to the sum, or 8 steps of the dtype if that is more
    ZEROS = auto()  # 0.0 and -0.0, whatever the maximum is


@dataclass(frozen=True)
class Plan:
    """The kinds of chunks in a row. Each group of ``len(kinds)`` rows contains every sequence of `order` kinds.

    The final maximum of a row is near one of `tops`, in turn. Rows that begin with EMPTY end near the lowest, which exposes a wrong
    replacement of -inf. FAR_ABOVE rises by one of BEYOND_EXP, in turn, or as far as `reach` allows. With `alone`, one element of
    each chunk is far above the others, so that one element of every row has all the weight.
    """

    kinds: tuple[Kind, ...]
    order: int = 2
    tops: tuple[float, ...] = (96.0, -150.0)
    reach: float | None = None
    alone: bool = False

    def without(self, kind: Kind) -> Plan:
        """The plan with every chunk of this `kind` replaced by a TIE, and every TIE by BELOW."""
        instead = Kind.BELOW if kind == Kind.TIE else Kind.TIE
        return replace(self, kinds=tuple(instead if other == kind else other for other in self.kinds))


PAIRS = Plan(tuple(Kind))
IN_SIGHT = Plan(
    (Kind.TIE, Kind.EMPTY, Kind.SMALL, Kind.ABOVE, Kind.FAR_BELOW, Kind.BELOW, Kind.SPIKE), tops=(-150.0, 100.0)
)
"""Without FAR_ABOVE, so that a mistake in any chunk still shows at the end of the row."""
TRIPLES = Plan((Kind.FAR_ABOVE, Kind.TIE, Kind.EMPTY, Kind.ABOVE, Kind.FAR_BELOW, Kind.BELOW), order=3)


def extremes(reach: float) -> Plan:
    """Rows between -`reach` and `reach`. One element has all the weight, so the result is 1 and 0 despite rounding at this magnitude."""
    return Plan((Kind.FAR_ABOVE, Kind.EMPTY, Kind.FAR_BELOW), tops=(-reach / 2, reach), reach=reach, alone=True)


def rows_of_kinds(
    m: int, n: int, width: int, plan: Plan, dtype: torch.dtype, seed: int, *, empty_rows: bool = False
) -> torch.Tensor:
    """[m, n] float64, exact in `dtype`: rows in chunks of `width` columns, of which the last may be shorter.

    Neighbouring rows of a group have different kinds in every chunk. If EMPTY is among the kinds, some elements of other chunks are
    -inf too. A row is -inf throughout only with `empty_rows`. Raises ValueError if `dtype` cannot hold such numbers.
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
    if plan.reach is not None:
        x = x.clamp(max=plan.reach)  # next to the end of its type, a number may have been rounded to infinity
    if not bool(start.isfinite().all()) or bool((x == torch.inf).any()):
        raise ValueError(f"{dtype} cannot hold rows of so many chunks that each rise far above the last")
    return x


def _beyond_exp(m: int, dtype: torch.dtype) -> torch.Tensor:
    """[m] rises: 120, and in every other row 89.5 if the dtype is fine enough."""
    just = BEYOND_EXP[dtype == torch.float32]
    return torch.tensor([(BEYOND_EXP[0], just)[i % 2] for i in range(m)], dtype=torch.float64)


def kinds_in_order(m: int, chunks: int, kinds: int, order: int, seed: int) -> torch.Tensor:
    """[m, chunks] of 0 to kinds - 1: each group of `kinds` rows contains all sequences of `order` kinds, if the rows are long enough.

    From one chunk to the next, all rows of a group advance by the same step, modulo `kinds`. The steps follow a de Bruijn sequence
    of order `order` - 1. The rows of a group start at different kinds, so they differ in every chunk, and each sequence of steps
    occurs from every kind. If the rows are too short for all sequences, the next group continues.
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
    """A cyclic sequence that contains every word of `order` letters once: prefer the largest letter (Martin 1934)."""
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
    """[rows, chunks]: the largest element of each chunk. The first chunk that is neither -inf nor zeros gets `start` [rows]."""
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
