"""The run sheet of a workshop, computed: which notebooks fit into the time, which are shown, where the breaks are, what to skip when late.

What a notebook takes stands in the front matter of its source; `make sync` puts it into the notebook's metadata, under `WORKSHOP`:

    teaching, exercise   minutes of each puzzle: before its stub, and at it
    needs                the notebook that comes before it; null for the first
    shown                puzzles that a class may watch and not write, when time is short
    optional             whether the main road passes it by
    question, keep       what to ask first, and the one sentence to take home
    late                 sections to leave out when late, with the minutes that this saves
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from checker.course import PUZZLES
from classroom.workshop import WorkshopError

WORKSHOP = "workshop"
"""The key in a notebook's metadata."""
OPENING, CLOSING, DEMONSTRATION = 5, 5, 10  # minutes
BREAK, LUNCH = 10, 45
STRETCH = 95  # the most minutes without a break
WITH_LUNCH = 300  # minutes from which a workshop has a lunch; it is the first break after two fifths of the time
MOST_SHOWN = 3  # demonstrations after the last puzzle that the class writes
SHORTEST, LONGEST = 45, 480

Kind = Literal["opening", "teaching", "exercise", "demonstration", "break", "lunch", "reserve", "closing"]


@dataclass(frozen=True)
class Lesson:
    """What the front matter of a notebook says."""

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

    @property
    def minutes(self) -> int:
        return sum(self.teaching.values()) + sum(self.exercise.values())


@dataclass(frozen=True)
class Part:
    """One puzzle of a lesson; `solved` is whether the class writes it."""

    lesson: Lesson
    puzzle: str
    solved: bool

    def rows(self) -> Iterator[Row]:
        """Without their start."""
        name = f"{self.lesson.title}: {self.puzzle}"
        if not self.solved:
            yield Row(0, DEMONSTRATION, self.lesson.notebook, name, (self.puzzle,), "demonstration")
            return
        yield Row(0, self.lesson.teaching[self.puzzle], self.lesson.notebook, name, (self.puzzle,), "teaching")
        yield Row(0, self.lesson.exercise[self.puzzle], self.lesson.notebook, name, (self.puzzle,), "exercise")

    @property
    def minutes(self) -> int:
        return sum(row.minutes for row in self.rows())


@dataclass(frozen=True)
class Row:
    """One line of a run sheet. `notebook` is empty and `puzzles` too where the class rests."""

    start_minute: int
    minutes: int
    notebook: str
    title: str
    puzzles: tuple[str, ...]
    kind: Kind

    @property
    def end(self) -> int:
        return self.start_minute + self.minutes


@dataclass(frozen=True)
class Agenda:
    """A run sheet of exactly `minutes`; `lessons` are those it touches, in order."""

    minutes: int
    rows: tuple[Row, ...]
    lessons: tuple[Lesson, ...]

    def when_late(self, lesson: Lesson) -> list[tuple[str, int]]:
        """What to leave out of a lesson, and the minutes that each saves: sections where the class writes, else all of it."""
        of_lesson = [row for row in self.rows if row.notebook == lesson.notebook]
        shown = [
            (f"the demonstration of `{row.puzzles[0]}`", row.minutes)
            for row in of_lesson
            if row.kind == "demonstration"
        ]
        solved = any(row.kind == "exercise" for row in of_lesson)
        return shown + [(f'"{section}"', minutes) for section, minutes in lesson.late.items() if solved]

    def as_json(self) -> list[dict[str, Any]]:
        """What the board reads: ``{start_minute, minutes, notebook, title, puzzles, kind}`` for each row."""
        return [asdict(row) for row in self.rows]


def lesson_of(notebook: str, metadata: Mapping[str, Any], title: str) -> Lesson | None:
    """What `metadata` of a notebook says; None where it says nothing. Raises TypeError for a key that is missing or unknown."""
    told = metadata.get(WORKSHOP)
    if told is None:
        return None
    lesson = Lesson(notebook, title, **{**told, "shown": tuple(told.get("shown", ()))})
    order = {puzzle: n for n, puzzle in enumerate(PUZZLES)}  # a notebook's metadata keeps no order
    teaching = sorted(lesson.teaching.items(), key=lambda item: order.get(item[0], len(order)))
    late = sorted(lesson.late.items(), key=lambda item: (-item[1], item[0]))
    return replace(lesson, teaching=dict(teaching), late=dict(late))


def lessons(notebooks: Path) -> list[Lesson]:
    """Those of a folder with notebooks, in the order of their names. Raises WorkshopError for a file that is no notebook."""
    found = []
    for path in sorted(notebooks.glob("*.ipynb")):
        try:
            read = json.loads(path.read_text("utf-8"))
            first = "".join(read["cells"][0]["source"]) if read["cells"] else ""
            lesson = lesson_of(path.stem, read["metadata"], title_of(first))
        except (ValueError, LookupError, TypeError) as error:
            raise WorkshopError(f"{path.name} is no notebook that can be read: {error}") from error
        found += [lesson] if lesson else []
    return found


def title_of(text: str) -> str:
    """``1 · Row softmax`` of the cell that begins with this heading."""
    return text.removeprefix("# ").split("\n")[0].strip()


def agenda(course: Sequence[Lesson], minutes: int) -> Agenda:
    """The run sheet that takes a class furthest along the main road in `minutes`.

    The goal is the last puzzle, of those that cannot only be shown, for which there is time: on the way there everything that may be
    shown is shown. What time is left goes to a look at what comes after the goal, then to writing what was only shown, and then to a
    reserve. Raises WorkshopError for less than `SHORTEST` and more than `LONGEST`, and where no notebook says what it takes.
    """
    if not SHORTEST <= minutes <= LONGEST:
        raise WorkshopError(
            f"a workshop takes from {SHORTEST} to {LONGEST} minutes, not {minutes}; more than a day is two workshops"
        )
    chosen = _furthest(course, minutes)
    if not chosen:
        raise WorkshopError("no notebook here says how long it takes")
    goal = len(chosen)
    for part in _after(course, chosen[-1])[:MOST_SHOWN]:
        chosen = _if_it_fits([*chosen, part], minutes) or chosen
    for i, part in enumerate(chosen[:goal]):
        chosen = _if_it_fits([*chosen[:i], replace(part, solved=True), *chosen[i + 1 :]], minutes) or chosen
    rows = _laid_out(chosen, minutes)
    touched = dict.fromkeys(part.lesson.notebook for part in chosen)
    return Agenda(minutes, tuple(rows), tuple(lesson for lesson in course if lesson.notebook in touched))


def _furthest(course: Sequence[Lesson], minutes: int) -> list[Part]:
    """The parts up to the goal; empty where none fits."""
    goals = [part for lesson in course if not lesson.optional for part in _parts(lesson) if part.solved]
    for goal in reversed(goals):
        way = [part for lesson in _way(course, goal.lesson) for part in _parts(lesson)]
        if fitting := _if_it_fits(way[: way.index(goal) + 1], minutes):
            return fitting
    return []


def _parts(lesson: Lesson) -> list[Part]:
    """Those that may only be shown are shown."""
    return [Part(lesson, puzzle, solved=puzzle not in lesson.shown) for puzzle in lesson.teaching]


def _way(course: Sequence[Lesson], goal: Lesson) -> list[Lesson]:
    """The lessons that lead to `goal`, itself included, in order."""
    by_name = {lesson.notebook: lesson for lesson in course}
    way = [goal]
    while (needed := by_name.get(way[0].needs or "")) is not None:
        way.insert(0, needed)
    return way


def _after(course: Sequence[Lesson], goal: Part) -> list[Part]:
    """What follows the goal on the main road, all of it shown: the rest of its notebook, and then those that need it."""
    known = {lesson.notebook for lesson in _way(course, goal.lesson)}
    rest = _parts(goal.lesson)
    following = rest[[part.puzzle for part in rest].index(goal.puzzle) + 1 :]
    for lesson in course:
        if lesson.needs in known and lesson.notebook not in known and not lesson.optional:
            known.add(lesson.notebook)
            following += _parts(lesson)
    return [replace(part, solved=False) for part in following]


def _if_it_fits(parts: Sequence[Part], minutes: int) -> list[Part]:
    return list(parts) if _laid_out(parts, minutes)[-1].end <= minutes else []


def _laid_out(parts: Sequence[Part], minutes: int) -> list[Row]:
    """The rows with their times. A break never stands between a puzzle's teaching and its exercise."""
    rows = [Row(0, OPENING, "", "Welcome: join the board, run doctor", (), "opening")]
    sitting = OPENING
    for part in parts:
        now = rows[-1].end
        if sitting + part.minutes > STRETCH:
            lunch = minutes >= WITH_LUNCH and now >= 0.4 * minutes and all(row.kind != "lunch" for row in rows)
            rest = Row(now, LUNCH, "", "Lunch", (), "lunch") if lunch else Row(now, BREAK, "", "Break", (), "break")
            rows.append(rest)
            sitting = 0
        for row in part.rows():
            rows.append(replace(row, start_minute=rows[-1].end))
        sitting += part.minutes
    if (left := minutes - CLOSING - rows[-1].end) > 0:
        rows.append(Row(rows[-1].end, left, "", "Finish what you began; questions", (), "reserve"))
    rows.append(Row(rows[-1].end, CLOSING, "", "The sentences to keep; minute cards", (), "closing"))
    return rows
