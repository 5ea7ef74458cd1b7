"""Running sums built from contributions of known size, in every order.

What a chunk does to a running sum depends on how much it adds relative to the sum so far: nothing, a trace, as much again, a
thousand times as much. There are few such kinds, so keys can be built whose features go through all pairs of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

import torch

from checker.course.chunk_kinds import kinds_in_order

DWARFED = 1000.0


class Share(Enum):
    """What a chunk adds to a sum, relative to the sum so far."""

    NOTHING = auto()
    TRACE = auto()  # a thousandth of it
    AS_MUCH = auto()  # the same again
    DOMINANT = auto()  # a thousand times as much
    OPPOSITE = auto()  # twice as much with the other sign: the sum changes sign
    PLAIN = auto()  # one for each term, whatever the sum is


FACTORS = {Share.TRACE: 1 / DWARFED, Share.AS_MUCH: 1.0, Share.DOMINANT: DWARFED, Share.OPPOSITE: -2.0}
FEATURES = (Share.AS_MUCH, Share.NOTHING, Share.DOMINANT, Share.TRACE, Share.PLAIN)
"""The kinds for sums of features, which are never negative."""
NUMBERS = (Share.AS_MUCH, Share.NOTHING, Share.DOMINANT, Share.OPPOSITE, Share.TRACE)
"""The kinds for sums of numbers of either sign."""


def contributions(
    kinds: Sequence[Share],
    sizes: Sequence[int],
    before: torch.Tensor,
    start: torch.Tensor,
    reach: float,
    seed: int,
) -> torch.Tensor:
    """[sums, chunks] float64: what each chunk adds to each sum. The sums begin with `before` [sums].

    `sizes` is the number of terms in each chunk. A chunk that adds to a sum of 0 adds `start` [sums]; no contribution exceeds `reach`.
    Neighbouring sums have different kinds in every chunk. Any ``len(kinds)`` neighbours together go through all pairs of kinds if
    there are more chunks than kinds (`kinds_in_order`).
    """
    numbers = kinds_in_order(len(before), len(sizes), len(kinds), 2, seed)
    added, total = [], before.double()
    for chunk, size in enumerate(sizes):
        beside = total.where(total != 0, start.double())
        by_kind = []
        for kind in kinds:
            factor = torch.where(total != 0, FACTORS.get(kind, 0.0), 0.0 if kind is Share.NOTHING else 1.0)
            by_kind.append(torch.full_like(total, size) if kind is Share.PLAIN else factor * beside)
        now = torch.stack(by_kind)[numbers[:, chunk], torch.arange(len(total))].clamp(-reach, reach)
        added.append(now)
        total = total + now
    return torch.stack(added, dim=-1)
