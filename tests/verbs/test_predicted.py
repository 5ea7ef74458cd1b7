"""Predictions are compared, kept once, and counted by `progress`."""

from __future__ import annotations

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
    assert capsys.readouterr().out.startswith("The answer is 4.")
    assert progress_file.load(space).predictions == {}


def test_only_the_first_prediction_counts(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    checker.predicted("bytes", 100, 120)
    checker.predicted("bytes", 120, 120)
    checker.predicted("lanes", 6, 6)
    assert capsys.readouterr().out.splitlines()[0] == "You said 100. The answer is 120."
    checker.progress()
    assert "Predictions: 1 of 2 right at the first try." in capsys.readouterr().out
