"""What every puzzle of the course must be: complete, consistent with its solution, and worth its cases."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from checker.course import KERNELS, LADDER, PUZZLES
from checker.puzzle import Puzzle

ROOT = Path(__file__).parents[2]


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
