"""Grade books: the one that Canvas or Moodle exported, filled in, and a plain table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.api.grading import Person, Result
from classroom.grading.roster import Match, Roster, participant
from classroom.grading.tables import Table, TableError, as_csv, guarded, read_table


def number(value: float) -> str:
    return f"{round(value, 2):g}"


@dataclass(frozen=True)
class Filled:
    """A grade book with scores in it, and a line for everything that the instructor should know about it."""

    text: str
    notes: tuple[str, ...]


def filled(book: Path, result: Result, column: str = "Tile by Tile") -> Filled:
    """Canvas's grade book or Moodle's worksheet with the scores of the class, scaled to the points that it gives the assignment.

    Rows of people who are ungraded, in doubt or not in the class keep what they have. Canvas's `column` is found by its name,
    with or without the number behind it, or added. Raises FileNotFoundError, TableError.
    """
    table = read_table(book)
    if "student" in table.heads and "id" in table.heads:
        notes = _canvas(table, result, column)
    elif table.column("identifier", "id") is not None and "grade" in table.heads:
        notes = _moodle(table, result)
    else:
        raise TableError(
            f"{book} is neither Canvas's grade book (Student, ID, …) nor Moodle's worksheet (Identifier, …, Grade)"
        )
    return Filled(as_csv(table.rows, table.separator), tuple(notes))


def _canvas(table: Table, result: Result, column: str) -> list[str]:
    named = re.compile(rf"{re.escape(column)}( \(\d+\))?")
    at = next((n for n, head in enumerate(table.rows[0]) if named.fullmatch(head.strip())), None)
    if at is None:
        at = len(table.heads)
        table.rows[0].append(guarded(column))
    most = _most(result)
    wanted = [
        table.heads.index(head) for head in ("id", "sis user id", "sis login id", "student") if head in table.heads
    ]
    body, possible = [], most
    for row in table.rows[1:]:
        if row[0].strip().casefold().startswith("points possible") and not row[table.heads.index("id")].strip():
            cell = row[at].strip() if len(row) > at else ""
            possible = _points(cell, column) if cell else most
            _set_cell(row, at, cell or number(most))
        elif any(row):
            body.append(row)
    notes = _fill(body, lambda row: [row[n] for n in wanted if n < len(row)], at, result, lambda row: possible)
    scaled = f"scaled from {number(most)} points to the {number(possible)} that {column} has in Canvas"
    return [scaled, *notes] if possible != most else notes


def _points(cell: str, column: str) -> float:
    """What an assignment is worth in Canvas. Raises TableError."""
    points = _float(cell)
    if points <= 0:
        raise TableError(
            f"{column} has {cell!r} as its points possible: choose the assignment's column with --column, "
            "or give it points in Canvas and export again"
        )
    return points


def _moodle(table: Table, result: Result) -> list[str]:
    identifier, grade, most = table.column("identifier", "id"), table.column("grade"), table.column("maximum grade")
    others = [table.heads.index(head) for head in ("id number", "email address", "full name") if head in table.heads]
    assert identifier is not None
    assert grade is not None

    def names(row: Sequence[str]) -> list[str]:
        return [participant(row[identifier]), *(row[n] for n in others if n < len(row))]

    def maximum(row: Sequence[str]) -> float:
        return _float(row[most]) if most is not None and len(row) > most else 0.0

    return _fill([row for row in table.rows[1:] if any(row)], names, grade, result, maximum)


def _most(result: Result) -> float:
    return max((one.max_score for one in result.submissions), default=0.0)


def _float(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return 0.0


def _set_cell(row: list[str], at: int, text: str) -> None:
    row += [""] * (at + 1 - len(row))
    row[at] = text


def _fill(
    rows: list[list[str]],
    names: Callable[[Sequence[str]], list[str]],
    at: int,
    result: Result,
    maximum: Callable[[Sequence[str]], float],
) -> list[str]:
    """Fill in the rows; returns what to say. `maximum` is a row's maximum grade, 0 if the grade book has none."""
    by_id = {one.learner.id: one for one in result.submissions if one.status != "unmatched"}
    owners = [tuple(name.strip() for name in names(row) if name.strip()) for row in rows]
    matches = Roster([one.learner for one in by_id.values()]).match(filter(None, owners))
    doubtful = {candidate for one in result.submissions for candidate in one.candidates}
    kept, alike, here = list[str](), list[str](), set[str]()
    for row, owner in zip(rows, owners, strict=True):
        match = matches.get(owner, Match())
        if match.candidates:
            kept.append(owner[-1])
        if match.person is None:
            continue
        one = by_id[match.person.id]
        here.add(one.learner.id)
        if match.by_likeness:
            alike.append(f"{owner[-1]} is {name_of(one.learner)}")
        if one.status == "ungraded" or (one.status == "missing" and one.learner.id in doubtful):
            kept.append(name_of(one.learner))
            continue
        most = maximum(row)
        _set_cell(row, at, number(one.score * most / one.max_score if most and one.max_score else one.score))
    away = [name_of(one.learner) for one in result.submissions if one.learner.id not in here]
    said = {"matched by likeness": alike, "left as they were": kept, "not in the grade book": away}
    return [f"{words}: {', '.join(people)}" for words, people in said.items() if people]


def name_of(person: Person) -> str:
    return person.name or person.id


def scores_csv(result: Result) -> str:
    """One row a learner: who, status, total, what to review, and each puzzle."""
    who_and_total = ["id", "name", "email", "section", "status", "score", "max_score", "review"]
    heads = [*who_and_total, *(p.puzzle for p in result.puzzles)]
    rows: list[Sequence[object]] = [heads]
    for submission in result.submissions:
        who, ungraded = submission.learner, submission.status == "ungraded"
        total = "ungraded" if ungraded else number(submission.score)
        scores = ["ungraded" if p.status == "infra_error" else number(p.score) for p in submission.puzzles]
        most = number(submission.max_score)
        rows.append(
            [who.id, who.name, who.email, who.section, submission.status, total, most, submission.review, *scores]
        )
    return as_csv(rows)
