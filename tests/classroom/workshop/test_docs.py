"""The instructor's pages mention only notebooks, beliefs, questions and commands that exist."""

from __future__ import annotations

import re

import pytest

from checker.misconceptions import bank
from classroom import cli
from tests.classroom.workshop.conftest import COURSE, ROOT

DOCS = ROOT / "docs" / "workshop"


def test_the_notes_of_every_notebook_match_it() -> None:
    assert {path.stem for path in (DOCS / "notes").glob("*.md")} == {lesson.notebook[:2] for lesson in COURSE}
    for lesson in COURSE:
        notes = (DOCS / "notes" / f"{lesson.notebook[:2]}.md").read_text("utf-8")
        source = (ROOT / "notebooks/src" / f"{lesson.notebook}.md").read_text("utf-8")
        beliefs = {(puzzle, wrong.name) for puzzle in lesson.teaching for wrong in bank(puzzle)}
        mentioned = re.findall(r"`(\w+)/(\w+)`", notes)
        assert set(mentioned) <= beliefs, lesson.notebook
        assert re.findall(r"--puzzle (\w+) --show (\w+)", notes)[0] in mentioned, lesson.notebook
        questions = re.findall(r"^predicted\(\"([^\"]+)\"", source, re.MULTILINE)
        assert re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", notes, re.MULTILINE) == questions, lesson.notebook
        for text in (f"**Ask first.** {lesson.question}\n", f"**Say last.** {lesson.keep}\n", *lesson.late):
            assert text in notes, (lesson.notebook, text)


def test_every_command_on_the_pages_exists(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--help"])
    commands = set(re.findall(r"^│ (\w+) ", capsys.readouterr().out, re.MULTILINE))
    pages = {path.name: path.read_text("utf-8") for path in DOCS.rglob("*.md")}
    used = {(name, word) for name, text in pages.items() for word in re.findall(r"m classroom (\w+)", text)}
    assert len(used) > 5
    assert [(name, word) for name, word in sorted(used) if word not in commands] == []
