"""Three levels of help, and the explanation after passing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import checker
from checker.course import PUZZLES
from checker.verbs import progress_file
from checker.verbs.arguments import UsageError
from checker.workspace import Workspace

ROW_SOFTMAX = PUZZLES["row_softmax"]


def hints_of(space: Workspace) -> int:
    return progress_file.load(space).of("row_softmax").hints


def test_each_call_goes_one_further_and_stops_at_the_last(space: Workspace) -> None:
    shown = [checker.hint("row_softmax") for _ in range(4)]
    assert [hint.level for hint in shown] == [1, 2, 3, 3]
    assert hints_of(space) == 3
    assert not any("p / l_i" in hint.code for hint in shown), "the solution is for after passing"
    assert repr(shown[0]) == "<hint for row_softmax: hint 1 of 3: question>"


def test_a_requested_level_is_shown_and_remembered(space: Workspace) -> None:
    assert checker.hint("row_softmax", 2).prose == ROW_SOFTMAX.hint.idea
    assert checker.hint("row_softmax", "question").prose == ROW_SOFTMAX.hint.question
    assert hints_of(space) == 2
    assert checker.hint("row_softmax").code == ROW_SOFTMAX.hint.skeleton


@pytest.mark.parametrize("level", [0, 4, "answer", True, 1.5])
def test_a_bad_level_is_refused(space: Workspace, level: Any) -> None:
    with pytest.raises(UsageError, match=r"levels 1 \(question\), 2 \(idea\) and 3"):
        checker.hint("row_softmax", level)


def test_after_passing_it_explains_and_shows_the_solution(space: Workspace) -> None:
    passed = "2026-01-01T00:00:00+00:00"
    progress_file.update(space, "row_softmax", lambda r: replace(r, attempts=1, first_passed=passed))
    shown = checker.hint("row_softmax")
    assert shown.prose == ROW_SOFTMAX.explanation
    assert "tl.store(" in shown.code
    assert "@triton.jit" not in shown.code
    assert not shown.code.startswith(" "), "as in a text, not as inside the kernel"
    assert hints_of(space) == 0, "an explanation after passing is not a hint"
    assert checker.hint("row_softmax", 1).level == 1
