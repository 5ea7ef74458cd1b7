"""|y - ref| <= rtol·|ref| + c·eps·scale for every element, with NaN and inf in the same places."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import PUZZLES
from checker.course.linear_state_prefix import dwarfing
from checker.judge.comparison import compare, error_against
from checker.judge.gpu_arithmetic import where_it_runs
from checker.judge.launches import prepare
from checker.puzzle import NORMAL, Tolerance
from tests.judge.helpers import cpu_cases

ROW = PUZZLES["row_softmax"]
RTOL = ROW.tolerance["float32"].rtol
NOT_FINITE = [float("nan"), float("inf"), float("-inf")]


@pytest.fixture
def prepared():
    """A launch in float32 whose reference a test may change."""
    case = next(c for c in cpu_cases(ROW, "float32") if c.sizes["M"] >= 3 and c.sizes["N"] > 5)
    launch = prepare(ROW, replace(case, family=NORMAL))
    return replace(launch, expected={"y_ptr": launch.expected["y_ptr"].clone()})


def compared(prepared, y):
    return compare(ROW, prepared, {"y_ptr": y}, None)


def test_rounding_is_allowed_and_more_is_not(prepared):
    expected = prepared.expected["y_ptr"]
    assert compared(prepared, expected.float()).worst < 0.25
    for factor in (0.5, 0.99):
        assert compared(prepared, expected * (1 + factor * RTOL)).mismatch is None
    y = expected.clone()
    y[1, 5] *= 1 + 3 * RTOL + 1e-3
    mismatch = compared(prepared, y).mismatch
    assert mismatch is not None
    assert (mismatch.first, mismatch.wrong, mismatch.total) == ((1, 5), 1, y.numel())
    assert mismatch.got[1, 4] == pytest.approx(float(y[1, 5]))
    assert mismatch.expected.shape == mismatch.got.shape
    assert mismatch.writer is None
    half = torch.softmax(prepared.launch.arguments["x_ptr"].half().float(), dim=-1).half()
    assert compared(prepared, half).mismatch is not None


def test_nan_and_inf_are_right_only_where_the_reference_has_them(prepared):
    for value in NOT_FINITE:
        y = prepared.expected["y_ptr"].float()
        y[2, 5] = value
        result = compared(prepared, y)
        assert result.worst == float("inf")
        assert result.mismatch.first == (2, 5)
        launch = replace(prepared, expected={"y_ptr": prepared.expected["y_ptr"].clone()})
        launch.expected["y_ptr"][2, 5] = value
        assert compared(launch, y).mismatch is None
        for other in (0.0, *(number for number in NOT_FINITE if number is not value)):
            y[2, 5] = other
            assert compared(launch, y).mismatch is not None


def test_a_number_too_large_for_its_type_is_an_infinity(prepared):
    case = replace(prepared.case, dtype="float16")
    expected = torch.full((1, 2), -98_505.0, dtype=torch.float64)
    for got, right in ((-torch.inf, True), (torch.inf, False), (-65_504.0, False), (torch.nan, False)):
        y = torch.full((1, 2), got, dtype=torch.float16)
        assert bool((error_against(ROW, case, "y_ptr", y, expected) <= 1).all()) is right, got
    y = torch.full((1, 2), -torch.inf, dtype=torch.float16)
    assert bool((error_against(ROW, case, "y_ptr", y, expected / 2) > 1).all())


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


def test_an_answer_of_zero_must_be_zero():
    puzzle = PUZZLES["vector_add"]
    prepared = prepare(puzzle, next(c for c in cpu_cases(puzzle, "float32") if c.sizes["N"] > 3))
    prepared = replace(prepared, expected={name: output.clone() for name, output in prepared.expected.items()})
    prepared.expected["z_ptr"][3] = 0.0
    z = prepared.expected["z_ptr"].float()
    assert compare(puzzle, prepared, {"z_ptr": z}, None).mismatch is None
    z[3] = 1e-30
    assert compare(puzzle, prepared, {"z_ptr": z}, None).mismatch is not None


def test_tensors_compared_in_pieces_are_compared_whole(monkeypatch, prepared):
    monkeypatch.setattr("checker.judge.comparison.PIECE", 7)
    y = prepared.expected["y_ptr"].float()
    assert compared(prepared, y).mismatch is None
    y[0, 0] = y[-1, -1] = 2.0
    mismatch = compared(prepared, y).mismatch
    assert mismatch is not None
    assert (mismatch.first, mismatch.wrong) == ((0, 0), 2)


def test_a_running_sum_that_comes_near_0_may_keep_the_rounding_errors_of_those_before():
    puzzle = PUZZLES["linear_state_prefix"]
    (case,) = (c for c in puzzle.cases if c.family == dwarfing and c.sizes["N_CHUNKS"] == 70)
    case = replace(case, seed=2362)  # one of its sums is a millionth of those before it
    made = puzzle.make(case)
    sums = torch.cat([made["x0_ptr"][:, None], made["x_ptr"]], dim=1).cumsum(dim=1)  # in float32
    expected = puzzle.reference(case, {name: x.double() for name, x in made.items()})
    assert error_against(puzzle, case, "start_ptr", sums[:, :-1], expected["start_ptr"]).max() < 0.5
    assert error_against(puzzle, case, "end_ptr", sums[:, -1], expected["end_ptr"]).max() < 0.5
    rounded = sums.to(torch.bfloat16).float()
    assert error_against(puzzle, case, "start_ptr", rounded[:, :-1], expected["start_ptr"]).max() > 10


def test_the_cpu_computes_what_a_full_gpu_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(compute: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("checker.judge.gpu_arithmetic.on_gpu", full)
    large = next(case for case in ROW.cases if case.devices == {"gpu"})
    assert where_it_runs(large, lambda move: move(torch.ones(2)).sum()) == 2
