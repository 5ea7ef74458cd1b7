"""The inputs on a card are those that the wrong element is made from: none is missing, and none is there for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from checker.course import LADDER, PUZZLES
from checker.judge.comparison import window_around
from checker.judge.inputs import FEW, MOST, WIDE, with_inputs
from checker.judge.launches import prepare
from checker.judge.plainest_case import ordinary_cases
from checker.judge.verdict import Input, Mismatch
from checker.phrases import short
from checker.puzzle import Case
from tests.judge.helpers import cpu_cases

MADE_FROM = {
    ("online_softmax", "y", (1, 1)): {"x": ((0, 1), (0, 1, 2))},
    ("flash_attention", "o", (1, 0)): {"q": ((1,), range(16)), "k": ((0, 1, 2), range(16)), "v": ((0, 1, 2), (0,))},
    ("delta_rule_recurrent", "o", (0, 0, 1, 0)): {
        "q": ((1,), (0, 1)),
        "k": ((0, 1), (0, 1)),
        "v": ((0, 1), (0,)),
        "g": ((0,), (0, 1)),
        "beta": ((0,), (0, 1)),
        "s0": ((0, 1), (0,)),
    },
    ("delta_chunk_values", "u", (0, 0, 1, 0)): {
        "t": ((1,), (0, 1, 2)),
        "v": ((0, 1, 2), range(5)),
        "beta": ((0,), (0, 1, 2)),
    },
    ("attention_dkdv", "dv", (0, 0, 1, 0)): {
        "q": ((0, 1), range(16)),
        "k": ((1,), range(16)),
        "do": ((0, 1), (0,)),
        "lse": ((0,), (0, 1)),
        "key_lengths": ((0,), (0, 1)),
    },
}
"""By puzzle, output and element of a case with two rows: the inputs beside it, and their rows and columns."""


def small_case(name: str) -> Case:
    puzzle = PUZZLES[name]
    return ordinary_cases(puzzle, cpu_cases(puzzle)[0], tiles=True)[1]


def beside(name: str, output: str, first: tuple[int, ...], case: Case) -> Mismatch:
    puzzle = PUZZLES[name]
    prepared = prepare(puzzle, case)
    shape, nothing = tuple(prepared.tensors[output].shape), np.zeros(0)
    window = window_around(first, shape)
    mismatch = Mismatch(case, output, shape, first, 1, 1, window, nothing, nothing, nothing, None, None, None)
    return with_inputs(puzzle, prepared, mismatch)


@pytest.mark.parametrize("element", MADE_FROM, ids=lambda element: element[0])
def test_an_element_stands_beside_the_numbers_that_it_is_made_from(element):
    name, output, first = element
    shown = beside(name, f"{output}_ptr", first, small_case(name)).inputs
    assert {short(one.tensor): (one.rows, one.columns) for one in shown} == {
        tensor: (tuple(rows), tuple(columns)) for tensor, (rows, columns) in MADE_FROM[element].items()
    }


def test_the_numbers_are_those_of_the_elements_own_head():
    case = small_case("delta_rule_recurrent")
    inputs = prepare(PUZZLES["delta_rule_recurrent"], case).tensors
    for one in beside("delta_rule_recurrent", "o_ptr", (1, 1, 0, 0), case).inputs:
        assert one.lead == (1, 1)[: inputs[one.tensor].ndim - 2]
        assert (one.values == inputs[one.tensor][one.lead].numpy()[np.ix_(one.rows, one.columns)]).all()


def test_every_element_of_the_plainest_cases_has_its_inputs():
    """What nothing is made from is 0, or -inf, whatever the inputs are."""
    for puzzle in LADDER:
        case = small_case(puzzle.name)
        prepared = prepare(puzzle, case)
        for output, expected in prepared.expected.items():
            shape = tuple(prepared.tensors[output].shape)
            for first in ((0,) * len(shape), tuple(size - 1 for size in shape)):
                shown: tuple[Input, ...] = beside(puzzle.name, output, first, case).inputs
                numbers = [one for one in shown if prepared.tensors[one.tensor].is_floating_point()]
                assert numbers or float(expected.expand(shape)[first]) in (0.0, -np.inf), (puzzle.name, output, first)
                for one in shown:
                    assert max(one.values.shape) <= max(WIDE, FEW), (puzzle.name, one)
                    assert one.values.size <= MOST, (puzzle.name, one)


def test_numbers_are_given_for_an_element_to_work_out_by_hand_only_if_they_are_all_there_and_few():
    assert beside("delta_rule_recurrent", "o_ptr", (0, 0, 1, 0), small_case("delta_rule_recurrent")).by_hand
    assert beside("online_softmax", "y_ptr", (0, 0), small_case("online_softmax")).by_hand
    assert not beside("flash_attention", "o_ptr", (0, 0), small_case("flash_attention")).by_hand
    row = max((case for case in cpu_cases(PUZZLES["row_softmax"])), key=lambda case: case.sizes["N"])
    assert not beside("row_softmax", "y_ptr", (0, 0), row).by_hand
