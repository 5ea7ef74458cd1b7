"""The plainest case that still fails in the same way: what a learner can work out by hand."""

from __future__ import annotations

from dataclasses import replace

from checker.course import LADDER, PUZZLES
from checker.course.families import ascending, chunk_pairs, lowest, negative
from checker.judge.factors import tile_of
from checker.judge.launches import prepare
from checker.judge.outcome import Candidate
from checker.judge.plainest_case import MOST_RUNS, allowed, is_everyday, ordinary_cases, plainest_failure
from checker.misconceptions import bank
from checker.puzzle import NORMAL
from tests.judge.helpers import changed, cpu_cases, judge, solution

ROW = PUZZLES["row_softmax"]
HARD = {"row_softmax": lowest, "vector_add": NORMAL, "online_softmax": ascending}
FAILS = {
    "always wrong": ("row_softmax", "p / l_i", "p + l_i", {"M": 1, "N": 3}),
    "second row wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(row > 0, 0.5, 0.0),", {"M": 2, "N": 3}),
    "fifth column wrong": ("row_softmax", "p / l_i,", "p / l_i + tl.where(offs_n == 4, 0.5, 0.0),", {"M": 1, "N": 6}),
    "second tile wrong": ("vector_add", "x + y,", "x + y + tl.where(pid > 0, 0.5, 0.0),", {"N": 3}),
    "no rescale": ("online_softmax", "l_i * tl.exp(m_i - m_safe)", "l_i", {"M": 1, "N": 3}),
}


def plainest(puzzle, source, cases, runner):
    candidate = Candidate(puzzle, source, runner)
    failing = [o for o in candidate.simulate([prepare(puzzle, case) for case in cases]) if not o.right]
    runner.simulated = 0
    return plainest_failure(candidate, failing, lambda o: o.ran and not o.right)


def test_a_few_ordinary_numbers_are_shown_even_if_only_hard_cases_were_tried(runner):
    for failure, (name, old, new, sizes) in FAILS.items():
        puzzle, source = PUZZLES[name], changed(solution(name), old, new)
        large = next(c for c in cpu_cases(puzzle) if min(c.sizes.values()) > 4)
        case = replace(large, family=HARD[name], dtype="bfloat16", layout="padded")
        shown = plainest(puzzle, source, [case], runner).case
        assert is_everyday(shown), failure
        assert dict(shown.sizes) == sizes, failure
        assert runner.simulated <= MOST_RUNS
        for kernel, right in ((source, False), (solution(name), True)):
            (outcome,) = Candidate(puzzle, kernel, runner).simulate([prepare(puzzle, shown)])
            assert outcome.right is right


def test_of_harder_cases_the_least_hard_stays_with_nothing_else_special(runner):
    source = changed(solution("row_softmax"), "tl.exp(x - m_i)", "tl.exp(x)")
    case = next(c for c in cpu_cases(ROW) if c.family == NORMAL and c.sizes["N"] > 3)
    hard = [replace(case, family=f, dtype="float16", layout="padded") for f in (lowest, chunk_pairs, negative)]
    shown = plainest(ROW, source, hard, runner).case
    assert (shown.family, shown.dtype, shown.layout, dict(shown.sizes)) == (
        *(negative, "float32", "contiguous"),
        {"M": 1, "N": 9},  # with 3, only numbers of 1e-15 are wrong
    )


def test_a_number_that_looks_like_rounding_is_not_shown_where_another_is_plainly_wrong(runner):
    puzzle = PUZZLES["triangular_inverse"]
    doubled = next(wrong for wrong in bank(puzzle.name) if wrong.name == "doubled")
    cases = [case for case in cpu_cases(puzzle, "float32") if case.family.label == "nearly equal keys"]
    shown = plainest(puzzle, doubled.source, cases, runner)
    assert shown.comparison is not None
    assert shown.comparison.mismatch is not None
    one = shown.comparison.mismatch
    inside = tuple(i - start for i, (start, _) in zip(one.first, one.window, strict=True))
    assert abs(one.got[inside] - one.expected[inside]) > 1e-4


def test_many_chunks_shrink_with_their_tiles(runner):
    puzzle = PUZZLES["online_softmax"]
    source = changed(solution(puzzle.name), 'tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")
    cases = [c for c in cpu_cases(puzzle) if c.family == chunk_pairs and c.meta["BLOCK_N"] > 2]
    shown = plainest(puzzle, source, cases, runner).case
    assert shown.meta["BLOCK_N"] == 2
    assert shown.sizes["N"] <= 4


def test_a_few_tokens_are_shown_of_a_kind_of_numbers_that_fails(runner):
    puzzle = PUZZLES["delta_chunk_matrix"]
    wrong = next(wrong for wrong in bank(puzzle.name) if wrong.name == "masked_by_multiplying")
    cases = [case for case in cpu_cases(puzzle) if case.family.label == "decays of all kinds"]
    assert plainest(puzzle, wrong.source, cases, runner).case.sizes["N"] <= 6


def test_what_a_softmax_is_taken_over_has_a_few_numbers_not_one(runner):
    for name, old, new in (
        ("decode_attention_split", "acc / l_safe[:, None]", "acc"),
        ("flash_attention_window", "acc / l_safe[:, None]", "acc"),
    ):
        source = changed(solution(name), old, new)
        shown = plainest(PUZZLES[name], source, cpu_cases(PUZZLES[name])[:6], runner).case
        assert is_everyday(shown)
        assert shown.sizes["N_KV"] == 3


def test_ordinary_rows_of_just_more_than_one_tile_are_tried():
    for name, size in (("online_softmax", "N"), ("flash_attention", "N_KV"), ("causal_linear_attention_chunked", "N")):
        puzzle = PUZZLES[name]
        cases = ordinary_cases(puzzle, cpu_cases(puzzle)[0], tiles=True)
        tile = tile_of(size, cases[0].meta)
        assert any(case.sizes[size] == case.meta[tile] + 1 for case in cases), name


def test_a_row_does_not_outgrow_the_tile_that_holds_it(runner):
    source = changed(solution("row_softmax"), "p / l_i,", "p / l_i + tl.where(row > 1, 0.5, 0.0),")
    case = next(c for c in ROW.cases if c.meta["BLOCK_N"] == 1 and c.sizes["M"] == 3)
    shown = plainest(ROW, source, [case], runner).case
    assert shown.meta["BLOCK_N"] >= shown.sizes["N"]


def test_the_card_shows_the_inputs_of_the_plainest_case(runner):
    source = changed(solution("row_softmax"), "tl.exp(x - m_i)", "tl.exp2(x - m_i)")
    failure = judge(ROW, source, runner).failure
    (x,) = failure.mismatch.inputs
    assert (x.tensor, x.rows, x.columns) == ("x_ptr", (0,), (0, 1, 2))
    assert (x.values == prepare(ROW, failure.case).tensors["x_ptr"].numpy()).all()


def test_the_card_says_what_is_special_about_a_harder_case(runner):
    source = changed(solution("row_softmax"), "p = tl.exp(x - m_i)", "p = tl.exp(x)")
    assert "with ordinary values it is right" in judge(ROW, source, runner, diagnose=False).failure.message


def test_no_case_leaves_the_sizes_that_the_contract_allows(runner):
    for puzzle in LADDER:
        case = cpu_cases(puzzle)[0]
        assert allowed(puzzle, case), puzzle.name
        for name, choices in puzzle.domain.sizes.items():
            if choices and 1 not in choices:
                assert not allowed(puzzle, replace(case, sizes={**case.sizes, name: 1})), (puzzle.name, name)
    puzzle = PUZZLES["merge_attention_splits"]
    source = changed(solution(puzzle.name), "w = tl.exp(lse_part - m_safe)", "w = tl.exp(lse_part)")
    shown = plainest(puzzle, source, cpu_cases(puzzle)[:6], runner).case
    assert shown.sizes["D"] == 16
