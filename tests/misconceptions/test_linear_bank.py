"""The bank of the puzzles for few heads is as full as it has to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.misconceptions import bank

HERE = Path(__file__).parent
PUZZLES = ("linear_state_prefix", "causal_linear_attention_parallel")


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_there_are_enough_wrong_kernels_and_correct_ones(puzzle):
    assert len(bank(puzzle)) >= 16
    assert len(list((HERE / "correct" / puzzle).glob("*.py"))) >= 3


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_the_most_common_beliefs_have_two_rewrites(puzzle):
    stems = [path.stem.rpartition("__")[0] for path in (HERE / "rewrites" / puzzle).glob("*.py")]
    assert sum(stems.count(stem) >= 2 for stem in set(stems)) >= 4


@pytest.mark.parametrize("puzzle", PUZZLES)
@pytest.mark.parametrize("gate", ["values", "memory", "traffic"])
def test_every_gate_has_something_to_catch(puzzle, gate):
    assert any(gate in wrong.gates for wrong in bank(puzzle))
