"""Sums that go through all pairs of contributions, and the keys of linear attention that are built from them."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from checker.course.contributions import FEATURES, NUMBERS, Share, contributions

WIDTH = 16


def seen_shares(before: float, added: list[float]) -> list[Share | None]:
    """What each contribution is, found from the numbers; None where it meets an empty sum."""
    found: list[Share | None] = []
    total = before
    for one in added:
        factors = {
            0.0: Share.NOTHING,
            0.001: Share.TRACE,
            1.0: Share.AS_MUCH,
            1000.0: Share.DOMINANT,
            -2.0: Share.OPPOSITE,
        }
        kind = next((kind for factor, kind in factors.items() if total and abs(one / total - factor) < 1e-9), None)
        found.append(Share.PLAIN if one == WIDTH else kind)
        total += one
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kinds", [FEATURES, NUMBERS], ids=["features", "numbers"])
def test_as_many_sums_as_kinds_meet_every_pair(kinds, seed):
    count = len(kinds)
    before = torch.full((count,), 0.7, dtype=torch.float64)
    added = contributions(kinds, [WIDTH] * (count + 1), before, torch.ones(count), 1e30, seed)
    shares = [seen_shares(0.7, row) for row in added.tolist()]
    assert {pair for row in shares for pair in pairwise(row)} == {(a, b) for a in kinds for b in kinds}
    for one, other in pairwise(shares):
        assert all(a != b for a, b in zip(one, other, strict=True))
