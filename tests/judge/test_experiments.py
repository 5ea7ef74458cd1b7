"""A failing case is run again with one factor changed; the advice names the factor that makes it right."""

from __future__ import annotations

from dataclasses import replace

from checker.course import PUZZLES
from checker.course.families import chunk_pairs, deep
from checker.judge.experiments import MOST_RUNS, what_turns_it_right
from checker.judge.launches import prepare
from checker.judge.outcome import Candidate
from checker.puzzle import NORMAL
from tests.judge.helpers import changed, judge, solution

STORED = "acc / l_i[:, None], mask"
"""What `flash_attention` stores."""
EXPERIMENTS = {
    "values": (
        ("row_softmax", "tl.exp(x - m_i)", "tl.exp(x)"),
        {"family": deep},
        "It fails with rows of numbers so far below zero that their exponentials vanish; with ordinary values it is right.",
    ),
    "kinds of chunks": (
        ("online_softmax", 'tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new"),
        {"family": chunk_pairs, "sizes": {"M": 9, "N": 41}, "meta": {"BLOCK_N": 4}},
        "It fails with parts of a row that are -inf throughout; without them it is right, also with N = 4.",
    ),
    "layout": (
        ("row_softmax", "x_ptr + row * stride_xm", "x_ptr + row * N"),
        {"layout": "padded", "sizes": {"M": 4, "N": 13}, "meta": {"BLOCK_N": 16}},
        "It fails with rows that lie further apart in memory than they are long; with a contiguous layout it is right.",
    ),
    "remainder": (
        ("vector_add", "x + y, mask=mask", "x + y + tl.where(N % BLOCK_N > 0, 1.0, 0.0), mask=mask"),
        {"sizes": {"N": 37}},
        "It fails with N = 37, which is no multiple of BLOCK_N = 16; with N = 32 it is right.",
    ),
    "several tiles": (
        ("vector_add", "x + y, mask=mask", "x + y + tl.where(pid > 0, 1.0, 0.0), mask=mask"),
        {"sizes": {"N": 32}},
        "It fails with N = 32, more than one tile of BLOCK_N = 16; with N = 16 it is right.",
    ),
    "more queries than keys": (
        ("flash_attention", STORED, f"{STORED.replace(', mask', '')} + tl.where(N_Q > N_KV, 1.0, 0.0), mask"),
        {"sizes": {"N_Q": 32, "N_KV": 16, "D": 16}, "meta": {"BLOCK_M": 16, "BLOCK_N": 16}},
        "It fails with more queries (N_Q) than keys (N_KV); with as many queries as keys (N_Q = N_KV = 16) it is right.",
    ),
    "tiles": (
        ("flash_attention", STORED, f"{STORED.replace(', mask', '')} + (BLOCK_M != BLOCK_N), mask"),
        {"sizes": {"N_Q": 16, "N_KV": 16, "D": 16}, "meta": {"BLOCK_M": 16, "BLOCK_N": 32}},
        "It fails with BLOCK_M = 16 and BLOCK_N = 32; with both 32 it is right.",
    ),
    "two factors at once": (
        (
            "row_softmax",
            "p / l_i,",
            "p / l_i * (tl.where(stride_xm != N, 2.0, 1.0) if y_ptr.dtype.element_ty == tl.float16 else 1.0),",
        ),
        {"dtype": "float16", "layout": "padded", "sizes": {"M": 2, "N": 16}, "meta": {"BLOCK_N": 16}},
        "It fails in float16; in float32 it is right, also with a contiguous layout.",
    ),
    "nothing that was tried": (("row_softmax", "p / l_i,", "p / l_i + 0.5,"), {}, ""),
}


def test_the_factor_that_makes_it_right_is_named(runner):
    for experiment, ((name, old, new), factors, message) in EXPERIMENTS.items():
        puzzle, source = PUZZLES[name], changed(solution(name), old, new)
        failing = prepare(puzzle, replace(puzzle.cases[0], **{"dtype": "float32", "family": NORMAL, **factors}))
        (outcome,) = Candidate(puzzle, source, runner).simulate([failing])
        assert not outcome.right, experiment
        runner.simulated = 0
        assert what_turns_it_right(Candidate(puzzle, source, runner), failing, lambda o: not o.right) == message, (
            experiment
        )
        assert runner.simulated <= MOST_RUNS, experiment


def test_a_verdict_names_the_factor_only_if_some_cases_are_right(runner):
    puzzle = PUZZLES["vector_add"]
    some = judge(puzzle, changed(solution("vector_add"), "x + y, mask=mask", "x + y"), runner, diagnose=False)
    assert "which is no multiple of BLOCK_N = 2; with N = 2 it is right." in some.failure.message
    every = judge(puzzle, changed(solution("vector_add"), "x + y, mask", "x - y, mask"), runner, diagnose=False)
    assert "it is right" not in every.failure.message


def test_a_factor_that_another_failing_case_lacks_is_not_named(runner):
    puzzle, source = PUZZLES["row_softmax"], changed(solution("row_softmax"), "p / l_i,", "p / l_i * 2,")
    half = replace(puzzle.cases[0], dtype="float16", family=NORMAL, layout="padded")
    single = replace(half, dtype="float32")

    def only_in_half(outcome):
        return outcome.case.dtype == "float16"

    failing = prepare(puzzle, half)
    assert "float32" in what_turns_it_right(Candidate(puzzle, source, runner), failing, only_in_half)
    assert "float32" not in what_turns_it_right(
        Candidate(puzzle, source, runner), failing, only_in_half, [half, single]
    )
