"""Predictions are compared, kept once, and counted by `progress`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import checker
from checker.verbs import progress_file
from checker.workspace import Workspace


@pytest.mark.parametrize(
    ("said", "answer", "right"),
    [
        (3.9, 4.0, True),
        (3.0, 4.0, False),
        (0.0, 0.0, True),
        ([0.66, 0.245, 0.09], (0.665, 0.245, 0.090), True),
        ([0.66, 0.245], [0.665, 0.245, 0.090], False),
        ({"N": 4, "D": 2}, {"N": 4, "D": 4}, False),
        ("NaN", "nan", True),
        ("four", 4, False),
    ],
    ids=str,
)
def test_a_prediction_is_right_if_every_number_is_close(space: Workspace, said: Any, answer: Any, right: bool) -> None:
    checker.predicted("a question", said, answer)
    assert progress_file.load(space).predictions["a question"].right is right


@pytest.mark.parametrize("said", [None, [], (None, 3), {"N": None}], ids=str)
def test_a_prediction_with_gaps_is_not_scored(space: Workspace, said: Any, capsys: pytest.CaptureFixture[str]) -> None:
    checker.predicted("a question", said, 4)
    assert capsys.readouterr().out == "The answer is 4.\n"
    assert progress_file.load(space).predictions == {}


def test_only_the_first_prediction_counts(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    checker.predicted("bytes", 100, 120)
    checker.predicted("bytes", 120, 120)
    checker.predicted("lanes", 6, 6)
    assert capsys.readouterr().out.splitlines()[0] == "You said 100. The answer is 120."
    checker.progress()
    assert "Predictions: 1 of 2 right at the first try." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "answer", "typical"),
    [(16, 21, 16), ((1.0, 0.0), (0.7, 0.3), (1, 0)), ({"N": 2, "D": 2}, {"N": 4, "D": 4}, (2, 2)), ("0", "nan", "0")],
    ids=str,
)
def test_a_typical_wrong_answer_gets_a_reply(
    said: Any, answer: Any, typical: Any, capsys: Any, space: Workspace
) -> None:
    checker.predicted("a question", said, answer, typical={typical: "That leaves out the tail."})
    checker.predicted("a question", "something else", answer, typical={typical: "That leaves out the tail."})
    wrong, other = capsys.readouterr().out.splitlines()
    assert wrong.endswith("That leaves out the tail.")
    assert not other.endswith("That leaves out the tail.")


def test_a_wrong_prediction_comes_back_two_notebooks_later_until_it_is_right(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    question = "elements of program 2"
    checker.predicted(question, [0, 1], [16, 17])
    checker.predicted(question, [16, 17], [16, 17])  # right away: the answer has just been shown
    for solved, comes_back in (("vector_add", False), ("row_softmax", True)):
        progress_file.update(space, solved, lambda record: replace(record, first_passed="2026-01-01"))
        capsys.readouterr()
        checker.progress()
        assert (question in capsys.readouterr().out) is comes_back, solved
    checker.predicted(question, [16, 17], [16, 17])
    capsys.readouterr()
    checker.progress()
    assert question not in capsys.readouterr().out
    assert not progress_file.load(space).predictions[question].right, "the first prediction still counts"
