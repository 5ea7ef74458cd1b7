"""The instructor's pages mention notebooks, beliefs, predictions and commands that exist."""

from __future__ import annotations

import re

import pytest

from checker.course import PUZZLES
from checker.misconceptions import bank
from classroom import cli
from tests.classroom.workshop.conftest import COURSE, ROOT

DOCS = ROOT / "docs" / "workshop"


def test_the_notes_of_every_notebook_match_it() -> None:
    assert {path.stem for path in (DOCS / "notes").glob("*.md")} == {lesson.notebook[:2] for lesson in COURSE}
    beliefs = {(puzzle, wrong.name) for puzzle in PUZZLES for wrong in bank(puzzle)}
    for lesson in COURSE:
        notes = (DOCS / "notes" / f"{lesson.notebook[:2]}.md").read_text("utf-8")
        source = (ROOT / "notebooks/src" / f"{lesson.notebook}.md").read_text("utf-8")
        named = re.findall(r"`(\w+)/(\w+)`", notes)
        assert set(named) <= beliefs, lesson.notebook
        assert {puzzle for puzzle, _ in named} <= set(lesson.teaching), lesson.notebook
        assert re.findall(r"--puzzle (\w+) --show (\w+)", notes)[0] in named, lesson.notebook
        assert f"**Ask first.** {lesson.question}\n" in notes, lesson.notebook
        assert f"**Say last.** {lesson.keep}\n" in notes, lesson.notebook
        assert [section for section in lesson.late if section not in notes] == [], lesson.notebook
        questions = re.findall(r"^predicted\(\"([^\"]+)\"", source, re.MULTILINE)
        assert re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", notes, re.MULTILINE) == questions, lesson.notebook


def test_every_command_on_the_pages_exists(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    commands = set(re.findall(r"^│ (\w+) ", capsys.readouterr().out, re.MULTILINE))
    pages = {path.name: path.read_text("utf-8") for path in DOCS.rglob("*.md")}
    used = {(name, word) for name, text in pages.items() for word in re.findall(r"m classroom (\w+)", text)}
    assert len(used) > 5
    assert [(name, word) for name, word in sorted(used) if word not in commands] == []
