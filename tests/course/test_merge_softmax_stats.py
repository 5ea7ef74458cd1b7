"""The parts and the reference of merge_softmax_stats, against the statistics of the rows they come from."""

from __future__ import annotations

import pytest
import torch

from checker.course.families import empty
from checker.course.merge_softmax_stats import PUZZLE, partials
from checker.puzzle import Case


def case(m: int, n: int, splits: int, **more) -> Case:
    return Case({"M": m, "N": n, "SPLITS": splits}, {"BLOCK_S": 16}, **more)


@pytest.mark.parametrize(("n", "splits"), [(12, 3), (13, 3), (5, 7), (1, 1), (40, 13)])
def test_merged_parts_are_the_statistics_of_the_whole_row(n, splits):
    x = torch.randn(4, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64) * 9
    m_part, l_part = partials(x, splits)
    merged = PUZZLE.reference(case(4, n, splits), {"m_part_ptr": m_part, "l_part_ptr": l_part})
    m = x.amax(dim=-1)
    torch.testing.assert_close(merged["m_ptr"], m)
    torch.testing.assert_close(merged["l_ptr"], torch.exp(x - m[:, None]).sum(dim=-1))


def test_one_two_three_four_by_hand():
    m_part, l_part = partials(torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64), 2)
    assert m_part.tolist() == [[2.0, 4.0]]
    half = 1 + torch.exp(torch.tensor(-1.0, dtype=torch.float64))
    torch.testing.assert_close(l_part, torch.stack([half, half])[None])
    merged = PUZZLE.reference(case(1, 4, 2), {"m_part_ptr": m_part, "l_part_ptr": l_part})
    assert merged["m_ptr"].tolist() == [4.0]
    torch.testing.assert_close(
        merged["l_ptr"], (half * torch.exp(torch.tensor(-2.0, dtype=torch.float64)) + half)[None]
    )


def test_an_empty_part_is_minus_infinity_and_zero():
    m_part, l_part = partials(torch.zeros(2, 5, dtype=torch.float64), 7)
    assert (m_part[:, 5:] == -torch.inf).all()
    assert (l_part[:, 5:] == 0).all()


def test_an_empty_row_is_minus_infinity_and_zero_without_nan():
    one = case(4, 20, 6, family=empty)
    tensors = PUZZLE.make(one)
    merged = PUZZLE.reference(one, {name: tensors[name].double() for name in ("m_part_ptr", "l_part_ptr")})
    assert (merged["m_ptr"][::2] == -torch.inf).all()
    assert (merged["l_ptr"][::2] == 0).all()
    assert merged["m_ptr"][1::2].isfinite().all()
    assert (merged["l_ptr"][1::2] >= 1).all()


def test_every_row_is_measured_against_itself():
    expected = torch.tensor([-torch.inf, 0.5, -300.0], dtype=torch.float64)
    assert PUZZLE.scale(case(3, 1, 1), "m_ptr", expected).tolist() == [1.0, 0.5, 300.0]
