"""Run sheets: what the notebooks say of themselves is complete and agrees with their text, and every sheet adds up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from checker.course import LADDER
from classroom import cli
from classroom.workshop import WorkshopError, run_sheets
from classroom.workshop.agenda import Agenda, Lesson, agenda, lessons
from tests.classroom.workshop.conftest import COURSE, ROOT, source
from tools import sync

LENGTHS = [45, 60, 90, 120, 150, 180, 240, 300, 360, 420, 480]


def test_every_notebook_says_what_it_takes() -> None:
    sources = sorted((ROOT / "notebooks/src").glob("*.md"))
    assert [lesson.notebook for lesson in COURSE] == [path.stem for path in sources]


@pytest.mark.parametrize("lesson", COURSE, ids=lambda lesson: lesson.notebook)
class TestFrontMatter:
    def test_has_minutes_for_every_puzzle(self, lesson: Lesson) -> None:
        puzzles = [puzzle.name for puzzle in LADDER if puzzle.notebook == lesson.notebook]
        assert list(lesson.teaching) == puzzles
        assert set(lesson.exercise) == set(puzzles)
        assert set(lesson.shown) <= set(puzzles)

    def test_agrees_with_the_minutes_in_the_text(self, lesson: Lesson) -> None:
        told = re.search(r"[Aa]bout (\d+) minutes", source(lesson))
        assert told is not None
        assert lesson.minutes == int(told[1])

    def test_asks_and_keeps_one_thing(self, lesson: Lesson) -> None:
        assert lesson.question.endswith("?")
        assert len(lesson.question.split()) <= 30
        assert lesson.keep.endswith(".")
        assert len(lesson.keep.split()) <= 35

    def test_what_to_leave_out_is_in_the_notebook(self, lesson: Lesson) -> None:
        headings = re.findall(r"^#+ (.*)$", source(lesson), re.MULTILINE)
        assert set(lesson.late) <= set(headings)
        assert sum(lesson.late.values()) < lesson.minutes / 2

    def test_needs_a_notebook_before_it(self, lesson: Lesson) -> None:
        names = [other.notebook for other in COURSE]
        before = names[: names.index(lesson.notebook)]
        assert lesson.needs in before or (lesson.needs is None and not before)
        assert lesson.needs is None or f"]({lesson.needs}.ipynb)" in source(lesson).split("\n## ")[0]


@pytest.mark.parametrize("minutes", LENGTHS)
class TestSheets:
    @pytest.fixture
    def plan(self, minutes: int) -> Agenda:
        return agenda(COURSE, minutes)

    def test_rows_follow_one_another_and_fill_the_time(self, plan: Agenda, minutes: int) -> None:
        assert plan.rows[0].start_minute == 0
        assert all(row.end == following.start_minute for row, following in zip(plan.rows, plan.rows[1:], strict=False))
        assert all(row.minutes > 0 for row in plan.rows)
        assert plan.rows[-1].end == minutes == sum(row.minutes for row in plan.rows)
        assert plan.rows[-1].kind == "closing"

    def test_nobody_sits_longer_than_95_minutes(self, plan: Agenda, minutes: int) -> None:
        pauses = [0, *(row.start_minute for row in plan.rows if row.kind in ("break", "lunch"))]
        ends = [row.end for row in plan.rows if row.kind in ("break", "lunch")]
        sat = [stop - start for start, stop in zip([0, *ends], [*pauses[1:], minutes], strict=True)]
        assert max(sat) <= 95 + 15  # the reserve and the closing may follow

    def test_what_is_taught_is_written_at_once(self, plan: Agenda, minutes: int) -> None:
        for row, following in zip(plan.rows, plan.rows[1:], strict=False):
            if row.kind == "teaching":
                assert (following.kind, following.puzzles) == ("exercise", row.puzzles)

    def test_keeps_the_order_of_the_ladder_up_to_its_goal(self, plan: Agenda, minutes: int) -> None:
        ladder = [puzzle.name for puzzle in LADDER]
        solved = [ladder.index(row.puzzles[0]) for row in plan.rows if row.kind == "exercise"]
        assert solved == sorted(solved)
        assert len(set(solved)) == len(solved)


def test_more_time_never_takes_a_class_less_far() -> None:
    ladder = [puzzle.name for puzzle in LADDER]
    reached = [max(ladder.index(r.puzzles[0]) for r in agenda(COURSE, m).rows if r.kind == "exercise") for m in LENGTHS]
    assert reached == sorted(reached)


def test_three_hours_end_with_a_look_at_flash_attention() -> None:
    rows = agenda(COURSE, 180).rows
    assert [row.puzzles[0] for row in rows if row.kind == "exercise"] == ["vector_add", "row_softmax", "online_softmax"]
    assert [row.puzzles[0] for row in rows if row.kind == "demonstration"][-1] == "flash_attention"


def test_a_day_has_one_lunch_and_reaches_linear_attention() -> None:
    rows = agenda(COURSE, 360).rows
    assert [row.kind for row in rows].count("lunch") == 1
    assert [row.puzzles[0] for row in rows if row.kind == "exercise"][-1] == "linear_attention"


def test_the_page_of_run_sheets_is_what_the_notebooks_say() -> None:
    assert (ROOT / sync.RUN_SHEETS).read_text("utf-8") == run_sheets.page(COURSE) == sync.made(ROOT)[sync.RUN_SHEETS]


def test_front_matter_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "00_start.md"
    path.write_text("---\nteaching: {vector_add: 10}\nminuets: 3\n---\n\n# 0 · Start\n")
    with pytest.raises(sync.SourceError, match=r"00_start\.md: the lines before its title say .*minuets"):
        sync.notebook(path, tmp_path, {})


class TestCommand:
    def test_prints_the_sheet_and_writes_the_rows(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file = tmp_path / "agenda.json"
        assert cli.main(["agenda", "--minutes", "90", "--json", str(file)]) == 0
        assert "row_softmax" in capsys.readouterr().out
        rows = json.loads(file.read_text("utf-8"))
        assert set(rows[0]) == {"start_minute", "minutes", "notebook", "title", "puzzles", "kind"}
        assert rows[-1]["start_minute"] + rows[-1]["minutes"] == 90

    @pytest.mark.parametrize("minutes", ["20", "600"])
    def test_a_time_that_no_workshop_has_is_wrong_usage(self, minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["agenda", "--minutes", minutes]) == 2
        assert "from 45 to 480 minutes" in capsys.readouterr().err


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    (tmp_path / "01_row_softmax.ipynb").write_text("no notebook")
    with pytest.raises(WorkshopError, match=r"01_row_softmax\.ipynb is no notebook"):
        lessons(tmp_path)
