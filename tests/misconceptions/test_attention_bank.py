"""The bank of the attention puzzles is as full as it has to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.misconceptions import bank

HERE = Path(__file__).parent
CORRECT = {"flash_attention": 5, "flash_attention_v1": 3, "flash_attention_heads": 3}


@pytest.mark.parametrize("puzzle", CORRECT)
def test_there_are_enough_wrong_kernels(puzzle):
    assert len(bank(puzzle)) >= 14


@pytest.mark.parametrize("puzzle", CORRECT)
def test_there_are_enough_correct_kernels(puzzle):
    assert len(list((HERE / "correct" / puzzle).glob("*.py"))) >= CORRECT[puzzle]


def test_the_most_common_beliefs_have_two_rewrites():
    paths = [path for puzzle in CORRECT for path in (HERE / "rewrites" / puzzle).glob("*.py")]
    stems = [(path.parent.name, path.stem.rpartition("__")[0]) for path in paths]
    assert sum(stems.count(stem) >= 2 for stem in set(stems)) >= 6
