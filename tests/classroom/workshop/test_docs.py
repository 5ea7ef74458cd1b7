"""The instructor's pages mention only beliefs and questions that exist."""

from __future__ import annotations

import re

from checker.misconceptions import bank
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
