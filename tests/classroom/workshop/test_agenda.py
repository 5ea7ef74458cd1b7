"""Run sheets: every notebook says what it takes, and the sheets for all lengths add up."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from checker.course import LADDER
from classroom import cli
from classroom.workshop.agenda import agenda
from tests.classroom.workshop.conftest import COURSE, ROOT

LENGTHS = [45, 60, 90, 120, 150, 180, 240, 300, 360, 420, 480]


def test_every_notebook_says_what_it_takes() -> None:
    sources = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "notebooks/src").glob("*.md"))}
    names = [lesson.notebook for lesson in COURSE]
    assert names == list(sources)
    for lesson in COURSE:
        source, name = sources[lesson.notebook], lesson.notebook
        puzzles = [puzzle.name for puzzle in LADDER if puzzle.notebook == name]
        assert list(lesson.teaching) == puzzles, name
        assert set(lesson.shown) <= set(lesson.exercise) == set(puzzles), name
        assert f"bout {lesson.minutes} minutes" in source, name
        assert set(lesson.late) <= set(re.findall(r"^#+ (.*)$", source, re.MULTILINE)), name
        assert lesson.needs in names[: names.index(name)] or (lesson.needs is None and name == names[0]), name


def test_the_notes_answer_the_predictions_of_their_notebook_and_name_its_sections() -> None:
    for lesson in COURSE:
        source = (ROOT / f"notebooks/src/{lesson.notebook}.md").read_text("utf-8")
        notes = (ROOT / f"docs/workshop/notes/{lesson.notebook[:2]}.md").read_text("utf-8")
        parts = dict(part.split("\n", 1) for part in notes.split("\n## ")[1:])
        asked = re.findall(r"^\| ([^|]+) \|", parts["Predictions"], re.MULTILINE)[1:]
        assert asked == re.findall(r"^predicted\(\s*\"([^\"]+)\"", source, re.MULTILINE), lesson.notebook
        named = {" ".join(name.split()) for name in re.findall(r'"([A-Z][^"]+)"', parts["When late"])}
        assert named <= set(re.findall(r"^#+ (.*)$", source, re.MULTILINE)), lesson.notebook


def test_the_readme_says_how_long_the_course_takes_and_no_notebook_is_too_long_for_a_sitting() -> None:
    hours = round(sum(lesson.minutes for lesson in COURSE) / 60)
    assert f"about {hours} hours in all" in (ROOT / "README.md").read_text("utf-8")
    for lesson in COURSE:
        assert lesson.minutes <= 75, lesson.notebook


def test_every_sheet_fills_its_time_with_breaks_and_in_the_order_of_the_ladder() -> None:
    ladder = [puzzle.name for puzzle in LADDER]
    goals = []
    for minutes in LENGTHS:
        rows = agenda(COURSE, minutes).rows
        assert (rows[0].start_minute, rows[-1].end, rows[-1].kind) == (0, minutes, "closing")
        for row, following in itertools.pairwise(rows):
            assert row.end == following.start_minute > row.start_minute
            if row.kind == "teaching":
                assert (following.kind, following.puzzles) == ("exercise", row.puzzles)
        rests = [row for row in rows if row.kind in ("break", "lunch")]
        starts, ends = [row.start_minute for row in rests], [row.end for row in rests]
        sitting = [stop - start for start, stop in zip([0, *ends], [*starts, minutes], strict=True)]
        assert max(sitting) <= 95 + 15, "the reserve and the closing may follow"
        solved = [ladder.index(row.puzzles[0]) for row in rows if row.kind == "exercise"]
        assert solved == sorted(set(solved))
        goals.append(solved[-1])
    assert goals == sorted(goals), "more time never takes a class less far"


def test_the_command_prints_the_sheet_and_writes_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "agenda.json"
    assert cli.main(["agenda", "--minutes", "90", "--json", str(file)]) == 0
    assert "row_softmax" in capsys.readouterr().out
    rows = json.loads(file.read_text("utf-8"))
    assert set(rows[0]) == {"start_minute", "minutes", "notebook", "title", "puzzles", "kind", "question"}
    asked = [(row["notebook"], row["question"]) for row in rows if row["question"]]
    questions = {lesson.notebook: lesson.question for lesson in COURSE}
    assert asked == [
        (name, questions[name]) for name in dict.fromkeys(row["notebook"] for row in rows if row["notebook"])
    ]
    assert rows[-1]["start_minute"] + rows[-1]["minutes"] == 90
    for minutes in ("20", "600"):
        assert cli.main(["agenda", "--minutes", minutes]) == 2
        assert "from 45 to 480 minutes" in capsys.readouterr().err
