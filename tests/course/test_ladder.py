"""What every puzzle of the course must be: complete, right, and worth its cases."""

from __future__ import annotations

import math
import re
from pathlib import Path
from random import Random

import pytest
import torch

from checker.course import KERNELS, LADDER, PUZZLES
from checker.judge.comparison import error_against
from checker.puzzle import Case, Puzzle, Tensors
from tests.course.oracles import ORACLES
from tests.judge.helpers import cpu_cases

ROOT = Path(__file__).parents[2]
MANY_PAIRS = 2**22
"""Where an attention has more pairs of queries and keys, writing out all weights would take too long."""
of_every_puzzle = pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)


def inputs_of(puzzle: Puzzle, tensors: Tensors) -> Tensors:
    return {n: t.double() if t.is_floating_point() else t for n, t in tensors.items() if n not in puzzle.outputs}


def pairs(case: Case) -> int:
    n = case.sizes
    heads = math.prod(n.get(name, 1) for name in ("B", "H", "H_Q"))
    return heads * n.get("N_Q", n.get("N", 1)) * n.get("N_KV", n.get("N", 1)) if "D" in n else 0


def test_every_puzzle_is_complete() -> None:
    assert len(PUZZLES) == len(KERNELS) == len(LADDER)
    for puzzle in LADDER:
        assert puzzle.kernel == f"{puzzle.name}_kernel"
        hint = puzzle.hint
        assert min(map(len, (puzzle.statement, puzzle.explanation, hint.question, hint.idea, hint.skeleton))) > 40
        assert hint.question.rstrip().endswith("?")
        assert len({case.name for case in puzzle.cases}) == len(puzzle.cases), puzzle.name
        assert any("cpu" not in case.devices for case in puzzle.cases), f"{puzzle.name}: no large case for the GPU"
        film, numbers = puzzle.film, {**puzzle.film.case.sizes, **puzzle.film.case.meta}
        tensors = puzzle.make(film.case)
        for name in film.diagram.tensors:  # each cell can be read, or there are few tiles to follow
            tensor = tensors[name]
            assert tensor.numel() <= 200 or max(tensor.shape) <= 8 * min(film.case.meta.values()), (puzzle.name, name)
        for name, values in film.choices.items():
            assert numbers[name] in values, f"{puzzle.name}: {name} as shipped is not among its choices"


@of_every_puzzle
def test_every_reference_is_what_pytorch_computes_and_no_answer_of_zeros_passes(puzzle: Puzzle) -> None:
    """Errors are measured as in a check: the two differ by a tenth of what a kernel may lose at most.

    Zeros are right only where `zeros_are_right`.
    """
    for case in cpu_cases(puzzle):
        tensors = puzzle.make(case)
        inputs = inputs_of(puzzle, tensors)
        expected = puzzle.reference(case, inputs)
        if pairs(case) <= MANY_PAIRS:
            assert puzzle.name in ORACLES, "add a second computation of the reference to tests/course/oracles.py"
            independent = ORACLES[puzzle.name](case, {n.removesuffix("_ptr"): t for n, t in inputs.items()})
            for name in puzzle.outputs:
                error = error_against(puzzle, case, name, independent[name.removesuffix("_ptr")], expected[name])
                assert error.max() < 0.1, (case.name, name)
        for name in puzzle.outputs:
            assert (expected[name].dtype, expected[name].shape) == (torch.float64, tensors[name].shape), case.name
            assert not expected[name].isnan().any(), case.name
        zeros = [error_against(puzzle, case, n, torch.zeros_like(e), e).max() for n, e in expected.items() if e.any()]
        assert max(zeros, default=0) > 1 or zeros_are_right(case), case.name


def zeros_are_right(case: Case) -> bool:
    """Whether an output may vanish: a query's gradient, where it has one key or all are the same, or where the scale is tiny; a sum
    whose features vanish."""
    one_key = 1 in (case.sizes.get("N"), case.sizes.get("N_KV")) or case.layout in ("repeated keys", "repeated values")
    return one_key or bool(case.flags.get("TINY_Q")) or "vanish" in case.family.words


def test_the_pytorch_in_a_stub_is_easy_to_read_and_computes_the_reference() -> None:
    """A learner who runs it on their own tensors gets what the kernel has to give."""
    for puzzle in LADDER:
        stub = (ROOT / "puzzles" / f"{puzzle.name}.py").read_text("utf-8")
        written = re.search(r"^    # In PyTorch:(?: (.+)|((?:\n    #     .+)+))$", stub, re.MULTILINE)
        assert written, puzzle.name
        code = written[1] or written[2].replace("\n    #     ", "\n")
        assert [line for line in code.splitlines() if len(line) > 110] == [], puzzle.name
        for case in cpu_cases(puzzle, "float32")[:4]:
            inputs = inputs_of(puzzle, puzzle.make(case))
            names = {name.removesuffix("_ptr"): tensor for name, tensor in inputs.items()}
            launch = puzzle.launch(case, puzzle.make(case), case.meta)
            numbers = {name: n for name, n in {**launch.arguments, **launch.meta}.items() if name not in puzzle.outputs}
            computed: dict[str, object] = {"torch": torch, **numbers, **names}
            exec(code, computed)
            for name, expected in puzzle.reference(case, inputs).items():
                result = computed[name.removesuffix("_ptr")]
                torch.testing.assert_close(
                    result, expected, msg=lambda text, at=(puzzle.name, case.name): f"{at}: {text}"
                )


@of_every_puzzle
def test_every_launch_passes_every_parameter_and_a_budget_covers_the_outputs(puzzle: Puzzle) -> None:
    for case in cpu_cases(puzzle):
        tensors = puzzle.make(case)
        launch, budget = puzzle.launch(case, tensors, case.meta), puzzle.budget(case)
        some_hidden = case.flags.get("RAGGED") or case.flags.get("IS_CAUSAL")
        some_hidden = some_hidden or not {"WINDOW", "PAGE"}.isdisjoint(case.sizes)
        assert {*launch.arguments, *launch.meta} == set(puzzle.parameters)
        assert set(launch.outputs) == set(puzzle.outputs) <= set(tensors)
        for name, tensor in tensors.items():
            moved = tensor.numel() * tensor.element_size()
            assert budget[name].because
            assert budget[name].stored >= moved if name in puzzle.outputs else budget[name].stored == 0
            if name not in puzzle.outputs and not some_hidden:
                assert budget[name].loaded >= moved, (case.name, name)


@of_every_puzzle
def test_no_number_of_a_launch_stands_for_another(puzzle: Puzzle) -> None:
    """A kernel that takes one stride for another, or the length of a row for its stride, is wrong in some case."""
    launches = [puzzle.launch(case, puzzle.make(case), case.meta).arguments for case in cpu_cases(puzzle)]
    names = [name for name, value in launches[0].items() if isinstance(value, int) and not isinstance(value, bool)]
    for i, one in enumerate(names):
        for other in names[:i]:
            assert any(launch[one] != launch[other] for launch in launches), (one, other)


@of_every_puzzle
def test_drawn_cases_go_beyond_the_known_ones_and_small_cases_come_first(puzzle: Puzzle) -> None:
    known = cpu_cases(puzzle)
    for seed in range(3):
        *_, last = puzzle.drawn(Random(seed))
        assert any(last.sizes[size] > max(case.sizes[size] for case in known) for size in last.sizes), seed
    # cases are in the order of their work: the second may have five batches, and the gradients' third 8 heads of 128 in seven tensors
    most = 60_000 if "do_ptr" in puzzle.parameters else 21_000
    assert max(sum(tensor.numel() for tensor in puzzle.make(case).values()) for case in known[:3]) < most
