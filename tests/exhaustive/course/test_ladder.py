"""The long tests beside `tests/course/test_ladder.py`."""

from __future__ import annotations

import pytest
import torch

from checker.course import LADDER
from checker.puzzle import DTYPES, Case, Puzzle
from tests.course.test_ladder import case_id

CPU_CASES = [(p, c) for p in LADDER for c in p.cases if "cpu" in c.devices]


@pytest.mark.parametrize(("puzzle", "case"), CPU_CASES, ids=case_id)
def test_a_launch_passes_every_parameter_and_a_budget_covers_the_outputs(puzzle: Puzzle, case: Case):
    tensors = puzzle.make(case)
    launch = puzzle.launch(case, tensors, case.meta)
    assert {*launch.arguments, *launch.meta} == set(puzzle.parameters)
    assert set(launch.outputs) == set(puzzle.outputs) <= set(tensors)
    budget = puzzle.budget(case)
    for name, tensor in tensors.items():
        bytes_ = tensor.numel() * tensor.element_size()
        assert budget[name].because
        if name in puzzle.outputs:
            assert budget[name].stored >= bytes_
        else:
            assert budget[name].stored == 0
            assert budget[name].loaded >= (1 if unread(puzzle, case, name) else bytes_)


def unread(puzzle: Puzzle, case: Case, name: str) -> bool:
    """Whether a kernel goes without some of it: keys past the lengths, or queries that see no key where keys look for queries."""
    ragged = bool(case.flags.get("RAGGED"))
    if name in ("k_ptr", "v_ptr"):
        return ragged
    sees_nothing = ragged or bool(case.flags.get("IS_CAUSAL") and case.sizes["N_Q"] > case.sizes["N_KV"])
    return sees_nothing and "dk_ptr" in puzzle.outputs


@pytest.mark.parametrize(("puzzle", "case"), CPU_CASES, ids=case_id)
def test_the_reference_is_float64_and_never_nan(puzzle: Puzzle, case: Case):
    tensors = puzzle.make(case)
    inputs = {name: t.double() for name, t in tensors.items() if name not in puzzle.outputs}
    expected = puzzle.reference(case, inputs)
    for name in puzzle.outputs:
        assert expected[name].dtype == torch.float64
        assert expected[name].shape == tensors[name].shape
        assert not expected[name].isnan().any()
        scale = puzzle.scale(case, name, expected[name])
        assert torch.broadcast_shapes(scale.shape, expected[name].shape) == expected[name].shape
        assert (scale >= 0).all()


@pytest.mark.parametrize("puzzle", [p for p in LADDER if "y_ptr" in p.outputs and "x_ptr" in p.parameters], ids=case_id)
@pytest.mark.parametrize("answer", ["zeros", "uniform", "copy"])
def test_an_answer_that_computes_nothing_is_far_outside_the_tolerance(puzzle: Puzzle, answer: str):
    for case in (c for c in puzzle.cases if "cpu" in c.devices and c.sizes["N"] > 1):
        tensors = puzzle.make(case)
        inputs = {name: t.double() for name, t in tensors.items() if name not in puzzle.outputs}
        x, expected = inputs["x_ptr"], puzzle.reference(case, inputs)["y_ptr"]
        got = {"zeros": torch.zeros_like(x), "uniform": torch.full_like(x, 1 / x.shape[-1]), "copy": x}[answer]
        tolerance, eps = puzzle.tolerance[case.dtype], torch.finfo(DTYPES[case.dtype]).eps
        allowed = tolerance.rtol * expected.abs() + tolerance.c * eps * puzzle.scale(case, "y_ptr", expected)
        error = ((got - expected).abs() / allowed).nan_to_num(nan=torch.inf)
        if case.family.name == "constant" and answer == "uniform":
            continue  # the uniform answer is the right one there
        assert error.max() > 4, case.name
