"""The judge's references and tolerances of large cases are the same on a GPU as on a CPU."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checker.course import LADDER
from checker.judge.gpu_arithmetic import on_gpu
from checker.judge.launches import volume
from checker.puzzle import Case, Puzzle, Tensors

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]


def computed(puzzle: Puzzle, case: Case) -> dict[str, Tensors]:
    made = puzzle.make(case)
    expected = puzzle.reference(case, {n: t.double() if t.is_floating_point() else t for n, t in made.items()})
    return {"expected": expected, "scale": {name: puzzle.scale(case, name, y) for name, y in expected.items()}}


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_a_gpu_computes_what_a_processor_does(puzzle: Puzzle) -> None:
    case = min((case for case in puzzle.cases if case.devices == {"gpu"}), key=volume)
    there = on_gpu(lambda move: computed(puzzle, case))
    other = replace(case, devices=frozenset({"cpu", "gpu"}))  # another case, with nothing cached yet
    for what, tensors in computed(puzzle, other).items():
        for name, tensor in tensors.items():
            assert there[what][name].is_cuda, (what, name)
            torch.testing.assert_close(there[what][name].cpu(), tensor, rtol=1e-9, atol=1e-12, equal_nan=True)
