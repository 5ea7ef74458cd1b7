"""Programs simulated together give what each gives alone, for every known kernel: a verdict must not depend on the faster way."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from checker.simulator.lockstep import builder, language, memory, programs, together
from checker.simulator.values import Handle
from tests.judge.helpers import solution
from tests.misconceptions.kernels import correct
from tests.simulator.lockstep.differential import compared

CORRECT = [(puzzle.name, name) for puzzle in LADDER for name in correct(puzzle.name)]


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_a_solution(puzzle, tmp_path):
    source = solution(puzzle.name)
    difference = compared(puzzle, source, tmp_path)
    assert difference.problems == []
    # a launch of one program, alone of its shape, stays alone
    assert sum(difference.together) >= difference.clean / 2 > 0


@pytest.mark.parametrize(("puzzle", "name"), CORRECT[::8])
def test_a_right_kernel_in_another_style(puzzle, name, tmp_path):
    source = correct(puzzle)[name]
    difference = compared(PUZZLES[puzzle], source, tmp_path, every=2)
    assert difference.problems == []
    assert sum(difference.together) >= difference.clean / 2


@pytest.mark.timeout(900)
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_every_wrong_kernel(puzzle, tmp_path):
    beside_others = clean = 0
    for known in bank(puzzle.name):
        difference = compared(puzzle, known.source, tmp_path)
        assert difference.problems == [], known.name
        beside_others += sum(difference.together)
        clean += difference.clean
    assert beside_others >= clean / 2


def _off(self, lhs, rhs):
    moved = Handle(rhs.data * np.float32(1.001), rhs.type, rhs.taint)
    return builder.Primitives.create_fadd(self, lhs, moved)


def _none(*_):
    return None


def _stored_by_half(self, launch, stores=together.StackedTensor.stores_of):
    program, line = stores(self, launch)
    return program // 2, line


def _all_inside(self, offsets, places=together.StackedTensor.places):
    where, inside = places(self, offsets)
    return np.where(inside, where, 0), np.ones_like(inside)


RIGHT = "flash_attention_heads", None
BROKEN = {
    "sums a little off": ("online_softmax", None, builder.Builder, "create_fadd", _off),
    "lanes outside unseen": ("tiled_softmax", "tail_read_past_the_end", together.StackedTensor, "places", _all_inside),
    "elements never stored": ("vector_add", "tail_dropped", together._Run, "_doubt_unwritten", _none),
    "a store meets a store": ("vector_add", "every_program_does_everything", memory.Memory, "_doubt_programs", _none),
    "a store to an input": ("row_softmax", "exponentials_over_the_input", programs.Programs, "doubt", _none),
    "undefined lanes forgotten": ("row_softmax", "no_other", memory, "merge_taint", _none),
    "resting programs compute on": (*RIGHT, language.LockstepLanguage, "kept", lambda self, value, previous: value),
    "loops without an end of their own": (*RIGHT, programs.Programs, "narrowed", lambda self, lanes: self.running),
    "bytes of resting programs counted": (*RIGHT, programs.Programs, "running_column", _none),
    "another program named": ("tiled_softmax", None, together.StackedTensor, "stores_of", _stored_by_half),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_fast_path_is_caught(broken, tmp_path, monkeypatch):
    """The tests above can fail."""
    puzzle, name, place, method, instead = BROKEN[broken]
    wrong = {known.name: known.source for known in bank(puzzle)}
    source = wrong[name] if name else solution(puzzle)
    small = [case for case in PUZZLES[puzzle].cases if math.prod(case.sizes.values()) < 2**17]
    cases = replace(PUZZLES[puzzle], cases=tuple(small[::2]))
    assert compared(cases, source, tmp_path).problems == []
    monkeypatch.setattr(place, method, instead)
    assert compared(cases, source, tmp_path).problems != []
