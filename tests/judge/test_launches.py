"""Inputs in guarded memory, poisoned outputs, and damage found bit for bit."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import torch

from checker.course import LADDER, PUZZLES
from checker.judge.launches import GUARD, cases_of, damages, prepare, prepare_all, seed_from, whole
from checker.judge.outcome import simulate_cases
from checker.puzzle import NORMAL
from checker.submission.kernel import Config
from tests.judge.helpers import cpu_cases, solution
from tests.judge.local_runner import copied

ROW = PUZZLES["row_softmax"]
PADDED = next(
    c for c in ROW.cases if c.layout == "padded" and c.dtype == "float32" and c.sizes["M"] >= 3 and c.sizes["N"] > 3
)


@pytest.fixture
def prepared():
    return prepare(ROW, PADDED)


@pytest.fixture
def after(prepared):
    """The tensors as a kernel leaves them that does nothing."""
    return {name: copied(tensor) for name, tensor in prepared.tensors.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_inputs_keep_their_values_and_layout(puzzle):
    for case in cpu_cases(puzzle):
        made, prepared = puzzle.make(case), prepare(puzzle, case)
        for name, tensor in made.items():
            placed = prepared.launch.arguments[name]
            assert placed.shape == tensor.shape
            assert placed.stride() == tensor.stride()
            assert placed.storage_offset() == GUARD
            if name in puzzle.outputs:
                assert not placed.is_floating_point() or bool((placed.isnan() | (placed == -7936)).all())
            else:
                assert torch.equal(placed.nan_to_num(7), tensor.nan_to_num(7))


def test_untouched_memory_and_a_written_output_are_no_damage(prepared, after):
    assert damages(prepared, after) == []
    after["y_ptr"].fill_(0.25)
    assert damages(prepared, after) == []


def test_a_changed_input_is_found_with_its_index(prepared, after):
    after["x_ptr"][2, 3] += 1
    (damage,) = damages(prepared, after)
    assert (damage.tensor, damage.inside, damage.index, damage.count) == ("x_ptr", True, (2, 3), 1)


@pytest.mark.parametrize("where", ["before", "behind", "gap"])
def test_writing_outside_the_output_is_found(where, prepared, after):
    y = after["y_ptr"]
    columns, stride = y.shape[1], y.stride(0)
    assert stride > columns
    span = (y.shape[0] - 1) * stride + columns
    offset = {"before": -1, "behind": span, "gap": columns}[where]
    whole(y)[GUARD + offset] = 1.0
    (damage,) = damages(prepared, after)
    assert (damage.inside, damage.offset, damage.count, damage.span) == (False, offset, 1, span)


def test_another_nan_is_a_change(prepared, after):
    whole(after["y_ptr"]).view(torch.int32)[0] ^= 1
    assert len(damages(prepared, after)) == 1


def test_another_geometry_is_refused(prepared, after):
    other = torch.zeros(PADDED.sizes["M"], PADDED.sizes["N"])
    with pytest.raises(ValueError, match="y_ptr"):
        damages(prepared, after | {"y_ptr": other})


def test_an_expected_nan_gets_finite_poison():
    puzzle = replace(ROW, reference=lambda case, inputs: {"y_ptr": torch.full_like(inputs["x_ptr"], torch.nan)})
    assert bool((prepare(puzzle, PADDED).launch.arguments["y_ptr"] == -7936).all())


def test_the_secret_changes_the_numbers_and_is_repeatable():
    one, again, other = (cases_of(ROW, seed_from(secret, ROW)) for secret in (b"a", b"a", b"b"))
    assert one == again
    assert cases_of(ROW, None) == tuple(ROW.cases)
    at = next(i for i, case in enumerate(ROW.cases) if case.family == NORMAL)
    x, y = (prepare(ROW, cases[at]).launch.arguments["x_ptr"] for cases in (one, other))
    assert not torch.equal(x, y)


@pytest.mark.parametrize("puzzle", [p for p in LADDER if p.drawn(Random(0))], ids=lambda p: p.name)
def test_drawn_cases_are_repeatable_and_one_is_larger_than_every_fixed_case(puzzle):
    known = cpu_cases(puzzle)
    for seed in range(20):
        cases = cases_of(puzzle, seed)
        assert cases == cases_of(puzzle, seed)
        assert len({case.name for case in cases}) == len(cases)
        assert all(f"seed = {case.seed}" in case.name for case in cases)
        drawn = cases[len(puzzle.cases) :]
        grown = [(n, size) for case in drawn for n, size in case.sizes.items() if n not in ("D", "D_V")]
        assert any(size > max(other.sizes[n] for other in known) for n, size in grown)
    assert puzzle.drawn(Random(0)) != puzzle.drawn(Random(1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", [p for p in LADDER if p.drawn(Random(0))], ids=lambda p: p.name)
def test_the_solution_is_well_within_the_tolerance_of_drawn_cases(puzzle, runner):
    drawn = [case for seed in (1, 116, 118) for case in cases_of(puzzle, seed)[len(puzzle.cases) :]]
    prepared = prepare_all(puzzle, [(case, None) for case in drawn])
    outcomes = simulate_cases(puzzle, solution(puzzle.name), runner, prepared)
    assert len(outcomes) == len(drawn)
    assert max(outcome.comparison.worst for outcome in outcomes) < 0.75


def test_a_configuration_binds_its_meta_and_options():
    prepared = prepare(ROW, ROW.cases[0], Config({"BLOCK_N": 32}, {"num_warps": 8}))
    assert prepared.launch.meta["BLOCK_N"] == 32
    assert prepared.launch.options["num_warps"] == 8
