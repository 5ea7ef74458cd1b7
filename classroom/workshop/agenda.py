"""Computes the run sheet of a workshop: which notebooks fit into the time, what is only shown, where the breaks are.

The front matter of a notebook's source says what the notebook takes; `make sync` copies it into the notebook's metadata, under `WORKSHOP`:

    teaching, exercise   minutes for each puzzle: before its stub, and writing it
    reading              minutes for a notebook without a puzzle; run sheets leave it out
    needs                the notebook that has to come before; null for the first
    shown                puzzles that a class may watch instead of writing, when time is short
    optional             whether the main road passes this notebook by
    question, keep       what to ask first, and the one sentence to take home
    late                 sections to leave out when late, with the minutes that saves
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from checker.api.command_line import UsageError
from checker.api.course import PUZZLES

WORKSHOP = "workshop"
"""The key in a notebook's metadata."""
OPENING, CLOSING, DEMONSTRATION = 5, 5, 10  # minutes
BREAK, LUNCH = 10, 45
STRETCH = 95  # the longest time without a break, in minutes
WITH_LUNCH = 300  # a workshop of so many minutes has lunch, at the first break after two fifths of the time
MOST_SHOWN = 3  # demonstrations after the last puzzle that the class writes
SHORTEST, LONGEST = 45, 480

RowKind = Literal["opening", "teaching", "exercise", "demonstration", "break", "lunch", "reserve", "closing"]


@dataclass(frozen=True)
class Lesson:
    """The front matter of a notebook."""

    notebook: str
    title: str
    teaching: Mapping[str, int]
    exercise: Mapping[str, int]
    needs: str | None
    question: str
    keep: str
    late: Mapping[str, int]
    shown: tuple[str, ...] = ()
    optional: bool = False
    reading: int = 0

    @property
    def minutes(self) -> int:
        return self.reading + sum(self.teaching.values()) + sum(self.exercise.values())

    def sections_when_late(self) -> list[tuple[str, int]]:
        """The sections to leave out, in quotes, with the minutes that saves."""
        return [(f'"{section}"', minutes) for section, minutes in self.late.items()]


@dataclass(frozen=True)
class Row:
    """One line of a run sheet. During a break, `notebook` and `puzzles` are empty. `question` opens the notebook that begins here."""

    start_minute: int
    minutes: int
    notebook: str
    title: str
    puzzles: tuple[str, ...]
    kind: RowKind
    question: str = ""

    @property
    def end(self) -> int:
        return self.start_minute + self.minutes


@dataclass(frozen=True)
class Part:
    """One puzzle of a lesson, which the class either solves or watches."""

    lesson: Lesson
    puzzle: str
    solved: bool

    def rows(self) -> Iterator[Row]:
        """The rows, all starting at 0."""
        title = f"{self.lesson.title}: {self.puzzle}"
        if not self.solved:
            yield Row(0, DEMONSTRATION, self.lesson.notebook, title, (self.puzzle,), "demonstration")
            return
        yield Row(0, self.lesson.teaching[self.puzzle], self.lesson.notebook, title, (self.puzzle,), "teaching")
        yield Row(0, self.lesson.exercise[self.puzzle], self.lesson.notebook, title, (self.puzzle,), "exercise")

    @property
    def minutes(self) -> int:
        return sum(row.minutes for row in self.rows())


@dataclass(frozen=True)
class Agenda:
    """A run sheet of exactly `minutes`, with the lessons it touches in order."""

    minutes: int
    rows: tuple[Row, ...]
    lessons: tuple[Lesson, ...]

    def when_late(self, lesson: Lesson) -> list[tuple[str, int]]:
        """What can be left out of a lesson, with the minutes that saves: demonstrations, and sections if the class writes a puzzle."""
        rows = [row for row in self.rows if row.notebook == lesson.notebook]
        shown = [
            (f"the demonstration of `{row.puzzles[0]}`", row.minutes) for row in rows if row.kind == "demonstration"
        ]
        if all(row.kind != "exercise" for row in rows):
            return shown
        return shown + lesson.sections_when_late()

    def as_json(self) -> list[dict[str, Any]]:
        """What the board reads: ``{start_minute, minutes, notebook, title, puzzles, kind, question}`` for each row."""
        return [asdict(row) for row in self.rows]


def lesson_of(notebook: str, metadata: Mapping[str, Any], title: str) -> Lesson | None:
    """The lesson in a notebook's metadata, None if there is none. Raises TypeError for a missing or unknown key."""
    facts = metadata.get(WORKSHOP)
    if facts is None:
        return None
    lesson = Lesson(notebook, title, **{**facts, "shown": tuple(facts.get("shown", ()))})
    order = {puzzle: n for n, puzzle in enumerate(PUZZLES)}  # because a notebook's metadata keeps no order
    teaching = sorted(lesson.teaching.items(), key=lambda item: order.get(item[0], len(order)))
    late = sorted(lesson.late.items(), key=lambda item: (-item[1], item[0]))
    return replace(lesson, teaching=dict(teaching), late=dict(late))


def lessons(notebooks: Path) -> list[Lesson]:
    """The lessons of a folder of notebooks, by file name. Raises UsageError for a file that is not a notebook."""
    course = []
    for path in sorted(notebooks.glob("*.ipynb")):
        try:
            notebook = json.loads(path.read_text("utf-8"))
            first = "".join(notebook["cells"][0]["source"]) if notebook["cells"] else ""
            lesson = lesson_of(path.stem, notebook["metadata"], title_of(first))
        except (ValueError, LookupError, TypeError) as error:
            raise UsageError(f"cannot read {path.name} as a notebook: {error}") from error
        course += [lesson] if lesson else []
    return course


def title_of(text: str) -> str:
    """``1 · Row softmax``, from a cell that begins with this heading."""
    return text.removeprefix("# ").split("\n")[0].strip()


def agenda(course: Sequence[Lesson], minutes: int) -> Agenda:
    """The run sheet that takes a class furthest along the main road in `minutes`.

    Its goal is the last puzzle that has to be written for which there is time, if everything on the way that may be shown is shown. The
    remaining time goes first to a look at what follows the goal, then to writing puzzles that were only shown, and last to a reserve.
    Raises UsageError outside `SHORTEST` to `LONGEST`, and if no notebook says what it takes.
    """
    if not SHORTEST <= minutes <= LONGEST:
        raise UsageError(f"a workshop takes from {SHORTEST} to {LONGEST} minutes; split {minutes} minutes into several")
    parts = _furthest(course, minutes)
    if not parts:
        raise UsageError("no notebook here says how long it takes")
    goal = len(parts)
    for part in _after(course, parts[-1])[:MOST_SHOWN]:
        parts = _if_it_fits([*parts, part], minutes) or parts
    for i, part in enumerate(parts[:goal]):
        parts = _if_it_fits([*parts[:i], replace(part, solved=True), *parts[i + 1 :]], minutes) or parts
    touched = {part.lesson.notebook for part in parts}
    return Agenda(minutes, tuple(_laid_out(parts, minutes)), tuple(one for one in course if one.notebook in touched))


def _furthest(course: Sequence[Lesson], minutes: int) -> list[Part]:
    """The parts up to the goal; empty if none fits."""
    goals = [part for lesson in course if not lesson.optional for part in _parts(lesson) if part.solved]
    for goal in reversed(goals):
        way = [part for lesson in _way(course, goal.lesson) for part in _parts(lesson)]
        if fitting := _if_it_fits(way[: way.index(goal) + 1], minutes):
            return fitting
    return []


def _parts(lesson: Lesson) -> list[Part]:
    """The parts of a lesson, showing all that may be shown."""
    return [Part(lesson, puzzle, solved=puzzle not in lesson.shown) for puzzle in lesson.teaching]


def _way(course: Sequence[Lesson], goal: Lesson) -> list[Lesson]:
    """The lessons that lead to `goal`, in order, ending with it."""
    by_name = {lesson.notebook: lesson for lesson in course}
    way = [goal]
    while (needed := by_name.get(way[0].needs or "")) is not None:
        way.insert(0, needed)
    return way


def _after(course: Sequence[Lesson], goal: Part) -> list[Part]:
    """What follows the goal on the main road, all of it shown: the rest of its notebook, then the notebooks that need it."""
    reached = {lesson.notebook for lesson in _way(course, goal.lesson)}
    rest = _parts(goal.lesson)
    following = rest[[part.puzzle for part in rest].index(goal.puzzle) + 1 :]
    for lesson in course:
        if lesson.needs in reached and lesson.notebook not in reached and not lesson.optional:
            reached.add(lesson.notebook)
            following += _parts(lesson)
    return [replace(part, solved=False) for part in following]


def _if_it_fits(parts: Sequence[Part], minutes: int) -> list[Part]:
    return list(parts) if _laid_out(parts, minutes)[-1].end <= minutes else []


def _laid_out(parts: Sequence[Part], minutes: int) -> list[Row]:
    """The rows with their times. A break never separates a puzzle's teaching from its exercise."""
    rows = [Row(0, OPENING, "", "Welcome: join the board, run doctor", (), "opening")]
    sitting = OPENING
    for part in parts:
        now = rows[-1].end
        if sitting + part.minutes > STRETCH:
            lunch = minutes >= WITH_LUNCH and now >= 0.4 * minutes and all(row.kind != "lunch" for row in rows)
            rows.append(
                Row(now, LUNCH, "", "Lunch", (), "lunch") if lunch else Row(now, BREAK, "", "Break", (), "break")
            )
            sitting = 0
        for row in part.rows():
            opens = all(before.notebook != row.notebook for before in rows)
            question = part.lesson.question if opens else ""
            rows.append(replace(row, start_minute=rows[-1].end, question=question))
        sitting += part.minutes
    if (left := minutes - CLOSING - rows[-1].end) > 0:
        rows.append(Row(rows[-1].end, left, "", "Finish what you began; questions", (), "reserve"))
    rows.append(Row(rows[-1].end, CLOSING, "", "The sentences to keep; minute cards", (), "closing"))
    return rows
