"""Grade books: the one that Canvas or Moodle exported, filled in, and a plain table. Cells are escaped against formula injection."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from checker.api.grading import Person, Result
from classroom.grading.roster import Roster

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class GradeBookError(ValueError):
    """The file cannot be filled in as a grade book; the message says why."""


def guarded(text: str) -> str:
    """A cell that no spreadsheet reads as a formula. Numbers stay numbers."""
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
    """Canvas's grade book or Moodle's worksheet with the scores of the class, and the names of learners who have no row in it.

    Rows of ungraded learners, and of people who are not in the class, keep what they have. Canvas's `column` is found by its name,
    with or without the number behind it, or added. Raises FileNotFoundError, GradeBookError.
    """
    try:
        rows = list(csv.reader(io.StringIO(book.read_text("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise GradeBookError(f"{book} is not a CSV in UTF-8: {error}") from None
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
    most = max((one.max_score for one in result.submissions), default=0.0)
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
    """Fill in the rows; returns who has none. `maximum` is a row's maximum grade, 0 if the grade book has none."""
    by_id = {submission.learner.id: submission for submission in result.submissions}
    roster = Roster([submission.learner for submission in result.submissions])
    matched: set[str] = set()
    for row in rows:
        person = roster.find([name.strip() for name in names(row) if name.strip()])
        if person is None:
            continue
        matched.add(person.id)
        submission = by_id[person.id]
        if submission.status == "ungraded":
            continue
        most = maximum(row)
        worth = submission.score * most / submission.max_score if most and submission.max_score else submission.score
        _set_cell(row, at, number(worth))
    return [name_of(one.learner) for one in result.submissions if one.learner.id not in matched]


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
    return table(rows)
