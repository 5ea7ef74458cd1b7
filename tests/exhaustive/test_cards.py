"""The card of every wrong kernel of the bank, and of four of its pairs for each puzzle."""

from __future__ import annotations

from random import Random

import pytest

from checker.course import LADDER
from checker.judge.two_mistakes import both, pairs
from checker.misconceptions import bank, quick
from tests.judge.helpers import judge
from tests.misconceptions.cards import problem
from tests.misconceptions.conftest import runner  # noqa: F401

PAIRS = 4


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda puzzle: puzzle.name)
def test_every_card_says_something_true_to_do_and_its_film_opens(puzzle, runner):
    wrong = [(one, [one]) for one in bank(puzzle.name)]
    wrong += [(both(*pair), pair) for pair in Random(puzzle.name).sample(pairs(puzzle.name), PAIRS)]
    problems = {}
    for kernel, mistakes in wrong:
        if kernel is None:
            continue
        few = quick(puzzle, [one.seen_in for one in mistakes], smallest=2)
        verdict = judge(few, kernel.source, runner)
        problems[kernel.name] = problem(puzzle, kernel.source, verdict, runner)
    assert {name: what for name, what in problems.items() if what} == {}
