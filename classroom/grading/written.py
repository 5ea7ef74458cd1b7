"""`report`: writes everything that is made of a result."""

from __future__ import annotations

import contextlib
import hashlib
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checker.api.grading import (
    JUDGED,
    Result,
    Submission,
    film_of_failure,
    one_line,
    source_of,
    write,
    write_atomically,
)
from classroom.grading.anonymous import anonymous
from classroom.grading.gradebook import filled, name_of, scores_csv
from classroom.grading.pages import class_page, learner_page
from classroom.grading.records import Collected, described
from classroom.grading.store import RunFolder
from classroom.grading.tables import TableError

_PARTS = ("learners", "feedback.zip", "results.json", "class.html", "scores.csv", "anonymous")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass
class Report:
    """A line for each thing written, and whose page could not be made, with the reason."""

    lines: list[str] = field(default_factory=list)
    without_page: list[str] = field(default_factory=list)


def write_report(
    folder: RunFolder,
    result: Result,
    *,
    gradebook: Path | None = None,
    column: str = "Tile by Tile",
    without_names: bool = False,
    with_films: bool = False,
) -> Report:
    """Write all of a report. Raises OSError, TableError.

    Without names a report has no cards and films, which show a kernel as it was written.
    """
    shown = anonymous(result) if without_names else result
    target = folder.report / "anonymous" if without_names else folder.report
    report = Report()
    lines = report.lines
    if gradebook is not None:
        if gradebook.name in _PARTS:
            raise TableError(f"{gradebook} has the name of another part of the report: give it another name")
        book = filled(gradebook, result, column)
        write_atomically(target / gradebook.name, book.text)
        lines.append(f"{target / gradebook.name}: the grade book, ready to import")
        lines += map(one_line, book.notes)
    collected = folder.collected
    archive_or_none = contextlib.nullcontext() if without_names else _zip_at(target / "feedback.zip")
    with archive_or_none as archive:
        for one in shown.submissions:  # a page is written before the next one is made: a class may be large
            try:
                cards = {} if without_names else _cards(folder, one)
                films = _films(folder, collected, one) if with_films else {}
                page = learner_page(one, shown, cards, films)
            except OSError:
                raise
            except Exception as error:  # one page must not cost the others theirs
                report.without_page.append(f"{name_of(one.learner)}: {described(error)}")
                continue
            _write_learner(target, one, page, archive, collected.layout)
    write(target / "results.json", shown)
    write_atomically(target / "class.html", class_page(shown))
    write_atomically(target / "scores.csv", scores_csv(shown))
    if not without_names:
        lines.append(f"{target / 'feedback.zip'}: a page for each learner, named as the platform expects")
    lines.append(f"{target / 'class.html'}: the class; {target / 'learners'}: a page for each learner")
    lines.append(f"{target / 'scores.csv'}, results.json")
    return report


def _cards(folder: RunFolder, submission: Submission) -> dict[str, str]:
    """The cards of a learner's verdicts, by key."""
    verdicts = (folder.verdict(puzzle.verdict) for puzzle in submission.puzzles if puzzle.verdict)
    return {verdict.key: verdict.card for verdict in verdicts if verdict is not None and verdict.card}


def _films(folder: RunFolder, collected: Collected, submission: Submission) -> dict[str, str]:
    """The films of the cases in which a learner's kernels fail, by puzzle. Each is made once and kept."""
    kernels = next(one.kernels for one in collected.learners if one.person.id == submission.learner.id)
    films = {}
    for result in submission.puzzles:
        sources = [folder.kernel(k.source) for k in kernels if k.source and k.puzzle == result.puzzle]
        source = next((s for s in sources if result.source and source_of("", s).sha256 == result.source.sha256), None)
        if result.status == "failed" and result.failure and result.failure.case and source is not None:
            path = folder.path / "films" / f"{result.verdict}.html"
            if not path.exists():
                write_atomically(path, film_of_failure(JUDGED[result.puzzle], source, result.seed))
            films[result.puzzle] = path.read_text("utf-8")
    return {puzzle: film for puzzle, film in films.items() if film}


def _write_learner(
    target: Path, submission: Submission, page: str, archive: zipfile.ZipFile | None, layout: str
) -> None:
    """A learner's page, which also goes into the zip of feedback if they handed in anything."""
    name = file_name(submission.learner.id)
    write_atomically(target / "learners" / f"{name}.html", page)
    if archive is not None and submission.returned_as:
        member = zipfile.ZipInfo(_member(submission, layout), _EPOCH)  # the same report gives the same zip
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, page)


def _member(submission: Submission, layout: str) -> str:
    """Canvas reads ids in the name of the file, Moodle in the name of the folder; the others have a folder per learner."""
    name = submission.returned_as.replace("/", "_").replace("\\", "_").lstrip(".") or "learner"
    return f"{name}feedback.html" if layout == "canvas" else f"{name}/feedback.html"


def file_name(identifier: str) -> str:
    """A learner's id as the name of a file. If a character has to be replaced, a hash keeps the name unique."""
    safe = re.sub(r"[^\w@.+-]", "_", identifier, flags=re.ASCII).lstrip(".")[:80]
    return safe if safe == identifier else f"{safe}-{hashlib.sha256(identifier.encode()).hexdigest()[:8]}"


@contextlib.contextmanager
def _zip_at(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip that appears at `path` once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        yield archive
    new.replace(path)
