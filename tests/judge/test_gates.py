"""Verdicts from end to end: which gate stops a kernel, with which status, line and message."""

from __future__ import annotations

import re
from dataclasses import replace

from checker.course import PUZZLES
from checker.judge.runner import RunResult
from checker.live.in_process import InProcess
from checker.misconceptions import bank, quick
from checker.puzzle import GATES
from checker.submission.kernel import Config, Piece
from tests.judge.helpers import changed, judge, solution, written

ROW, ADD = PUZZLES["row_softmax"], PUZZLES["vector_add"]


def statuses(verdict):
    return {gate.gate: gate.status for gate in verdict.gates}


def test_a_right_kernel_passes_and_no_gpu_is_claimed(runner):
    verdict = judge(ROW, solution("row_softmax"), runner)
    assert verdict.status == "passed", verdict.failure
    assert verdict.score == verdict.max_score == ROW.points
    assert tuple(gate.gate for gate in verdict.gates) == GATES
    assert statuses(verdict) == dict.fromkeys(GATES, "passed") | {"gpu": "skipped", "speed": "skipped"}
    assert "not run: no GPU here" in next(gate for gate in verdict.gates if gate.gate == "gpu").message
    assert (verdict.diagnosis, verdict.failure) == (None, None)


def test_an_untouched_stub_is_not_attempted(runner):
    for body in ("pass", '"""What it does."""\n# your code starts here\n\n# your code ends here'):
        verdict = judge(ROW, written("row_softmax", body), runner)
        assert (verdict.status, verdict.score) == ("not_attempted", 0)
        assert "Nothing is written here yet" in verdict.gates[0].message
        assert all(gate.status == "skipped" for gate in verdict.gates[1:])
    assert runner.simulated == 0


def test_a_forbidden_kernel_never_runs(runner):
    source = changed(solution("row_softmax"), "m_i = tl.max(x, axis=0)", "m_i = open('/etc/passwd')")
    verdict = judge(ROW, source, runner)
    assert verdict.status == "forbidden"
    assert verdict.failure is not None
    assert verdict.failure.line == 1 + source.source[: source.source.index("open(")].count("\n")
    assert runner.simulated == 0
    assert all(gate.status == "skipped" for gate in verdict.gates[1:])


def test_a_wrong_value_is_reported_with_element_program_and_line(runner):
    source = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
    verdict = judge(ROW, source, runner, diagnose=False)
    failure = verdict.failure
    assert failure is not None
    assert (failure.gate, failure.status) == ("values", "failed")
    mismatch = failure.mismatch
    assert mismatch is not None
    assert mismatch.first == (0, 0)
    assert mismatch.writer == (0, 0, 0)
    assert all(words in failure.message for words in ("y[0, 0] is", "should be", "Program 0 stored it"))
    assert "tl.store" in source.source.splitlines()[failure.line - 1]
    assert statuses(verdict)["compile"] == "passed"
    assert [statuses(verdict)[g] for g in ("memory", "traffic", "gpu")] == ["skipped"] * 3
    assert failure.case == mismatch.case
    assert failure.case.sizes == {"M": 1, "N": 3}


def test_lines_of_a_kernel_that_could_not_keep_its_place_are_the_learners_own(runner):
    source = changed(solution("row_softmax"), "p / l_i", "p / l_i + 0.5")
    lines = source.source.count("\n")
    moved = replace(source, pieces=(Piece(6, lines, "In[7]", 106), Piece(1, 5, "In[3]", 1)))
    plain, other = (judge(ROW, s, runner, diagnose=False) for s in (source, moved))
    assert other.failure.line == plain.failure.line + 100
    assert other.failure.mismatch.line == plain.failure.mismatch.line + 100
    assert f"line {other.failure.line}" in other.failure.message
    assert other.first_line == 106
    assert "tl.store" in other.source.splitlines()[other.failure.line - other.first_line]


def test_the_line_that_made_the_first_nan_is_reported(runner):
    old = "m_i = tl.max(x, axis=0)"
    source = changed(solution("row_softmax"), old, f"{old}\n    x = x - x\n    x = x / x")
    failure = judge(ROW, source, runner, diagnose=False).failure
    assert failure is not None
    assert "nan_born" in {finding.kind for finding in failure.findings}
    assert re.search(r"y holds NaN; `[-/]` made the first one at line \d+ out of operands", failure.message)
    assert "before the launch" not in failure.message
    assert source.source.splitlines()[failure.line - 1].strip() in ("x = x - x", "x = x / x")


def test_the_line_that_made_the_first_inf_is_reported(runner):
    source = changed(solution("row_softmax"), "    # [BLOCK_N]\n    tl.store", "    p = p / (l_i - l_i)\n    tl.store")
    failure = judge(ROW, source, runner, diagnose=False).failure
    assert "first was made" in failure.message
    assert "divided by 0" in failure.message
    assert "l_i - l_i" in source.source.splitlines()[failure.line - 1]


def test_a_missing_barrier_fails_even_if_the_values_are_right(runner):
    puzzle = PUZZLES["flash_attention_v1"]
    few = replace(puzzle, cases=puzzle.cases[:12], drawn=lambda draw: ())
    verdict = judge(few, changed(solution(puzzle.name), "        tl.debug_barrier()\n", ""), runner, diagnose=False)
    assert verdict.failure is not None
    assert verdict.failure.gate == "memory"
    assert "with no barrier in between" in verdict.failure.message
    assert "`tl.debug_barrier()`" in verdict.failure.advice


def test_traffic_names_the_lines(runner):
    source = changed(
        solution("row_softmax"),
        "    p = tl.exp(x - m_i)",
        '    again = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf")).to(tl.float32)\n    p = tl.exp(again - m_i)',
    )
    verdict = judge(ROW, source, runner)
    failure = verdict.failure
    assert failure is not None
    assert failure.gate == "traffic"
    assert "x was loaded 2 times over; this puzzle allows 1" in failure.message
    traffic, loaded, stored = failure.traffic["x_ptr"]
    assert (traffic.loaded, stored) == (2 * loaded, 0)
    assert "again" in source.source.splitlines()[failure.line - 1]
    assert verdict.diagnosis.misconception == "reads_x_twice"
    assert "again" in source.source.splitlines()[verdict.diagnosis.line - 1]


def test_masked_lanes_may_read_the_last_element_again_but_a_second_load_counts(runner):
    clamped = """
row = tl.program_id(0).to(tl.int64)
offs_n = tl.arange(0, BLOCK_N)
x = tl.load(x_ptr + row * stride_xm + tl.minimum(offs_n, N - 1)).to(tl.float32)
x = tl.where(offs_n < N, x, float("-inf"))
p = tl.exp(x - tl.max(x, axis=0))
tl.store(y_ptr + row * stride_ym + offs_n, p / tl.sum(p, axis=0), mask=offs_n < N)
"""
    verdict = judge(ROW, written("row_softmax", clamped), runner)
    assert verdict.passed, verdict.failure
    again = "tl.load(x_ptr + row * stride_xm + tl.minimum(offs_n, N - 1)).to(tl.float32)"
    twice = clamped.replace("tl.exp(x", f"tl.exp(tl.where(offs_n < N, {again}, float('-inf'))")
    assert judge(ROW, written("row_softmax", twice), runner).failure.gate == "traffic"


def test_the_traffic_budget_follows_the_learners_own_tiles(runner):
    """Smaller tiles load K and V more often. That is the learner's choice, so the budget grows with it."""
    puzzle = quick(PUZZLES["flash_attention"])
    source = replace(solution(puzzle.name), configs=(Config({"BLOCK_M": 16, "BLOCK_N": 32}, {"num_warps": 4}),))
    verdict = judge(puzzle, source, runner)
    assert verdict.passed, verdict.failure
    traffic = next(gate for gate in verdict.gates if gate.gate == "traffic").traffic
    assert any(moved.loaded == loaded > 0 for moved, loaded, _ in traffic.values())


def test_a_kernel_that_stops_is_a_runtime_error(runner):
    source = changed(solution("row_softmax"), "m_i = tl.max(x, axis=0)", "m_i = tl.max(x, axis=5)")
    verdict = judge(ROW, source, runner)
    failure = verdict.failure
    assert failure is not None
    assert verdict.status == "runtime_error"
    assert failure.gate == "values"
    assert "axis=5" in source.source.splitlines()[failure.line - 1]
    assert verdict.diagnosis is None


def test_the_way_a_run_ends_becomes_the_status(runner):
    for status in ("timeout", "resource_limit", "infra_error", "protocol_error"):
        ended = RunResult(status, message="the loop on line 12 did not end", line=12)
        runner.simulate = lambda kernel, launches, options, ended=ended: iter([ended])
        verdict = judge(ROW, solution("row_softmax"), runner)
        assert (verdict.status, verdict.score) == (status, 0)
        assert verdict.failure.line == 12
        assert "line 12" in verdict.failure.message
        assert verdict.failure.advice


def test_a_card_says_what_an_endless_loop_waits_for(runner):
    endless = "m_i = m_new\n        while l_i > 0.0:\n            l_i = l_i * 1.0\n"
    source = changed(solution("online_softmax"), "m_i = m_new\n", endless)
    line = next(n for n, text in enumerate(source.source.splitlines(), 1) if "while l_i" in text)
    ended = RunResult("timeout", message="the kernel did not finish within 6 s", line=line + 1)
    runner.simulate = lambda kernel, launches, options: iter([ended])
    failure = judge(PUZZLES["online_softmax"], source, runner).failure
    assert f"The loop in line {line} goes on while `l_i > 0.0`." in failure.message


def test_a_kernel_that_prints_is_told_where_to_read_it(runner):
    source = changed(
        solution("row_softmax"), "m_i = tl.max(x, axis=0)", 'm_i = tl.max(x, axis=0)\n    print("m_i", m_i)'
    )
    (warning,) = judge(ROW, source, runner).gates[0].warnings
    assert "row_softmax_kernel[grid]" in warning.message
    assert "print(" in source.source.splitlines()[warning.line - 1]
    assert not judge(ROW, solution("row_softmax"), runner).gates[0].warnings


class TakesTooLong(InProcess):
    """From the sixth launch of a job on, no launch ends in time."""

    def simulate(self, kernel, launches, options):
        for number, result in enumerate(super().simulate(kernel, launches, options)):
            if number == 5:
                yield RunResult("timeout", message="it did not finish within 6 s")
                return
            yield result


def test_a_fault_in_a_small_case_says_more_than_a_later_timeout(runner):
    slow = TakesTooLong(runner.directory, compiles=False)
    everything = next(m for m in bank("vector_add") if m.name == "every_program_does_everything")
    verdict = judge(PUZZLES["vector_add"], everything.source, slow)
    assert verdict.failure.gate == "memory"
    assert verdict.diagnosis.misconception == "every_program_does_everything"
    assert judge(PUZZLES["vector_add"], solution("vector_add"), slow).status == "timeout"
