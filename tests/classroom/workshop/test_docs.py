"""What an instructor reads the evening before: complete, and about notebooks, beliefs and commands that there are."""

from __future__ import annotations

import re

import pytest

from checker.course import PUZZLES
from checker.misconceptions import bank
from classroom import teach_class
from classroom.workshop.agenda import Lesson
from tests.classroom.workshop.conftest import COURSE, ROOT, source

DOCS = ROOT / "docs" / "workshop"
BELIEF = re.compile(r"`(\w+)/(\w+)`")


def notes(lesson: Lesson) -> str:
    return (DOCS / "notes" / f"{lesson.notebook[:2]}.md").read_text("utf-8")


def test_there_are_notes_for_every_notebook_and_for_nothing_else() -> None:
    assert {path.stem for path in (DOCS / "notes").glob("*.md")} == {lesson.notebook[:2] for lesson in COURSE}


@pytest.mark.parametrize("lesson", COURSE, ids=lambda lesson: lesson.notebook)
class TestNotes:
    def test_name_beliefs_that_the_checker_knows(self, lesson: Lesson) -> None:
        named = BELIEF.findall(notes(lesson))
        assert len(named) >= 2
        known = {(puzzle, wrong.name) for puzzle in PUZZLES for wrong in bank(puzzle)}
        assert set(named) - known == set()
        assert {puzzle for puzzle, _ in named} <= set(lesson.teaching)

    def test_show_the_film_of_one_of_them(self, lesson: Lesson) -> None:
        shown = re.search(r"mutants --puzzle (\w+) --show (\w+) > wrong\.py", notes(lesson))
        assert shown is not None
        assert shown.groups() in BELIEF.findall(notes(lesson))

    def test_ask_and_keep_what_the_run_sheet_says(self, lesson: Lesson) -> None:
        assert f"**Ask first.** {lesson.question}\n" in notes(lesson)
        assert f"**Say last.** {lesson.keep}\n" in notes(lesson)

    def test_say_what_to_leave_out(self, lesson: Lesson) -> None:
        late = notes(lesson).split("## When late")[1].split("\n## ")[0]
        assert [section for section in lesson.late if section not in late] == []

    def test_answer_every_prediction(self, lesson: Lesson) -> None:
        asked = re.findall(r"^predicted\(\"([^\"]+)\"", source(lesson), re.MULTILINE)
        told = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", notes(lesson), re.MULTILINE)
        assert told == asked

    def test_answer_every_change_that_breaks_a_kernel(self, lesson: Lesson) -> None:
        of_notebook = re.split(r"^#+ Break it on purpose$", source(lesson), flags=re.MULTILINE)[1:]
        asked = sum(len(re.findall(r"^\d+\. ", part.partition("<details>")[0], re.MULTILINE)) for part in of_notebook)
        answered = re.findall(r"^\d+\. ", notes(lesson).split("## Break it on purpose")[1], re.MULTILINE)
        assert len(answered) >= max(asked, 1)


def test_commands_of_the_pages_are_ones_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    teach_class.main(["--help"])
    known = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    pages = [(path.name, path.read_text("utf-8")) for path in DOCS.rglob("*.md")]
    used = {(name, word) for name, text in pages for word in re.findall(r"checker class ([^\s`#]+)", text)}
    assert used
    assert sorted((name, word) for name, word in used if word not in known) == []


def test_the_helper_card_fits_a_page() -> None:
    assert len((DOCS / "helper-card.md").read_text("utf-8").split()) <= 420
