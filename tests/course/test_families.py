"""Each family of rows has the property that it exists for."""

from __future__ import annotations

import pytest
import torch

from checker.course import families
from checker.course.families import rows
from checker.course.tensors import stored
from checker.puzzle import NORMAL, Case

M, N, BLOCK = 5, 41, 16


def case(family: str, **more) -> Case:
    return Case(
        {"M": M, "N": N}, {"BLOCK_N": BLOCK}, family=NORMAL if family == "normal" else getattr(families, family), **more
    )


def drawn(family: str, **more) -> torch.Tensor:
    return rows(case(family, **more), M, N)


@pytest.mark.parametrize("family", ["late_max", "early_max", "first_chunk_masked", "spike", "uneven", "deep", "masked"])
def test_every_row_of_a_softmax_family_has_a_finite_element_and_no_nan(family):
    x = drawn(family)
    assert not x.isnan().any()
    assert x.isfinite().any(dim=-1).all()


def test_deep_rows_vanish_without_their_maximum():
    assert (torch.exp(drawn("deep").float()) == 0).all()


def test_the_late_maximum_is_the_last_element_and_overflows_against_any_other():
    x = drawn("late_max")
    assert (x.argmax(dim=-1) == N - 1).all()
    assert torch.exp((x[:, -1:] - x[:, :-1]).float()).isinf().all()


def test_the_early_maximum_is_the_first_element_and_overflows_against_any_other():
    x = drawn("early_max")
    assert (x.argmax(dim=-1) == 0).all()
    assert torch.exp((x[:, :1] - x[:, 1:]).float()).isinf().all()


def test_the_masked_chunk_is_as_wide_as_the_tile():
    x = drawn("first_chunk_masked")
    assert (x[:, :BLOCK] == -torch.inf).all()
    assert x[:, BLOCK:].isfinite().all()


def test_the_masked_chunk_of_a_short_row_leaves_the_last_element():
    x = rows(case("first_chunk_masked"), M, BLOCK)
    assert x[:, -1].isfinite().all()
    assert (x[:, :-1] == -torch.inf).all()


@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "float16"), (torch.bfloat16, "bfloat16")])
def test_a_chunk_behind_a_spike_is_lost_to_a_sum_in_its_own_dtype(dtype, name):
    x = drawn("spike", dtype=name)
    chunk = torch.exp(x[0, 1 : 1 + BLOCK]).sum()
    assert chunk > 0
    assert torch.tensor(1.0, dtype=dtype) + chunk.to(dtype) == 1.0


def test_no_number_can_stand_for_the_maxima_of_two_uneven_rows():
    x = drawn("uneven")
    apart = (x[0].amax() - x[1].amax()).abs().float()
    assert torch.exp(-apart) == 0


def test_every_other_row_is_empty():
    x = drawn("empty")
    assert (x[::2] == -torch.inf).all()
    assert x[1::2].isfinite().all()


def test_gaps_of_a_padded_layout_hold_nan_and_set_the_stride():
    x = stored(drawn("normal", layout="padded"), case("normal", layout="padded"), gap=5)
    assert x.shape == (M, N)
    assert x.stride() == (N + 5, 1)
    assert torch.as_strided(x, (M, 5), (N + 5, 1), N).isnan().all()
