"""A red card says what to do next, truly for its puzzle, and its film opens."""

from __future__ import annotations

from random import Random

from checker.course import LADDER, PUZZLES
from checker.judge.two_mistakes import both, pairs
from checker.misconceptions import bank, quick
from tests.judge.helpers import changed, judge, solution
from tests.misconceptions.cards import problem, unknown_names


def test_a_state_kept_in_memory_is_not_advised_to_stay_in_a_variable(runner):
    puzzle = PUZZLES["flash_attention_v1"]
    wrong = next(m for m in bank(puzzle.name) if m.name == "first_visit_loads")
    assert "On the first visit" in judge(quick(puzzle), wrong.source, runner, diagnose=False).failure.advice


def test_a_maximum_that_starts_at_a_large_negative_number_has_a_film(runner):
    puzzle = PUZZLES["online_softmax"]
    source = changed(solution(puzzle.name), 'm_i = float("-inf")', "m_i = -1e30")
    source = changed(source, 'tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")
    assert problem(puzzle, source, judge(quick(puzzle), source, runner), runner) == ""


def test_what_the_banks_say_names_only_variables_that_a_learner_has():
    for puzzle in LADDER:
        for wrong in bank(puzzle.name):
            text = f"{wrong.believed} {wrong.instead} {wrong.try_}"
            assert not unknown_names(puzzle, wrong.source, text), (puzzle.name, wrong.name)


def test_the_cards_of_some_pairs_of_mistakes(runner):
    for name in ("vector_add", "row_softmax"):
        puzzle = PUZZLES[name]
        for pair in Random(0).sample(pairs(name), 3):
            kernel = both(*pair)
            assert kernel is not None
            verdict = judge(quick(puzzle, [one.seen_in for one in pair], smallest=2), kernel.source, runner)
            assert problem(puzzle, kernel.source, verdict, runner) == "", kernel.name
