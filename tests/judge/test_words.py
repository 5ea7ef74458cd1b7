"""Messages are true of the kernel they describe: each of these once was not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checker.course import PUZZLES
from checker.course.launchers import JUDGED
from checker.judge.factors import described
from checker.judge.finding_words import in_words
from checker.misconceptions import quick
from tests.judge.helpers import changed, judge, solution

ROW, ADD = solution("row_softmax"), solution("vector_add")


def failure(source, runner):
    verdict = judge(PUZZLES[source.puzzle], source, runner, diagnose=False)
    assert verdict.failure is not None
    return verdict.failure


def test_no_case_is_described_in_the_checkers_own_words():
    for puzzle in JUDGED.values():
        for case in puzzle.cases:
            words = described(case)
            own = [name for name in case.flags if name not in puzzle.parameters and name in words.split()]
            assert not own, (puzzle.name, words)
            assert f"the {case.layout} layout" not in words, (puzzle.name, words)


def test_two_lanes_of_one_program_are_not_two_programs(runner):
    source = changed(
        ADD,
        "    tl.store(z_ptr + offs_n, x + y, mask=mask)",
        "    tl.store(z_ptr + offs_n, x + y, mask=mask)\n"
        "    first = tl.sum(tl.where(offs_n == pid * BLOCK_N, x + y, 0.0))\n"
        "    tl.store(z_ptr + pid * BLOCK_N + 0 * offs_n, first, mask=mask)",
    )
    gate = failure(source, runner)
    assert gate.gate == "memory"
    assert gate.message.startswith("Two lanes of one store write the same element of z")
    assert "programs" not in gate.message + gate.advice


def test_memory_around_a_tensor_is_nobodys_even_with_one_program(runner):
    gate = failure(changed(ADD, "x + y, mask=mask", "x + y"), runner)
    assert "No program may touch that memory: it is not part of z." in gate.message
    assert "someone else" not in gate.message + gate.detail
    assert gate.advice.startswith("Mask the store")


@pytest.mark.parametrize(
    ("old", "new"),
    [("x_ptr + row * stride_xm", "x_ptr + row * N"), ("y_ptr + row * stride_ym", "y_ptr + row * stride_xm")],
    ids=["load", "store"],
)
def test_a_wrong_stride_is_not_called_a_missing_mask(old, new, runner):
    gate = failure(changed(ROW, old, new), runner)
    assert "Does that address use this tensor's own strides?" in gate.advice
    assert any(finding.guard == "mask" for finding in gate.findings)


ADDS = {
    "loads it": (ADD, "x + y,", "tl.load(z_ptr + offs_n, mask=mask, other=0.0) + x + y,", "reads"),
    "atomic add": (ROW, "tl.store(", "tl.atomic_add(", "adds to"),
}


@pytest.mark.parametrize(("source", "old", "new", "verb"), ADDS.values(), ids=ADDS)
def test_adding_to_what_the_launch_found_is_said_as_that(source, old, new, verb, runner):
    wrong = changed(source, old, new)
    gate = failure(wrong, runner)
    line = 1 + wrong.source[: wrong.source.index(new)].count("\n")
    output = PUZZLES[source.puzzle].outputs[0].removesuffix("_ptr")
    assert f"Line {line} {verb} what {output} held before the launch" in gate.message
    assert gate.line == line
    assert "0 / 0" not in gate.advice


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [("tl.arange", "tl.arnge", "tl.arange"), ("tl.sum(p, axis=0)", "p.summ(axis=0)", ".sum")],
    ids=["function", "method"],
)
def test_a_misspelt_name_is_asked_back(old, new, meant, runner):
    gate = failure(changed(ROW, old, new), runner)
    assert gate.message.endswith(f"did you mean `{meant}`?")


def test_lanes_of_several_programs_are_not_those_of_one(runner):
    add = changed(ADD, "x + y, mask=mask)", "x + y, mask=mask)\n    tl.store(z_ptr + N + offs_n, x)")
    gate = failure(add, runner)
    outside = next(finding for finding in gate.findings if finding.kind == "out_of_bounds_store")
    programs = -(-gate.case.sizes["N"] // gate.case.meta["BLOCK_N"])
    assert (outside.programs, outside.count) == (programs, programs * gate.case.meta["BLOCK_N"])
    several = replace(outside, programs=3, count=45)
    assert str(in_words(several, add, None)).startswith("Program 0 and 2 others write 45 lanes outside z")
    assert str(in_words(replace(outside, programs=1, count=15), add, None)).startswith("Program 0 writes 15 lanes")


def test_a_nan_that_was_loaded_has_no_operation_to_look_for(runner):
    merge = solution("merge_attention_splits")
    wrong = changed(merge, "mask=some[:, None], other=0.0", "mask=(offs_s < SPLITS)[:, None], other=0.0")
    gate = failure(wrong, runner)
    assert gate.line == 1 + wrong.source[: wrong.source.index("(offs_s < SPLITS)[:")].count("\n")
    assert f"Line {gate.line} let the NaN in: o_part[" in gate.message
    assert "0 / 0" not in gate.advice


def test_an_address_from_a_table_is_no_wrong_stride(runner):
    wrong = changed(solution("decode_attention_paged"), "batch * MAX_PAGES + cols", "batch * SPLITS + cols")
    verdict = judge(quick(PUZZLES[wrong.puzzle], smallest=6), wrong, runner, diagnose=False)
    gate = verdict.failure
    line = 1 + wrong.source[: wrong.source.index("batch * SPLITS")].count("\n")
    assert f"is an entry of block_table that means nothing, and line {line} loads it." in gate.advice
    if gate.mismatch is not None:
        assert {"key_lengths_ptr", "block_table_ptr"} <= {one.tensor for one in gate.mismatch.inputs}
