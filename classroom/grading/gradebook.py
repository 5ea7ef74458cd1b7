"""Grade books: the one that Canvas or Moodle exported, filled in; and a table for every other use. No cell is a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from classroom.grading.records import Person, Result
from classroom.grading.roster import Roster

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class GradeBookError(ValueError):
    """The file is no grade book that can be filled in; the message says why."""


def guarded(text: str) -> str:
    """A cell that no spreadsheet takes for a formula. Numbers stay numbers."""
    flat = " ".join(text.replace("\0", "").split()) if any(c in text for c in "\r\n\t\0") else text
    if flat.lstrip().startswith(_FORMULA) and not re.fullmatch(r"-+|[+-]?\d+([.,]\d+)?", flat):
        return f"'{flat}"
    return flat


def table(rows: Sequence[Sequence[object]]) -> str:
    """Rows as CSV, each cell guarded."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[guarded(str(cell)) for cell in row] for row in rows])
    return out.getvalue()


def number(value: float) -> str:
    return f"{round(value, 2):g}"


def filled(book: Path, result: Result, column: str = "Tile by Tile") -> tuple[str, list[str]]:
    """The exported grade book of Canvas, or Moodle's grading worksheet, with the scores of the class; and who is not in it.

    Learners who are ungraded, and rows that are nobody's, keep what they have. In Canvas's, `column` is found by its name, with or
    without the number behind it, or added. Raises FileNotFoundError, GradeBookError.
    """
    try:
        rows = list(csv.reader(io.StringIO(book.read_text("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise GradeBookError(f"{book} is no CSV in UTF-8: {error}") from None
    heads = [head.strip() for head in rows[0]] if rows else []
    if "Student" in heads and "ID" in heads:
        left = _canvas(rows, heads, result, column)
    elif "Identifier" in heads and "Grade" in heads:
        left = _moodle(rows, heads, result)
    else:
        raise GradeBookError(
            f"{book} is neither Canvas's grade book (Student, ID, …) nor Moodle's worksheet (Identifier, …, Grade)"
        )
    return table(rows), left


def _canvas(rows: list[list[str]], heads: list[str], result: Result, column: str) -> list[str]:
    named = re.compile(rf"{re.escape(column)}( \(\d+\))?")
    at = next((n for n, head in enumerate(heads) if named.fullmatch(head)), None)
    if at is None:
        at = len(heads)
        rows[0].append(guarded(column))
    most = max((learner.max_score for learner in result.learners), default=0.0)
    wanted = [heads.index(head) for head in ("ID", "SIS User ID", "SIS Login ID", "Student") if head in heads]
    body = []
    for row in rows[1:]:
        if row and row[0].strip().casefold().startswith("points possible"):
            _set_cell(row, at, row[at] if len(row) > at and row[at].strip() else number(most))
        elif any(row):
            body.append(row)
    return _fill(body, lambda row: [row[n] for n in wanted], at, result)


def _moodle(rows: list[list[str]], heads: list[str], result: Result) -> list[str]:
    identifier, grade = heads.index("Identifier"), heads.index("Grade")
    most = heads.index("Maximum Grade") if "Maximum Grade" in heads else None
    others = [heads.index(head) for head in ("ID number", "Email address", "Full name") if head in heads]

    def names(row: Sequence[str]) -> list[str]:
        return [row[identifier].rpartition(" ")[2], *(row[n] for n in others)]

    def maximum(row: Sequence[str]) -> float:
        return _float(row[most]) if most is not None and len(row) > most else 0.0

    return _fill([row for row in rows[1:] if any(row)], names, grade, result, maximum)


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
    maximum: Callable[[Sequence[str]], float] = lambda row: 0.0,
) -> list[str]:
    """Who has no row. Rows are matched by ids first; `maximum` is what the grade book has as the most for a row, if it has one."""
    by_id = {learner.person.id: learner for learner in result.learners}
    roster = Roster([learner.person for learner in result.learners])
    found: set[str] = set()
    for row in rows:
        person = roster.find([name.strip() for name in names(row) if name.strip()])
        if person is None:
            continue
        found.add(person.id)
        learner = by_id[person.id]
        if learner.status == "ungraded":
            continue
        most = maximum(row)
        worth = learner.score * most / learner.max_score if most and learner.max_score else learner.score
        _set_cell(row, at, number(worth))
    return [name_of(learner.person) for learner in result.learners if learner.person.id not in found]


def name_of(person: Person) -> str:
    return person.name or person.id


def scores_csv(result: Result) -> str:
    """One row a learner: who, status, total, and each puzzle."""
    heads = ["id", "name", "email", "section", "status", "score", "max_score", *(p.puzzle for p in result.puzzles)]
    rows: list[Sequence[object]] = [heads]
    for learner in result.learners:
        who = learner.person
        total = number(learner.score) if learner.status != "ungraded" else "ungraded"
        cells = [number(p.score) if p.status != "ungraded" else "ungraded" for p in learner.puzzles]
        rows.append(
            [who.id, who.name, who.email, who.section, learner.status, total, number(learner.max_score), *cells]
        )
    return table(rows)
