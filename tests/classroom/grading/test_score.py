"""Scores from verdicts and a policy."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from checker.judge.result import PuzzleResult, Result, schema
from checker.submission.rules import violations
from classroom.grading.gradebook import scores_csv
from classroom.grading.pages import learner_page
from classroom.grading.policy import Policy, PolicyError, read_policy
from classroom.grading.records import Fault, StoredVerdict
from classroom.grading.score import points_of
from tests.classroom.grading.classes import (
    VECTOR_ADD,
    judged_as,
    keep,
    notebook,
    run_folder,
    scored,
    wanted,
)
from tests.classroom.grading.conftest import HOSTILE, RIGHT, STUB, UNMASKED


def statuses(result: Result) -> dict[str, tuple[str, str, float]]:
    return {one.learner.id: (one.status, one.puzzles[0].status, one.score) for one in result.submissions}


def test_partial_credit_goes_by_gate_and_values_by_cases() -> None:
    cases: list[tuple[PuzzleResult, float]] = [
        (judged_as(None), 10.0),
        (judged_as("traffic", right=20), 8.0),  # right everywhere, one read too many
        (judged_as("memory", right=20), 7.0),
        (judged_as("values", right=10), 3.5),
        (judged_as("values", right=20), 6.65),  # it failed all the same: never the whole share
        (judged_as("values", "timeout", right=4), 1.4),
        (judged_as("compile", "compile_error"), 0.0),
        (judged_as("source", "forbidden"), 0.0),
        (judged_as("gpu", right=20, device="cuda"), 10 * 10 / 12),
    ]
    for result, points in cases:
        assert sum(points_of(result, 10.0, Policy().points).values()) == pytest.approx(points, abs=1e-5), result


def test_everyone_has_a_status_that_says_what_happened(tmp_path: Path) -> None:
    files = {
        "anna.py": RIGHT,
        "bob.py": UNMASKED,
        "carol.ipynb": notebook(RIGHT)[:99],
        "dave.py": "def vector_add_kernel((:\n",
    }
    folder = run_folder(tmp_path, files, "id\nanna\nbob\ncarol\ndave\nerin\n")
    keep(folder, judged_as(None), judged_as("values", right=1, run=3))
    result = scored(folder)
    assert statuses(result) == {
        "anna": ("graded", "passed", 1.0),
        "bob": ("graded", "failed", 0.23),
        "carol": ("unreadable", "forbidden", 0.0),
        "dave": ("unreadable", "compile_error", 0.0),
        "erin": ("missing", "not_attempted", 0.0),
    }
    bob, carol = result.submissions[1:3]
    assert bob.puzzles[0].score == 0.23
    assert "0.23" in scores_csv(result)
    assert "not a notebook" in carol.unread[0].message
    assert "not a notebook" in carol.puzzles[0].gates[0].message
    jsonschema.validate(json.loads(msgspec.json.encode(result)), schema(Result))


def test_a_kernel_without_a_verdict_is_ungraded_rather_than_zero(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT, "bob/1.py": UNMASKED, "bob/2.py": RIGHT})
    folder.keep_fault(Fault(key=wanted(folder)[0].key, message="no more processes", tried=3))
    result = scored(folder)
    assert [one.status for one in result.submissions] == ["ungraded", "ungraded"]
    assert "no more processes" in result.submissions[0].puzzles[0].gates[0].message
    assert "ungraded" in scores_csv(result)


def test_the_best_try_counts_or_the_last(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"a_1_7_x.py": RIGHT, "a_1_8_x-1.py": UNMASKED, "a_1_9_y.py": STUB})
    keep(folder, judged_as(None), judged_as("source", "not_attempted"), judged_as("values", right=10))
    best = scored(folder).submissions[0].puzzles[0]
    assert best.source is not None
    assert (best.status, best.source.file, best.attempts) == ("passed", "x.py", 3)
    last = scored(folder, policy(tmp_path, '[attempts]\ncount = "last"\n')).submissions[0].puzzles[0]
    assert (last.status, last.attempt) == ("failed", 2)


def policy(folder: Path, text: str) -> Policy:
    (folder / "p.toml").write_text(text)
    return read_policy(folder / "p.toml", {"vector_add": VECTOR_ADD})


def test_a_right_kernel_that_breaks_a_rule_gets_the_share_that_the_policy_gives(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": HOSTILE})
    forbidden, rest = wanted(folder)
    assert "import os" not in rest.source.source
    assert not violations(rest.source, VECTOR_ADD)
    half = policy(tmp_path, "[rules]\nshare = 0.5\n[puzzles]\nvector_add = 4\n")
    folder.keep_verdict(StoredVerdict(key=forbidden.key, result=judged_as("source", "forbidden"), sandbox="none"))
    assert [scored(folder, one).submissions[0].status for one in (Policy(), half)] == ["graded", "ungraded"]
    for result, points in ((judged_as(None), 2.0), (judged_as("memory", right=20), 1.4), (judged_as("compile"), 0.0)):
        folder.keep_verdict(StoredVerdict(key=rest.key, result=result, sandbox="none"))
        anna = scored(folder, half).submissions[0]
        assert (anna.score, anna.puzzles[0].status) == (points, "forbidden")
        line = HOSTILE.split("import os")[0].count("\n") + 1
        assert (f"earns without line {line}" in learner_page(anna, scored(folder, half), {})) == (points > 0)
        assert scored(folder).submissions[0].score == 0


def test_a_policy_can_require_the_compiler(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT, "bob.py": HOSTILE})
    required = policy(tmp_path, "[rules]\nshare = 0.5\ncompiler = true\n")
    uncompiled = judged_as(None)
    gates = [replace(gate, status="front_end") if gate.gate == "compile" else gate for gate in uncompiled.gates]
    uncompiled = replace(uncompiled, gates=tuple(gates))
    keep(folder, uncompiled, judged_as("source", "forbidden"), uncompiled)
    anna = scored(folder).submissions[0]
    assert (anna.status, anna.score, anna.review) == ("graded", 1.0, "compiler")
    anna, bob = scored(folder, required).submissions
    assert (anna.status, anna.score, bob.status) == ("ungraded", 0.0, "ungraded")
    assert "requires Triton's compiler" in anna.puzzles[0].gates[0].message
    keep(folder, judged_as(None), judged_as("source", "forbidden"), judged_as(None))
    assert [one.score for one in scored(folder, required).submissions] == [1.0, 0.5]


def test_late_days_cost_what_the_policy_says(tmp_path: Path) -> None:
    text = "[late]\ndue = 2026-11-20T12:00:00Z\ngrace_minutes = 10\nfree_days = 1\nper_day = 0.2\nlast_day = 3\n"
    strict, trusting = policy(tmp_path, text), policy(tmp_path, f"{text}file_times = true\n")
    for time, flagged, factor in (
        ("2026-11-20T12:09:00+00:00", False, None),
        ("2026-11-20T12:11:00+00:00", False, 1.0),
        ("2026-11-21T13:00:00+00:00", False, 0.8),
        ("2026-11-23T12:00:00+00:00", False, 0.6),
        ("2026-11-24T12:00:00+00:00", False, 0.0),
        (None, False, None),
        (None, True, 1.0),
    ):
        late = strict.lateness(time, flagged)
        assert (late and late.factor) == factor, time
    days_later = "2026-11-30T12:00:00+00:00"
    assert strict.lateness(days_later, False, file_time=True) is None, "copying changes the time of a file"
    late = trusting.lateness(days_later, False, file_time=True)
    assert late is not None
    assert late.factor == 0.0


def test_a_mistake_in_a_policy_is_refused_and_named(tmp_path: Path) -> None:
    for text, message in (
        ("[points]\nvalue = 3\n", "has no `value`"),
        ("[points]\nvalues = -1\n", "from 0 to a million"),
        ("[points]\nvalues = 0\nmemory = 0\ntraffic = 0\ngpu = 0\n", "gives no gate anything"),
        ("[puzzles]\nsoftmax = 1\n", "has no `softmax`"),
        ('[attempts]\ncount = "first"\n', "best"),
        ('[late]\ndue = "yesterday"\n', "cannot be used"),
        ("[late]\nper_day = true\n", "cannot be"),
        ("[late]\nfile_times = 1\n", "cannot be"),
        ("points = [\n", "is not TOML"),
        ("points = 3\n", r"write \[points\] on a line of its own"),
        ("late = 2026-11-20\n", r"write \[late\]"),
        ("[late]\nper_day = 5\n", "0.1 takes a tenth"),
        ("[drop]\nlowest = 'all'\n", "how many puzzles"),
        ("[drop]\nlowest = -1\n", "how many puzzles"),
        ("[rules]\nshare = 50\n", "from 0 to 1"),
    ):
        with pytest.raises(PolicyError, match=message):
            policy(tmp_path, text)


def test_the_lowest_puzzle_is_dropped_but_never_the_only_one(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    keep(folder, judged_as("values"))
    one = scored(folder, policy(tmp_path, "[drop]\nlowest = 1\n[puzzles]\nvector_add = 5\n")).submissions[0]
    assert (one.max_score, one.puzzles[0].dropped) == (5.0, False)
