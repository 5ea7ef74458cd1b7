"""The run sheets as a page, docs/workshop/run-sheets.md, which `make sync` writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from classroom.workshop.agenda import DEMONSTRATION, Agenda, Lesson, Row, agenda

LENGTHS = (90, 180, 360)  # minutes
KINDS = {"teaching": "you teach", "exercise": "they write", "demonstration": "you show"}

HEAD = f"""\
# Run sheets

`make sync` makes this page from the front matter of `notebooks/src/*.md`. For another length, run
`python -m classroom agenda --minutes 120`. What to ask first, to say last and to leave out follows below; the [notes](notes/) on each
notebook have the beliefs to expect and the answers. In a demonstration ({DEMONSTRATION} minutes) you ask the question, play the film and say the sentence to keep. If you
are late, drop demonstrations first.
"""


def page(course: Sequence[Lesson]) -> str:
    words = _lines(line for lesson in course for line in _about(lesson, lesson.sections_when_late()))
    sheets = [table(agenda(course, minutes)) for minutes in LENGTHS]
    return "\n".join([HEAD, *sheets, minutes_of(course), f"## What to say\n\n{words}"])


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
    return (
        f"{table(plan)}\n{_lines(line for lesson in plan.lessons for line in _about(lesson, plan.when_late(lesson)))}"
    )


def _about(lesson: Lesson, late: Iterable[tuple[str, int]]) -> Iterator[str]:
    yield from (f"- **{lesson.title}**", f"  - Ask first: {lesson.question}", f"  - Say last: {lesson.keep}")
    if sections := "; ".join(f"{what} ({minutes} minutes)" for what, minutes in late):
        yield f"  - When late, leave out: {sections}."


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


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
