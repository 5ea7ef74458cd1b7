"""Sums that go through all pairs of contributions, and the keys of linear attention that are built from them."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from checker.course import PUZZLES
from checker.course.contributions import FEATURES, NUMBERS, Share, contributions
from checker.course.linear_values import contributions as all_pairs
from checker.course.linear_values import feature_map, many_small
from checker.judge.launches import prepare
from checker.puzzle import DTYPES, Case, Family

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


def test_a_sum_never_shrinks():
    """So that what is lost to rounding on the way is small beside what is left."""
    before = torch.tensor([-2.0, 0.0, 3.0, -1.0, 0.5], dtype=torch.float64)
    sums = before[:, None] + contributions(NUMBERS, [1] * 12, before, torch.ones(5), 1e30, seed=0).cumsum(-1)
    assert (sums[:, 1:].abs() >= sums[:, :-1].abs() * (1 - 1e-12)).all()


def texts(n: int, dtype: str, family: Family, **more) -> Case:
    return Case({"B": 1, "H": 2, "N": n, "D": 16, "D_V": 24}, {"CHUNK": WIDTH, "BLOCK_V": 16}, dtype, family, **more)


def state_before_chunks(case: Case) -> tuple[torch.Tensor, torch.Tensor]:
    """z before each chunk and what each chunk adds, [heads, chunks, D]."""
    tensors = PUZZLES["causal_linear_attention_chunked"].make(case)
    added = torch.stack([feature_map(k.double()).sum(-2) for k in tensors["k_ptr"].split(WIDTH, dim=-2)], dim=2)[0]
    z = tensors["z0_ptr"].double()[0, :, None] + added.cumsum(1) - added
    return z, added


@pytest.mark.parametrize("past", [0, 11])
@pytest.mark.parametrize("dtype", DTYPES)
def test_features_meet_chunks_of_every_kind(dtype, past):
    z, added = state_before_chunks(texts(6 * WIDTH, dtype, all_pairs, flags={"PAST": past}))
    share = added / z
    assert (added < 1e-10).any(), "a chunk whose features vanish"
    assert (added == WIDTH).any(), "a chunk of zeros"
    assert ((share > 5e-4) & (share < 2e-3)).any(), "a trace"
    assert ((share > 0.6) & (share < 1.6)).any(), "as much again"
    assert (share[z > 0] > 100).any(), "what dwarfs all before"
    assert (added.argsort(dim=1)[0] != added.argsort(dim=1)[1]).any(), "another phase in every head"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_state_in_16_bits_loses_many_small_contributions(dtype):
    """Chunk by chunk in the dtype: no feature's sum moves from where the first token put it."""
    case = texts(1003, dtype, many_small)
    _, added = state_before_chunks(case)
    z = torch.zeros_like(added[:, 0]).to(DTYPES[dtype])
    for chunk in added.unbind(1):
        z = z + chunk.to(z.dtype)
    expected = prepare(PUZZLES["causal_linear_attention_chunked"], case).expected["z_ptr"][0]
    assert ((expected - z.double()) / expected > 0.02).all()
