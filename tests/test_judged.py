"""Which kernels a test run judges and which notebooks it runs: all where something that decides has changed, else a sample."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from checker.course import LADDER
from checker.grading.keys import puzzle_files
from tools import judged

TESTS = {f"{p.name}-{i}": p.name for p in LADDER for i in range(10)}


@pytest.fixture(scope="module")
def as_it_is() -> dict[str, str]:
    return {name: judged.decides(name) for name in judged.SUBJECTS}


@pytest.fixture
def report(as_it_is: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report in which everything stands as it is now."""
    path = tmp_path / "judged.json"
    path.write_text(json.dumps({"decides": as_it_is}))
    monkeypatch.setattr(judged, "REPORT", path)
    return path


def changed_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    monkeypatch.setattr(judged, "ROOT", tmp_path)
    path = tmp_path / "gate.py"
    path.write_text(text)
    judged._code.cache_clear()
    return judged._code(path)


def test_what_does_not_run_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = changed_code(tmp_path, monkeypatch, "def f(x):\n    return x + 1\n")
    assert (
        changed_code(tmp_path, monkeypatch, 'def f(x):\n    """Adds."""\n    return (  # one\n        x + 1)\n')
        == plain
    )
    assert changed_code(tmp_path, monkeypatch, "def f(x):\n    return x + 2\n") != plain


def test_nothing_is_stale_where_nothing_changed(report: Path) -> None:
    assert judged.stale() == []
    assert judged.record(judged.stale(), lambda puzzle: False) == []


@pytest.mark.parametrize(
    ("file", "stale"), [("row_softmax.md", ["row_softmax"]), ("family_words.py", [])], ids=["a wrong kernel", "words"]
)
def test_a_change_makes_stale_what_hangs_on_it_and_nothing_else(
    report: Path, monkeypatch: pytest.MonkeyPatch, file: str, stale: list[str]
) -> None:
    read = Path.read_text

    def with_a_line_more(path: Path, *arguments: str, **named: str) -> str:
        return read(path, *arguments, **named) + ("\nmore = 1" if path.name == file else "")

    judged._everything()  # a notebook hangs on all of these
    monkeypatch.setattr(judged, "_code", cache(judged._code.__wrapped__))
    monkeypatch.setattr(Path, "read_text", with_a_line_more)
    assert [puzzle for puzzle in judged.stale() if puzzle not in judged.MATRIX] == stale


def test_a_changed_judge_makes_all_stale(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "_machinery", lambda: "other code")
    assert judged.stale() == [*(puzzle.name for puzzle in LADDER), *judged.MATRIX]


def test_a_changed_card_makes_the_notebooks_stale(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "_everything", lambda: "other code")
    assert judged.stale() == [*judged.NOTEBOOKS]


def test_of_what_stands_a_sample_is_judged_and_of_the_rest_all(report: Path) -> None:
    known = json.loads(report.read_text())
    known["decides"]["row_softmax"] = "before the change"
    report.write_text(json.dumps(known))
    ran = judged.chosen(TESTS, "", judged.stale())
    assert {test for test, puzzle in TESTS.items() if puzzle == "row_softmax"} <= ran
    assert len(ran) == 10 + (len(TESTS) - 10 + judged.ONE_IN - 1) // judged.ONE_IN
    assert ran == judged.chosen(TESTS, "", ["row_softmax"]), "every process has to draw the same"
    assert judged.chosen(TESTS, "all", []) == TESTS.keys()
    assert judged.chosen(TESTS, "row_softmax", []) == {f"row_softmax-{i}" for i in range(10)}


def test_only_what_came_out_right_is_recorded(report: Path) -> None:
    report.unlink()
    fourth = judged.SUBJECTS[3]
    assert judged.record(judged.SUBJECTS, lambda subject: subject != fourth) == [fourth]
    assert judged.stale() == [fourth]


def test_every_file_with_a_test_that_judges_is_known_to_what_decides() -> None:
    marked = {
        str(path.relative_to(judged.ROOT))
        for path in (judged.ROOT / "tests").rglob("test_*.py")
        if "pytest.mark." + "judged" in path.read_text("utf-8")
    }
    assert marked == {*judged.TESTS, *judged.OF_THE_FAST}


MAKE_REPORTS = {"tools.mutant_page", "tools.mutant_reports", "tools.survivors_on_gpu", "tools.sync"}
"""They show or list what was judged."""


def test_what_the_judging_tests_import_of_tests_and_tools_decides_too() -> None:
    imported = set()
    for name in judged.TESTS:
        for node in ast.walk(ast.parse((judged.ROOT / name).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("tests", "tools"):
                inside = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "tools" else []
                imported |= set(inside or [node.module])
    assert {f"{name.replace('.', '/')}.py" for name in imported - MAKE_REPORTS} <= set(judged.USED)


def test_a_puzzle_hangs_on_the_modules_that_it_uses_and_on_no_others() -> None:
    used = {path.stem for path in puzzle_files("attention_dq")}
    assert {"attention_dq", "attention_inputs", "families"} <= used
    assert not used & {"linear_inputs", "row_softmax"}
