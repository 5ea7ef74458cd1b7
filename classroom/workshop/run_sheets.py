"""The run sheets as a page: docs/workshop/run-sheets.md, which `make sync` writes."""

from __future__ import annotations

from collections.abc import Sequence

from classroom.workshop.agenda import DEMONSTRATION, Agenda, Lesson, Row, agenda

LENGTHS = (90, 180, 360)  # minutes
KINDS = {"teaching": "you teach", "exercise": "they write", "demonstration": "you show"}

HEAD = f"""\
# Run sheets

Made by `make sync` from the minutes in the notebooks (the front matter of `notebooks/src/*.md`); do not edit. For another length:
`python -m checker class agenda --minutes 120`. A demonstration takes {DEMONSTRATION} minutes: ask the question, play the film, say the sentence to keep.
The instructor's notes of each notebook are in [notes/](notes/).
"""


def page(course: Sequence[Lesson]) -> str:
    sheets = [sheet(agenda(course, minutes)) for minutes in LENGTHS]
    return "\n".join([HEAD, *sheets, minutes_of(course)])


def sheet(plan: Agenda) -> str:
    """One run sheet in Markdown: the rows, and for each notebook the question, the sentence to keep, and what to leave out when late."""
    lines = [f"## {clock(plan.minutes)} hours", "", "| at | minutes | | what |", "|---|---:|---|---|"]
    lines += [
        f"| {clock(row.start_minute)} | {row.minutes} | {KINDS.get(row.kind, '')} | {_what(row)} |" for row in plan.rows
    ]
    lines.append("")
    for lesson in plan.lessons:
        late = "; ".join(f"{what} ({minutes} minutes)" for what, minutes in plan.when_late(lesson))
        lines += [f"- **{lesson.title}**", f"  - Ask first: {lesson.question}", f"  - Say last: {lesson.keep}"]
        lines += [f"  - When late, leave out: {late}."] if late else []
    return "\n".join(lines) + "\n"


def _what(row: Row) -> str:
    if not row.notebook:
        return row.title
    return f"{row.title.rpartition(': ')[0]}: " + ", ".join(f"`{puzzle}`" for puzzle in row.puzzles)


def minutes_of(course: Sequence[Lesson]) -> str:
    """The table that the sheets are made from."""
    lines = [
        "## What each notebook takes",
        "",
        "| notebook | you teach | they write | together |",
        "|---|---:|---:|---:|",
    ]
    for lesson in course:
        title = lesson.title + " (optional)" * lesson.optional
        teaching, exercise = sum(lesson.teaching.values()), sum(lesson.exercise.values())
        lines.append(f"| {title} | {teaching} | {exercise} | {lesson.minutes} |")
    return "\n".join(lines) + "\n"


def clock(minutes: int) -> str:
    """``1:05`` for 65."""
    return f"{minutes // 60}:{minutes % 60:02}"
