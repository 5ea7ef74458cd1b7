"""The run sheets as a page, docs/workshop/run-sheets.md, which `make sync` writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from classroom.workshop.agenda import DEMONSTRATION, Agenda, Lesson, Row, agenda

LENGTHS = (90, 180, 360)  # minutes
KINDS = {"teaching": "you teach", "exercise": "they write", "demonstration": "you show"}

HEAD = f"""\
# Run sheets

`make sync` makes this page from the front matter of `notebooks/src/*.md`. For another length, run
`python -m classroom agenda --minutes 120`, which also prints what to ask, what to say last and what to leave out. The [notes](notes/) have
the same for each notebook. In a demonstration ({DEMONSTRATION} minutes) you ask the question, play the film and say the sentence to keep. If you
are late, drop demonstrations first.
"""


def page(course: Sequence[Lesson]) -> str:
    return "\n".join([HEAD, *(table(agenda(course, minutes)) for minutes in LENGTHS), minutes_of(course)])


def table(plan: Agenda) -> str:
    """The rows of a run sheet in Markdown, one for each puzzle."""
    lines = [f"## {clock(plan.minutes)} hours", "", "| at | what | minutes |", "|---|---|---|"]
    for _, rows in groupby(plan.rows, key=lambda row: (row.notebook, row.title)):
        lines.append(_line(list(rows)))
    return "\n".join(lines) + "\n"


def _line(rows: Sequence[Row]) -> str:
    first = rows[0]
    what = f"{first.title.rpartition(': ')[0]}: `{first.puzzles[0]}`" if first.puzzles else first.title
    return f"| {clock(first.start_minute)} | {what} | {', '.join(map(_minutes, rows))} |"


def _minutes(row: Row) -> str:
    return f"{KINDS[row.kind]} {row.minutes}" if row.kind in KINDS else str(row.minutes)


def sheet(plan: Agenda) -> str:
    """A run sheet with the question, the sentence to keep, and what to leave out of each notebook."""
    return table(plan) + "\n" + "\n".join(line for lesson in plan.lessons for line in _about(plan, lesson)) + "\n"


def _about(plan: Agenda, lesson: Lesson) -> Iterator[str]:
    yield from (f"- **{lesson.title}**", f"  - Ask first: {lesson.question}", f"  - Say last: {lesson.keep}")
    if late := "; ".join(f"{what} ({minutes} minutes)" for what, minutes in plan.when_late(lesson)):
        yield f"  - When late, leave out: {late}."


def minutes_of(course: Sequence[Lesson]) -> str:
    """The minutes that the sheets are made from."""
    lines = ["## What each notebook takes", "", "| notebook | you teach | they write |", "|---|---:|---:|"]
    for lesson in course:
        teaching, exercise = lesson.reading + sum(lesson.teaching.values()), sum(lesson.exercise.values())
        lines.append(f"| {lesson.title}{' (optional)' * lesson.optional} | {teaching} | {exercise} |")
    return "\n".join(lines) + "\n"


def clock(minutes: int) -> str:
    """``1:05`` for 65."""
    return f"{minutes // 60}:{minutes % 60:02}"
