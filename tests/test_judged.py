"""Which kernels a test run judges and which notebooks it runs: all where something that decides has changed, else a sample."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from checker.course import LADDER
from classroom.grading.keys import puzzle_files
from tools import browser, companions, judged

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

    judged._everything()  # a notebook hangs on all of these, and so do the groups
    for group in judged.GROUPS.values():
        judged._of_group(group)
    monkeypatch.setattr(judged, "_code", cache(judged._code.__wrapped__))
    monkeypatch.setattr(Path, "read_text", with_a_line_more)
    assert [puzzle for puzzle in judged.stale() if puzzle not in judged.MATRIX] == stale


def test_a_changed_judge_makes_all_stale(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "_machinery", lambda: "other code")
    assert judged.stale() == [*(puzzle.name for puzzle in LADDER), *judged.MATRIX]


def test_a_changed_card_makes_the_notebooks_stale(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "_everything", lambda: "other code")
    assert judged.stale() == [*judged.NOTEBOOKS]


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("checker/films/player.js", [*judged.GROUPS]),
        ("classroom/workshop/pack.py", [*judged.GROUPS]),
        ("solutions/vector_add.py", [*judged.GROUPS]),
        ("tests/films/films.py", [judged.FILMS]),
        ("tests/browser/lab.py", [judged.BROWSER]),
        ("tests/classroom/grading/classes.py", [judged.WHOLE]),
        ("tests/example_puzzle/solutions/double.py", [judged.WHOLE]),
        ("constraints.txt", [judged.BROWSER, judged.WHOLE]),
        ("tests/test_judged.py", []),
    ],
)
def test_a_changed_file_makes_the_groups_stale_that_read_it(
    as_it_is: dict[str, str], monkeypatch: pytest.MonkeyPatch, file: str, stale: list[str]
) -> None:
    changed, contents = judged.ROOT / file, judged._contents
    assert changed.is_file()
    monkeypatch.setattr(judged, "_contents", lambda path: contents(path) + (" changed" if path == changed else ""))
    assert [name for name in judged.GROUPS if judged.decides(name) != as_it_is[name]] == stale


def test_another_browser_makes_stale_what_runs_in_one(
    as_it_is: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged, "_browser", lambda: "Chromium 1")
    changed = [name for name in judged.SUBJECTS if judged.decides(name) != as_it_is[name]]
    assert changed == [judged.FILMS, judged.BROWSER]


def test_of_a_kernel_s_text_every_character_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Films show its comments, and gradings look for the marks in it."""
    monkeypatch.setattr(judged, "ROOT", tmp_path)
    for folder, counts in (("solutions", True), ("tests/example_puzzle", True), ("checker", False)):
        path = tmp_path / folder / "double.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = set()
        for comment in ("one", "another"):
            path.write_text(f"x = 1  # {comment}\n")
            judged._contents.cache_clear()
            judged._code.cache_clear()
            said.add(judged._contents(path))
        assert (len(said) == 2) == counts, folder


def test_what_tools_leave_in_a_folder_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "ROOT", tmp_path)
    for name in ("a.md", "__pycache__/a.pyc", ".ipynb_checkpoints/a.ipynb"):
        (tmp_path / "notebooks" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notebooks" / name).touch()
    assert judged._files(tmp_path / "notebooks") == [tmp_path / "notebooks" / "a.md"]


def test_a_group_that_was_never_judged_is_stale(report: Path) -> None:
    known = json.loads(report.read_text())
    for name in judged.GROUPS:
        del known["decides"][name]
    report.write_text(json.dumps(known))
    assert judged.stale() == [*judged.GROUPS]


def test_where_something_is_missing_nothing_that_needs_it_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its tests would be skipped, and recorded as passed."""
    monkeypatch.setattr(browser, "find_browser", lambda: None)
    monkeypatch.setattr(browser, "find_axe", lambda: Path("axe"))
    monkeypatch.setattr(companions, "python_of", lambda name: None if name == "ray" else Path(name))
    monkeypatch.setattr(companions, "find_hub", lambda: companions.Hub(Path("hub"), Path("proxy")))
    monkeypatch.setattr(judged.subprocess, "run", lambda *_, **__: pytest.fail("it was judged"))
    assert not judged.judge(judged.WHOLE, 1)
    assert "whole-course needs ray" in capsys.readouterr().err
    assert not judged.judge(judged.FILMS, 1)
    assert "films needs Chromium" in capsys.readouterr().err


@pytest.mark.parametrize(("wanted", "status"), [("", 0), ("vector_add", 0), ("whole-course films", 1), ("all", 1)])
def test_what_is_asked_for_by_name_does_not_count_as_unchanged(
    monkeypatch: pytest.MonkeyPatch, wanted: str, status: int
) -> None:
    monkeypatch.setattr(judged, "stale", lambda subjects: [])
    monkeypatch.setattr("sys.argv", ["judged.py", "--unchanged", "whole-course"])
    monkeypatch.setenv("JUDGE", wanted)
    assert judged.main() == status


def test_of_what_stands_a_sample_is_judged_and_of_the_rest_all(report: Path) -> None:
    known = json.loads(report.read_text())
    known["decides"]["row_softmax"] = "before the change"
    report.write_text(json.dumps(known))
    ran = judged.chosen(TESTS, "", judged.stale())
    assert {test for test, puzzle in TESTS.items() if puzzle == "row_softmax"} <= ran
    assert len(ran) == 10 + (len(TESTS) - 10 + judged.ONE_IN - 1) // judged.ONE_IN
    assert ran == judged.chosen(TESTS, "", ["row_softmax"]), "every process has to draw the same"
    assert judged.chosen(TESTS, "all", []) == TESTS.keys()
    slow = TESTS.keys() - {"vector_add-0", "row_softmax-1"}
    assert judged.chosen(TESTS, "", ["row_softmax"], slow) - {f"row_softmax-{i}" for i in range(10)} == {"vector_add-0"}
    assert judged.chosen(TESTS, "all", [], slow) == TESTS.keys()
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
    of_groups = [name for group in judged.GROUPS.values() for name in group.tests]
    assert marked == {*judged.TESTS, *judged.OF_THE_FAST, *of_groups}


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


def modules_of_tests_and_tools(path: Path) -> set[Path]:
    """The files below tests/ and tools/ that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("tests", "tools"):
            parts = (node.module or "").split(".")
            names = [[*parts[:-1], f"{parts[-1]}.py"], *([*parts, f"{alias.name}.py"] for alias in node.names)]
            found |= {judged.ROOT.joinpath(*name) for name in names}
    return {path for path in found if path.is_file()}


ABOUT_WHICH_TESTS_RUN = judged.ROOT / "tools" / "judged.py"


@pytest.mark.parametrize("name", judged.GROUPS)
def test_what_a_group_s_tests_import_of_tests_and_tools_decides_too(name: str) -> None:
    group = judged.GROUPS[name]
    read = {path for place in group.read for path in judged._files(judged.ROOT / place)}
    waiting, seen = [judged.ROOT / test for test in group.tests], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in seen and path != ABOUT_WHICH_TESTS_RUN:
            seen.add(path)
            waiting += modules_of_tests_and_tools(path)
    assert seen <= read
    assert all((judged.ROOT / place).exists() for place in group.read)


def test_a_puzzle_hangs_on_the_modules_that_it_uses_and_on_no_others() -> None:
    used = {path.stem for path in puzzle_files("attention_dq")}
    assert {"attention_dq", "attention_inputs", "families"} <= used
    assert not used & {"linear_inputs", "row_softmax"}
