"""|y - ref| <= rtol·|ref| + c·eps·scale for every element, NaN and inf in the same places."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES
from checker.judge.comparison import _pieces, compare, program_of, window_around
from checker.judge.launches import prepare
from checker.puzzle import NORMAL, Case, Tolerance

ROW = PUZZLES["row_softmax"]
CASE = Case({"M": 3, "N": 16}, {"BLOCK_N": 16})
NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]


@pytest.fixture
def prepared():
    """A launch of CASE whose reference may be changed."""
    one = prepare(ROW, CASE)
    return replace(one, expected={"y_ptr": one.expected["y_ptr"].clone()})


def answer(prepared):
    return prepared.expected["y_ptr"].float()


def compared(prepared, y):
    return compare(ROW, prepared, {"y_ptr": y}, None)


def test_the_rounded_reference_is_right(prepared):
    result = compared(prepared, answer(prepared))
    assert result.mismatch is None
    assert result.worst < 0.25


@pytest.mark.parametrize("factor", [0.5, 0.99])
def test_within_the_tolerance(factor, prepared):
    y = prepared.expected["y_ptr"] * (1 + factor * ROW.tolerance["float32"].rtol)
    assert compared(prepared, y).mismatch is None


def test_past_the_tolerance(prepared):
    y = prepared.expected["y_ptr"].clone()
    y[1, 5] *= 1 + 3 * ROW.tolerance["float32"].rtol + 1e-3
    mismatch = compared(prepared, y).mismatch
    assert mismatch is not None
    assert (mismatch.first, mismatch.wrong, mismatch.total) == ((1, 5), 1, y.numel())
    assert mismatch.window == ((0, 3), (1, 10))
    assert mismatch.got[1, 4] == pytest.approx(float(y[1, 5]))
    assert mismatch.expected.shape == mismatch.got.shape == (3, 9)
    assert mismatch.writer is None


def test_an_output_may_have_a_tolerance_and_a_scale_of_its_own():
    puzzle = PUZZLES["merge_softmax_stats"]
    prepared = prepare(puzzle, next(c for c in puzzle.cases if c.family == NORMAL and c.sizes["M"] >= 3))
    right = {name: expected.clone() for name, expected in prepared.expected.items()}
    off = {name: expected * 1.01 for name, expected in right.items()}
    loose = replace(puzzle, output_tolerance={"l_ptr": {"float32": Tolerance(rtol=0.1, c=0.0)}})
    assert compare(loose, prepared, {**right, "l_ptr": off["l_ptr"]}, None).mismatch is None
    assert compare(loose, prepared, {**right, "m_ptr": off["m_ptr"]}, None).mismatch.output == "m_ptr"
    wide = replace(puzzle, scale=lambda case, output, expected: expected.abs() * (1e9 if output == "m_ptr" else 1.0))
    assert compare(wide, prepared, off, None).mismatch.output == "l_ptr"


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_one_element_that_is_no_number_fails(value, prepared):
    y = answer(prepared)
    y[2, 15] = value
    result = compared(prepared, y)
    assert result.worst == float("inf")
    assert result.mismatch is not None
    assert result.mismatch.first == (2, 15)


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_the_same_place_and_kind_is_right_and_no_other(value, prepared):
    prepared.expected["y_ptr"][0, 0] = value
    y = answer(prepared)
    assert compared(prepared, y).mismatch is None
    for other in (0.0, *(number for number in NO_NUMBERS if number is not value)):
        y[0, 0] = other
        assert compared(prepared, y).mismatch is not None


def test_an_answer_of_zero_has_to_be_zero():
    puzzle = PUZZLES["vector_add"]
    prepared = prepare(puzzle, next(c for c in puzzle.cases if c.dtype == "float32" and c.sizes["N"] > 3))
    prepared = replace(prepared, expected={name: output.clone() for name, output in prepared.expected.items()})
    prepared.expected["z_ptr"][3] = 0.0
    z = prepared.expected["z_ptr"].float()
    assert compare(puzzle, prepared, {"z_ptr": z}, None).mismatch is None
    z[3] = 1e-30
    assert compare(puzzle, prepared, {"z_ptr": z}, None).mismatch is not None


@pytest.mark.parametrize(
    ("first", "shape", "window"),
    [
        ((0,), (3,), ((0, 3),)),
        ((9,), (20,), ((5, 14),)),
        ((0, 0), (1, 1), ((0, 1), (0, 1))),
        ((4, 9), (10, 20), ((2, 7), (5, 14))),
        ((1, 4, 9), (2, 10, 20), ((1, 2), (2, 7), (5, 14))),
        ((1, 0, 4, 9), (2, 1, 10, 20), ((1, 2), (0, 1), (2, 7), (5, 14))),
    ],
)
def test_window(first, shape, window):
    assert window_around(first, shape) == window


def test_program_of_counts_x_fastest():
    grid = (3, 2, 2)
    assert [program_of(i, grid) for i in (0, 2, 3, 6, 11)] == [(0, 0, 0), (2, 0, 0), (0, 1, 0), (0, 0, 1), (2, 1, 1)]
    assert program_of(-1, grid) is None


def test_half_precision_is_no_float32(prepared):
    y = torch.softmax(prepared.launch.arguments["x_ptr"].half().float(), dim=-1).half()
    assert compared(prepared, y).mismatch is not None


@pytest.mark.parametrize("shape", [(), (1,), (5, 0), (1, 2, 7, 3), (300, 2, 5), (2, 1000)], ids=str)
@pytest.mark.parametrize("piece", [1, 64, 2**18])
def test_pieces_cover_every_element_once(shape, piece, monkeypatch):
    monkeypatch.setattr("checker.judge.comparison.PIECE", piece)
    seen = torch.zeros(shape)
    for cut in _pieces(shape):
        seen[cut] += 1
    assert bool((seen == 1).all())


def test_a_wrong_element_in_the_last_piece_is_found(monkeypatch, prepared):
    monkeypatch.setattr("checker.judge.comparison.PIECE", 7)
    y = answer(prepared)
    y[-1, -1] = 2.0
    result = compared(prepared, y)
    assert result.mismatch is not None
    assert (result.mismatch.first, result.mismatch.wrong) == (tuple(n - 1 for n in y.shape), 1)
    assert result.worst == float(result.mismatch.error.max())
