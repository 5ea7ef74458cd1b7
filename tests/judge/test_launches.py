"""Inputs in guarded memory, poisoned outputs, damage found bit for bit, and cases drawn from a seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import torch

from checker.course import LADDER, PUZZLES
from checker.judge.launches import GUARD, cases_of, damages, prepare, seed_from, whole
from checker.live.in_process import copied
from checker.puzzle import NORMAL
from tests.judge.helpers import cpu_cases

ROW = PUZZLES["row_softmax"]
PADDED = next(c for c in cpu_cases(ROW, "float32") if c.layout == "padded" and c.sizes["M"] >= 3 and c.sizes["N"] > 3)


@pytest.fixture
def prepared():
    return prepare(ROW, PADDED)


@pytest.fixture
def after(prepared):
    """The tensors as a kernel that does nothing leaves them."""
    return {name: copied(tensor) for name, tensor in prepared.tensors.items()}


def test_inputs_keep_their_values_and_layout_and_outputs_are_poisoned():
    for puzzle in LADDER:
        for case in cpu_cases(puzzle)[::8]:
            made, prepared = puzzle.make(case), prepare(puzzle, case)
            for name, tensor in made.items():
                placed = prepared.launch.arguments[name]
                assert (placed.shape, placed.stride()) == (tensor.shape, tensor.stride())
                assert placed.storage_offset() == GUARD
                if name not in puzzle.outputs:
                    assert torch.equal(placed.nan_to_num(7), tensor.nan_to_num(7))
                elif placed.is_floating_point():
                    assert bool((placed.isnan() | (placed == -7936)).all())
    no_answer = replace(ROW, reference=lambda case, inputs: {"y_ptr": torch.full_like(inputs["x_ptr"], torch.nan)})
    assert bool((prepare(no_answer, PADDED).launch.arguments["y_ptr"] == -7936).all()), "NaN would hide the poison"


def test_a_written_output_is_no_damage_and_a_changed_input_is(prepared, after):
    assert damages(prepared, after) == []
    after["y_ptr"].fill_(0.25)
    assert damages(prepared, after) == []
    after["x_ptr"][2, 3] += 1
    (damage,) = damages(prepared, after)
    assert (damage.tensor, damage.inside, damage.index, damage.count) == ("x_ptr", True, (2, 3), 1)


def test_one_element_written_outside_the_output_is_damage(prepared):
    y = prepared.tensors["y_ptr"]
    columns, stride = y.shape[1], y.stride(0)
    span = (y.shape[0] - 1) * stride + columns
    for offset in (-1, columns, span):  # before the output, between two rows, behind it
        after = {name: copied(tensor) for name, tensor in prepared.tensors.items()}
        whole(after["y_ptr"])[GUARD + offset] = 1.0
        (damage,) = damages(prepared, after)
        assert (damage.inside, damage.offset, damage.count, damage.span) == (False, offset, 1, span)


def test_one_flipped_bit_of_a_nan_is_damage_and_another_shape_is_refused(prepared, after):
    whole(after["y_ptr"]).view(torch.int32)[0] ^= 1
    assert len(damages(prepared, after)) == 1
    other = torch.zeros(PADDED.sizes["M"], PADDED.sizes["N"])
    with pytest.raises(ValueError, match="y_ptr"):
        damages(prepared, after | {"y_ptr": other})


def test_a_secret_draws_the_same_new_numbers_every_time():
    first, again, other = (cases_of(ROW, seed_from(secret, ROW)) for secret in (b"a", b"a", b"b"))
    assert first == again
    assert cases_of(ROW, None) == tuple(ROW.cases)
    normal = next(i for i, case in enumerate(ROW.cases) if case.family == NORMAL)
    x, y = (prepare(ROW, cases[normal]).launch.arguments["x_ptr"] for cases in (first, other))
    assert not torch.equal(x, y)


def test_a_seed_draws_cases_larger_than_every_fixed_one():
    for puzzle in (puzzle for puzzle in LADDER if puzzle.drawn(Random(0))):
        fixed = cpu_cases(puzzle)
        for seed in range(10):
            cases = cases_of(puzzle, seed)
            assert cases == cases_of(puzzle, seed)
            assert len({case.name for case in cases}) == len(cases)
            sizes = [size for case in cases[len(puzzle.cases) :] for size in case.sizes.items()]
            growing = [(name, size) for name, size in sizes if name not in ("D", "D_V")]
            assert any(size > max(case.sizes[name] for case in fixed) for name, size in growing), puzzle.name
