"""What every puzzle of the course must be: complete, consistent with its solution, and worth its cases."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from checker.course import KERNELS, LADDER, PUZZLES
from checker.puzzle import DTYPES, Case, Puzzle

ROOT = Path(__file__).parents[2]
CPU_CASES = [(p, c) for p in LADDER for c in p.cases if "cpu" in c.devices]


def case_id(value: object) -> str | None:
    return getattr(value, "name", None)


def kernel_node(puzzle: Puzzle) -> ast.FunctionDef:
    module = ast.parse((ROOT / "solutions" / f"{puzzle.name}.py").read_text(encoding="utf-8"))
    return next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == puzzle.kernel)


def test_names_are_unique_and_found_both_ways():
    assert len(PUZZLES) == len(KERNELS) == len(LADDER)
    assert all(p.kernel == f"{p.name}_kernel" for p in LADDER)


@pytest.mark.parametrize("puzzle", LADDER, ids=case_id)
def test_parameters_are_those_of_the_solution_in_order(puzzle):
    assert tuple(a.arg for a in kernel_node(puzzle).args.args) == puzzle.parameters


@pytest.mark.parametrize("puzzle", LADDER, ids=case_id)
def test_the_statement_and_the_solution_explain_every_meta_parameter(puzzle):
    source = (ROOT / "solutions" / f"{puzzle.name}.py").read_text(encoding="utf-8")
    for name in puzzle.parameters:
        assert f"    {name}," in source or f"    {name}:" in source, f"{name} has no line of its own with a comment"


@pytest.mark.parametrize("puzzle", LADDER, ids=case_id)
def test_text_is_there(puzzle):
    for text in (puzzle.statement, puzzle.explanation, puzzle.hint.question, puzzle.hint.idea, puzzle.hint.skeleton):
        assert len(text) > 40
    assert puzzle.hint.question.rstrip().endswith("?")


@pytest.mark.parametrize("puzzle", LADDER, ids=case_id)
def test_cases_have_names_of_their_own_and_tolerances(puzzle):
    names = [c.name for c in puzzle.cases]
    assert len(set(names)) == len(names)
    assert all(c.dtype in puzzle.tolerance for c in puzzle.cases)
    assert any("cpu" not in c.devices for c in puzzle.cases), "no large case for the GPU"


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
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


@pytest.mark.parametrize("puzzle", LADDER, ids=case_id)
def test_the_film_is_small_enough_to_look_at(puzzle: Puzzle):
    film = puzzle.film
    tensors = puzzle.make(film.case)
    assert set(film.diagram.tensors) <= set(tensors)
    tiles = [film.case.meta[name] for name in film.case.meta]
    for name in film.diagram.tensors:  # each cell can be read, or there are few tiles to follow
        shape = tensors[name].shape
        assert tensors[name].numel() <= 200 or max(shape) <= 8 * min(tiles), name
    assert set(film.choices) <= {*film.case.sizes, *film.case.meta}
    for name, values in film.choices.items():
        assert {**film.case.sizes, **film.case.meta}[name] in values, f"{name} as shipped is not among its choices"
