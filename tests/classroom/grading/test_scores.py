"""Scores from verdicts and a policy; and everything that is made of a result."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import msgspec
import pytest

from checker.checking import check_source
from checker.judge.verdict import GATES, Status
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from classroom import cli
from classroom.grading import records
from classroom.grading.anonymous import anonymous
from classroom.grading.facts import facts_of
from classroom.grading.formats import gradescope
from classroom.grading.gradebook import GradeBookError, filled, guarded, scores_csv
from classroom.grading.keys import normalised
from classroom.grading.pages import class_page
from classroom.grading.policy import Policy, PolicyError, read_policy
from classroom.grading.records import (
    CaseCounts,
    CaseRecord,
    DiagnosisRecord,
    Facts,
    GateRecord,
    Result,
    Run,
    VerdictRecord,
)
from classroom.grading.score import points_of
from classroom.grading.store import RunFolder
from classroom.grading.written import write_report
from tests.classroom.grading.classes import (
    CANVAS_BOOK,
    VECTOR_ADD,
    keep_results,
    laid_out,
    notebook,
    run_folder,
    scored,
    wanted,
)
from tests.classroom.grading.conftest import RIGHT, STUB, UNMASKED

WEIGHTS = Policy().points


def facts(stopped: str | None, status: Status = "failed", right: int = 0, run: int = 20, device: str = "cpu") -> Facts:
    """What a kernel that stopped at a gate (None: at none) leaves behind."""
    at = GATES.index(stopped) if stopped else len(GATES)  # type: ignore[arg-type]
    statuses: list[Status] = ["passed" if n < at else status if n == at else "skipped" for n in range(len(GATES))]
    gates = [
        GateRecord(gate=g, status=s, message=f"{g} says {s}.", line=3) for g, s in zip(GATES, statuses, strict=True)
    ]
    if device == "cpu" and stopped is None:
        gates[5] = GateRecord(gate="gpu", status="skipped", message="")
    known = DiagnosisRecord(
        misconception="no_mask", believed="All lanes exist.", instead="Some do not.", try_="Mask them."
    )
    return Facts(
        puzzle="vector_add",
        status=status if stopped else "passed",
        device=device,
        gates=tuple(gates),
        cases=CaseCounts(right=right, run=run),
        diagnosis=known if stopped == "values" else None,
    )


def keep(folder: RunFolder, *found: Facts) -> None:
    """A verdict for each different kernel of the run, in order."""
    for task, one in zip(wanted(folder), found, strict=True):
        folder.keep_verdict(VerdictRecord(key=task.key, facts=one, run=Run(seconds=0.5, isolation="landlock+rlimits")))


def statuses(result: Result) -> dict[str, tuple[str, str, float]]:
    return {x.person.id: (x.status, x.puzzles[0].status, x.score) for x in result.learners}


# ------------------------------------------------------------------------------------------------------------------ points


@pytest.mark.parametrize(
    ("found", "points"),
    [
        (facts(None), 10.0),
        (facts("traffic", right=20), 8.0),  # right everywhere, one read too many
        (facts("memory", right=20), 7.0),
        (facts("values", right=10), 3.5),
        (facts("values", right=20), 6.65),  # failed all the same: never the whole share
        (facts("values", "timeout", right=4), 1.4),
        (facts("compile", "compile_error"), 0.0),
        (facts("source", "forbidden"), 0.0),
        (facts("gpu", right=20, device="cuda"), 10 * 10 / 12),
    ],
)
def test_partial_credit_goes_by_gate_and_values_by_cases(found: Facts, points: float) -> None:
    assert sum(points_of(found, 10.0, WEIGHTS).values()) == pytest.approx(points, abs=1e-5)


def test_everyone_has_a_status_that_says_what_happened(tmp_path: Path) -> None:
    files = {
        "anna.py": RIGHT,
        "bob.py": UNMASKED,
        "carol.ipynb": notebook(RIGHT)[:99],
        "dave.py": "def vector_add_kernel((:\n",
    }
    folder = run_folder(tmp_path, files, "id\nanna\nbob\ncarol\ndave\nerin\n")
    keep(folder, facts(None), facts("values", right=10))
    result = scored(folder)
    assert statuses(result) == {
        "anna": ("graded", "passed", 1.0),
        "bob": ("graded", "failed", 0.35),
        "carol": ("unreadable", "unreadable", 0.0),
        "dave": ("unreadable", "compile_error", 0.0),
        "erin": ("missing", "not_attempted", 0.0),
    }
    assert "not a notebook" in result.learners[2].told[0].message
    jsonschema.validate(json.loads(msgspec.json.encode(result)), records.schema(Result))


def test_points_have_two_decimals_at_most_and_add_up(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna/1.py": RIGHT, "bob/1.py": UNMASKED})
    keep(folder, facts(None), facts("values", right=1, run=3))
    anna, bob = scored(folder).learners
    assert (anna.score, bob.score, bob.puzzles[0].score) == (1.0, 0.23, 0.23)
    assert "0.23" in scores_csv(scored(folder))


def test_what_was_not_judged_is_ungraded_and_no_zero(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT, "bob/1.py": UNMASKED, "bob/2.py": RIGHT})
    folder.keep_fault(records.Fault(key=wanted(folder)[0].key, message="no more processes", tried=3))
    result = scored(folder)
    assert [x.status for x in result.learners] == ["ungraded", "ungraded"]
    assert "no more processes" in result.learners[0].puzzles[0].message
    assert "ungraded" in scores_csv(result)


def test_the_best_try_counts_or_the_last(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"a_1_7_x.py": RIGHT, "a_1_8_x-1.py": UNMASKED, "a_1_9_y.py": STUB})
    keep(folder, facts(None), facts("source", "not_attempted"), facts("values", right=10))
    best = scored(folder).learners[0].puzzles[0]
    assert (best.status, best.chosen and (best.chosen.file, best.chosen.tries)) == ("passed", ("x.py", 3))
    last = scored(folder, policy(tmp_path, '[attempts]\ncount = "last"\n')).learners[0].puzzles[0]
    assert (last.status, last.chosen and last.chosen.attempt) == ("failed", 2)


# ------------------------------------------------------------------------------------------------------------------ policy


def policy(folder: Path, text: str) -> Policy:
    (folder / "p.toml").write_text(text)
    return read_policy(folder / "p.toml", {"vector_add": VECTOR_ADD})


LATE = "[late]\ndue = 2026-11-20T12:00:00Z\ngrace_minutes = 10\nfree_days = 1\nper_day = 0.2\nlast_day = 3\n"


@pytest.mark.parametrize(
    ("time", "flagged", "factor"),
    [
        ("2026-11-20T12:09:00+00:00", False, None),
        ("2026-11-20T12:11:00+00:00", False, 1.0),
        ("2026-11-21T13:00:00+00:00", False, 0.8),
        ("2026-11-23T12:00:00+00:00", False, 0.6),
        ("2026-11-24T12:00:00+00:00", False, 0.0),
        (None, False, None),
        (None, True, 1.0),
    ],
)
def test_late_days_cost_what_the_policy_says(
    tmp_path: Path, time: str | None, flagged: bool, factor: float | None
) -> None:
    late = policy(tmp_path, LATE).lateness(time, flagged)
    assert (late and late.factor) == factor


def test_a_file_s_own_time_costs_nothing_unless_the_policy_believes_it(tmp_path: Path) -> None:
    strict, trusting = (policy(tmp_path, LATE + more) for more in ("", "file_times = true\n"))
    assert strict.lateness("2026-11-30T12:00:00+00:00", False, file_time=True) is None
    late = trusting.lateness("2026-11-30T12:00:00+00:00", False, file_time=True)
    assert late is not None
    assert late.factor == 0.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[points]\nvalue = 3\n", "has no `value`"),
        ("[points]\nvalues = -1\n", "0 or more"),
        ("[points]\nvalues = 0\nmemory = 0\ntraffic = 0\ngpu = 0\n", "gives no gate anything"),
        ("[puzzles]\nsoftmax = 1\n", "has no `softmax`"),
        ('[attempts]\ncount = "first"\n', "best"),
        ('[late]\ndue = "yesterday"\n', "cannot be used"),
        ("[late]\nper_day = true\n", "cannot be"),
        ("[late]\nfile_times = 1\n", "cannot be"),
        ("points = [\n", "is not TOML"),
    ],
)
def test_a_policy_with_a_mistake_is_refused_with_its_name(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        policy(tmp_path, text)


def test_the_lowest_puzzle_is_dropped_but_never_the_only_one(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    keep(folder, facts("values"))
    learner = scored(folder, policy(tmp_path, "[drop]\nlowest = 1\n[puzzles]\nvector_add = 5\n")).learners[0]
    assert (learner.max_score, learner.puzzles[0].dropped) == (5.0, False)


# ------------------------------------------------------------------------------------------------------------------- lines


def test_a_kernel_judged_without_its_place_gets_the_same_lines(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "a.py").write_text("import triton\n\n\n# a long preamble\nx = 1\n\n\n" + UNMASKED)
    source = from_path(tmp_path / "a.py", [VECTOR_ADD])[0].source
    assert source is not None
    there, apart = (
        facts_of(check_source(VECTOR_ADD, one, "cpu", diagnose=False, runner=sandbox))  # type: ignore[arg-type]
        for one in (source, normalised(source))
    )
    assert apart == there
    failed = next(gate for gate in there.gates if gate.status == "failed")
    assert failed.line is not None
    assert "tl." in (tmp_path / "a.py").read_text().splitlines()[failed.line - 1]


# ----------------------------------------------------------------------------------------------------------------- reports


@pytest.fixture
def graded(tmp_path: Path) -> RunFolder:
    """Four of a Canvas class: right, wrong, unreadable, missing; one of them with a name made for spreadsheets and terminals."""
    book = CANVAS_BOOK.replace("Le, Carol", "=cmd()|Le, \x1b[31mCarol")
    (tmp_path / "book.csv").write_text(book)
    files = {
        "smithanna_101_9001_anna.py": RIGHT,
        "jonesbob_102_9002_w.ipynb": notebook("# by Bob Jones\n" + UNMASKED),
        "lecarol_103_9003_x.ipynb": "{",
    }
    folder = run_folder(tmp_path, files, book)
    keep(folder, facts(None), facts("values", right=10))
    keep_results(folder)
    return folder


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_canvas_s_own_grade_book_is_filled_in(graded: RunFolder, tmp_path: Path) -> None:
    text, left = filled(tmp_path / "book.csv", graded.results)
    assert [row[-1] for row in rows(text)] == ["Tile by Tile (77)", "1", "1", "0.35", "0", "0"]
    assert rows(text)[0] == rows(CANVAS_BOOK)[0]
    assert left == []
    added, _ = filled(tmp_path / "book.csv", graded.results, column="Softmax")
    assert rows(added)[0][-2:] == ["Tile by Tile (77)", "Softmax"]


def test_moodle_s_worksheet_is_filled_in_by_its_own_maximum(graded: RunFolder, tmp_path: Path) -> None:
    text = (
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade\nParticipant 102,Bob Jones,,Submitted,,100.00\n"
    )
    (tmp_path / "sheet.csv").write_text(text)
    filled_in, left = filled(tmp_path / "sheet.csv", graded.results)
    assert rows(filled_in)[1][4] == "35"
    assert len(left) == 3


def test_another_csv_is_no_grade_book(graded: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(GradeBookError, match="neither Canvas"):
        filled(tmp_path / "x.csv", graded.results)


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "-1\n=2"])
def test_no_cell_is_a_formula(cell: str) -> None:
    assert guarded(cell).startswith("'")
    assert guarded("-1.5") == "-1.5"
    assert "\n" not in guarded(cell)


def test_gradescope_s_document_has_a_test_a_puzzle(graded: RunFolder) -> None:
    anna, bob, carol, _ = graded.results.learners
    document = gradescope(bob, graded.results)
    (test,) = document["tests"]
    assert (test["score"], test["max_score"], test["status"]) == (0.35, 1.0, "failed")
    assert "Believed: All lanes exist." in test["output"]
    assert gradescope(anna, graded.results)["tests"][0]["status"] == "passed"
    assert "not a notebook" in gradescope(carol, graded.results)["output"]


def test_the_report_returns_feedback_under_the_platform_s_names(graded: RunFolder, tmp_path: Path) -> None:
    write_report(graded, graded.results, tmp_path / "book.csv", "Tile by Tile", False)
    with zipfile.ZipFile(graded.report / "feedback.zip") as archive:
        assert archive.namelist() == [
            "smithanna_101_9001_feedback.html",
            "jonesbob_102_9002_feedback.html",
            "lecarol_103_9003_feedback.html",
        ]
        page = archive.read("jonesbob_102_9002_feedback.html").decode()
    assert "All lanes exist." in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "'=cmd()" in (graded.report / "scores.csv").read_text()
    names = {path.name for path in graded.report.iterdir()}
    assert names >= {"class.html", "learners", "book.csv", "results.json", "scores.csv", "gradescope"}


def test_an_anonymous_report_names_no_one(tmp_path: Path) -> None:
    """Not who it is of, nor a classmate in a comment: names, ids, logins, addresses, sections and files."""
    roster = (
        "id,name,email,section,login\n"
        "s7001,Anna Smith,anna.smith@uni.example,Tuesday,asmith\n"
        "s7002,Bob Jones,bjones@uni.example,Tuesday,bob-j\n"
        "s7003,Carol Le-Guin,carol@uni.example,Friday,\n"
    )
    comments = "# with Bob, s7002 and bjones@uni.example.\n    # bob-j (Le-Guin) and Anna SMITH\n    # your code starts"
    shared = UNMASKED.replace("# your code starts", comments).replace("One program", "Anna and Carol: one program")
    files = {
        "s7001/anna_final.py": shared,
        "s7002/work of bob.ipynb": notebook("# Bob Jones\n" + RIGHT.replace("def vec", "# asmith helped\ndef vec")),
        "s7003/carols.py": "from anna import (",
        "mallory.py": "print(1)",
    }
    folder = run_folder(tmp_path, files, roster)
    keep(folder, facts("values", right=10), facts(None))
    keep_results(folder)
    write_report(folder, folder.results, None, "", True)
    files = [path for path in folder.report.rglob("*") if path.is_file()]
    outputs = {path.relative_to(folder.report).as_posix(): path.read_text() for path in files}
    everything = "".join(name + text for name, text in outputs.items()).casefold()
    assert len(outputs) == 3 + 2 * 4  # a page and Gradescope's document for each of four
    assert "learner-001" in everything
    assert "with …, … and …" in outputs["anonymous/results.json"]
    names = ("anna", "smith", "bob", "jones", "carol", "guin", "mallory", "s700", "uni.example", "tuesday", "friday")
    for name in (*names, "final.py", "work of"):
        assert name not in everything, name
    assert anonymous(folder.results) == anonymous(folder.results)


def test_the_class_page_shows_who_is_where_what_they_believe_the_hardest_case_and_when(tmp_path: Path) -> None:
    case = CaseRecord(name="n = 65", sizes={}, meta={}, dtype="float32", family="normal", layout="", flags={}, seed=0)

    def failing() -> Facts:
        found = facts("values", right=10)
        gates = [msgspec.structs.replace(g, case=case) if g.gate == "values" else g for g in found.gates]
        return msgspec.structs.replace(found, gates=tuple(gates))

    times = {"anna": "10:00", "bob": "11:00", "carol": "13:00"}
    kernels = {"anna": UNMASKED, "bob": UNMASKED.replace("    # your", "    # bob\n    # your", 1), "carol": RIGHT}
    files = {f"submitted/{who}/hw/w.py": text for who, text in kernels.items()}
    files |= {f"submitted/{who}/hw/timestamp.txt": f"2026-11-20 {at}:00 UTC" for who, at in times.items()}
    folder = run_folder(tmp_path, files, "id,name\nanna,Anna\nbob,Bob\nzoe,Zoe\ncarol,Carol\n")
    keep(folder, failing(), failing(), facts(None))
    page = class_page(scored(folder))
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    assert "4 learners, 1 puzzle, 1 of 4 passed" in text
    assert "2 Vector addition no mask All lanes exist." in text  # two hold this belief
    assert "n = 65 (2)" in text
    assert "values 2" in text
    for row in ("Anna 0.35/1 graded", "Carol 1/1 graded", "Zoe 0/1 missing"):
        assert row in text
    assert "20 Nov 2026 10:00" in text
    assert "20 Nov 2026 13:00" in text
    assert page.count("<rect") == 3


# ---------------------------------------------------------------------------------------------------------------- commands


def command(*arguments: str) -> int:
    return cli.main(arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["judge", "nowhere"], "nothing was collected in nowhere"),
        (["score", "nowhere"], "nothing was collected in nowhere"),
        (["report", "nowhere"], "nothing was scored in nowhere"),
        (["judge", "run", "--shard", "3/2"], "--shard takes I/N"),
        (["judge", "run", "--jobs", "0"], "--jobs has to be at least 1"),
        (["collect", ".", "--puzzle", "softmaxx"], "There is no puzzle called softmaxx"),
        (["judge", "run", "--require-isolation", "moat"], "not moat"),
    ],
)
def test_wrong_usage_says_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: Sequence[str],
    says: str,
) -> None:
    run_folder(tmp_path, {"anna.py": RIGHT})
    monkeypatch.chdir(tmp_path)
    assert command(*arguments) == 2
    assert says in capsys.readouterr().err


def test_one_command_does_the_four_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    laid_out(tmp_path / "class", {"anna/vector_add.py": RIGHT, "bob/vector_add.py": UNMASKED})
    asked = ("--puzzle", "vector_add", "--device", "cpu", "-o", str(tmp_path / "run"))
    assert command("all", str(tmp_path / "class"), *asked) == 0
    result = RunFolder(tmp_path / "run").results
    assert {x.person.id: x.score for x in result.learners} == {"anna": 1.0, "bob": 0.7}
    assert (tmp_path / "run" / "report" / "class.html").is_file()
    assert list((tmp_path / "cache" / "tile-by-tile").glob("vector_add-*.bank"))


def test_less_isolation_than_required_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Sandbox, "shared", lambda: Namespace(tier="rlimits", gaps=(), lost=()))
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    assert command("judge", str(folder.path), "--device", "cpu", "--require-isolation", "full") == 3
    assert "this machine lacks landlock, namespaces, seccomp" in capsys.readouterr().err


def test_a_disk_that_cannot_be_written_is_the_machine_s_failing(
    graded: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = (graded.path / "results.json").read_bytes()
    monkeypatch.setattr("classroom.grading.records.write_atomically", full)
    assert command("score", str(graded.path)) == 3
    assert "No space left" in capsys.readouterr().err
    assert (graded.path / "results.json").read_bytes() == before
