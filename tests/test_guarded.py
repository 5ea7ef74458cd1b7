"""Guarded misconceptions: the join is the wrong kernel where its guard holds and the solution elsewhere, and nothing else."""

from __future__ import annotations

import ast
import random
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest
import torch

from checker.course import LADDER, PUZZLES
from checker.course.softmax_rows import named
from checker.judge.launches import prepare_all
from checker.judge.outcome import simulate
from checker.misconceptions import bank
from checker.misconceptions import solution as bare
from checker.puzzle import Guard
from tests.judge.helpers import HEAD, kernel_source
from tests.judge.local_runner import LocalRunner
from tools import guarded
from tools.mutations import function_of

ONLINE = PUZZLES["online_softmax"]
SMALL = 4
"""Cases that a join is run on."""
TOP = (Guard("always", "tl.num_programs(0) > 0"), Guard("never", "tl.num_programs(0) < 0"))
TURN = (Guard("always", "turn >= 0"), Guard("never", "turn < 0"))


@pytest.fixture
def runner(tmp_path):
    return LocalRunner(tmp_path, compiles=False)


def wrong(puzzle: str, name: str):
    return next(m for m in bank(puzzle) if m.name == name)


def prepared(puzzle):
    return prepare_all(puzzle, [(case, None) for case in puzzle.cases if "cpu" in case.devices])


def outputs(puzzle, source, cases, runner):
    """What a kernel leaves in each case, and what moved; "stops" where it does not run to its end."""
    found = []
    for one in cases:
        (outcome,) = simulate(puzzle, source, runner, [one])
        tensors = outcome.result.tensors
        found.append(({n: tensors[n] for n in one.launch.outputs}, outcome.trace.traffic) if outcome.ran else "stops")
    return found


def same(a, b):
    if "stops" in (a, b):
        return a == b
    equal = all(torch.equal(a[0][name].nan_to_num(7e8), b[0][name].nan_to_num(7e8)) for name in a[0])
    return equal and a[1] == b[1]


def joins(puzzle):
    """Wrong kernels that can be joined at the top, and in the turns of a loop, with the two guards."""
    known = list(bank(puzzle.name))
    random.Random(puzzle.name).shuffle(known)
    yield known[0], TOP
    for m in islice((m for m in known if guarded.joined(puzzle, m.source, TURN[0])), 2):
        yield m, TURN


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_always_is_the_wrong_kernel_and_never_the_solution(puzzle, runner):
    cases, right = prepared(puzzle)[:SMALL], guarded.right(puzzle)
    for misconception, both in joins(puzzle):
        always, never = (guarded.joined(puzzle, misconception.source, guard) for guard in both)
        for source, like in ((always, misconception.source), (never, right)):
            pairs = zip(outputs(puzzle, source, cases, runner), outputs(puzzle, like, cases, runner), strict=True)
            assert all(same(*pair) for pair in pairs), f"{misconception.name} if {both[0].test}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_what_is_said_of_a_launch_is_what_its_programs_see(puzzle, runner):
    """Each guard at the top, asked in the kernel and asked of the launch."""
    function = function_of(ast.parse(bare(puzzle.name)), puzzle.kernel)
    at_top = [g for g in guarded.guards(puzzle) if not guarded.in_place(g)]
    asked = [g for g in at_top if guarded.names(g.test) <= {"tl", *puzzle.parameters}]
    tests = "".join(f"    if {g.test}:\n        held = held | {2**k}\n" for k, g in enumerate(asked[:60]))
    text = f"{HEAD}def {puzzle.kernel}({ast.unparse(function.args)}):\n    held = tl.program_id(0).to(tl.int64) * 0\n"
    text += f'{tests}    tl.device_print("held ", held)\n'
    source = kernel_source(text, puzzle.name, puzzle.kernel, "asks.py")
    for one in prepared(puzzle)[:SMALL]:
        (outcome,) = simulate(puzzle, source, runner, [one])
        printed = [int(line.rpartition(" ")[2]) for line in outcome.trace.printed]
        launched = guarded.Launched(one.case, one.launch)
        for k, guard in enumerate(asked[:60]):
            assert {bool(bits >> k & 1) for bits in printed} == launched.answers(guard), guard.name


def test_a_flag_is_known_to_the_launch_alone():
    ragged = next(g for g in guarded.guards(PUZZLES["linear_attention"]) if g.name == "ragged")
    said = {
        one.case.flags["RAGGED"]: guarded.Launched(one.case, one.launch).answers(ragged)
        for one in prepared(PUZZLES["linear_attention"])
    }
    assert said == {True: {True}, False: {False}}


# ---- where the guard is asked --------------------------------------------------------------------------------------------

DEAD = Guard("dead", 'tl.max(x, axis=0) == float("-inf")', "x")


def guarded_lines(puzzle, name, guard):
    source = guarded.joined(PUZZLES[puzzle], wrong(puzzle, name).source, guard)
    assert source is not None
    return [line.strip() for line in source.source.splitlines()]


def test_in_a_loop_the_lines_that_differ_are_chosen_in_place():
    lines = guarded_lines("online_softmax", "inf_minus_inf", DEAD)
    first = lines.index('guard_holds = tl.max(x, axis=0) == float("-inf")'.replace('"', "'"))
    assert lines[first - 1].startswith("x = tl.load(")
    assert lines[first + 1].startswith("m_new = ")
    assert lines[first + 2 : first + 4] == [
        "if guard_holds:",
        "l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)",
    ]


def test_a_turn_is_counted_from_the_loop_that_asks():
    lines = guarded_lines("online_softmax", "inf_minus_inf", Guard("late", "turn >= 3 and turn < turns - 1"))
    said = "guard_holds = (start_n - 0) // BLOCK_N >= 3 and (start_n - 0) // BLOCK_N < (N - 0 + BLOCK_N - 1) // BLOCK_N - 1"
    assert said in lines
    lines = guarded_lines("causal_linear_attention", "eps_forgotten", Guard("late", "turn >= 3"))
    assert "guard_holds = (i - 0) // 1 >= 3" in lines


@pytest.mark.parametrize(
    ("name", "guard"),
    [
        ("max_starts_at_zero", Guard("late", "turn >= 3")),  # before the loop
        ("no_other", DEAD),  # the load of the chunk itself
        ("chunk_local_max", Guard("late", "turn >= 3")),  # other loops
    ],
)
def test_what_cannot_be_chosen_in_place_is_no_guarded_kernel(name, guard):
    assert guarded.joined(ONLINE, wrong("online_softmax", name).source, guard) is None


def test_a_guard_that_holds_is_seen_where_it_holds():
    """Rows whose first chunk is -inf, which the second pass sees when it has the maximum, and rows without one."""
    first = named({"BLOCK_N": 16}, 2, 50, family="first_chunk_masked")
    plain = named({"BLOCK_N": 16}, 2, 50)
    bench = guarded.Bench(replace(ONLINE, cases=(first, plain)))
    held = [bench.held(trial) for trial in bench.cases]
    start, later = "a chunk of -inf at the start", "a chunk of -inf later on"
    assert [start in names for names in held] == [True, False]
    assert [later in names for names in held] == [True, False]
    assert all("the third turn on" in names and "turn 8 on" not in names for names in held)
    assert all("the last turn of several" in names for names in held)


# ---- what becomes of one -------------------------------------------------------------------------------------------------


@cache
def bench_of(*names):
    return guarded.Bench(replace(ONLINE, cases=tuple(CASES[name] for name in names)))


def fate(name, guard, *cases):
    bench = bench_of(*cases)
    return bench.fate(wrong("online_softmax", name), next(g for g in bench.guards if g.name == guard))


CASES = {"near": named({"BLOCK_N": 16}, 2, 40), "far": named({"BLOCK_N": 16}, 2, 200)}


@pytest.mark.parametrize(
    ("name", "guard", "cases", "outcome"),
    [
        ("exp2_in_the_rescale", "more than 64 columns", ["near"], "survived"),
        ("exp2_in_the_rescale", "more than 64 columns", ["near", "far"], "killed"),
        ("exp2_in_the_rescale", "columns: N = 1", ["near"], "equivalent"),
        ("exp2_in_the_rescale", "all programs but the first", ["near"], "killed"),
        ("exp2_in_the_rescale", "program 4 on", ["near"], "survived"),
        ("exp2_in_the_rescale", "the second turn", ["near"], "killed"),
        ("exp2_in_the_rescale", "turn 8 on", ["near"], "survived"),
        ("exp2_in_the_rescale", "a chunk just above the maximum so far", ["near"], "killed"),
        ("exp2_in_the_rescale", "a chunk just below the maximum so far", ["near"], "equivalent"),
    ],
)
def test_a_case_where_the_guard_holds_kills_and_where_none_does_a_drawn_one_tells(name, guard, cases, outcome):
    found = fate(name, guard, *cases)
    assert found.outcome == outcome
    assert found.key == f"online_softmax: {name} if {guard}"
    assert bool(found.by) == (outcome == "killed")
    assert bool(found.differs) == (outcome == "survived")


def test_a_launch_that_does_not_end_is_stopped(monkeypatch):
    monkeypatch.setattr(guarded, "SECONDS", 0.3)
    text = bare("online_softmax").replace("    m_i = float", "    while N > 0:\n        N += 0\n    m_i = float", 1)
    bench = guarded.Bench(replace(ONLINE, cases=(CASES["near"],)))
    source = kernel_source(text, "online_softmax", ONLINE.kernel, "endless.py")
    assert [gate for _, gate in bench.faults(source, bench.cases[:1])] == ["values"]


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_the_guards_of_a_puzzle_have_one_name_each(puzzle):
    names = [guard.name for guard in guarded.guards(puzzle)]
    assert len(names) == len(set(names))
    assert names
