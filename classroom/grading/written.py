"""`report`: everything that is made of a result, as files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from checker.workspace import write_atomically
from classroom.grading import records
from classroom.grading.anonymous import anonymous
from classroom.grading.formats import gradescope
from classroom.grading.gradebook import filled, scores_csv
from classroom.grading.pages import class_page, learner_page
from classroom.grading.records import LearnerResult, Result
from classroom.grading.store import RunFolder

_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_report(
    folder: RunFolder,
    result: Result,
    gradebook: Path | None,
    column: str,
    without_names: bool,
    films: Callable[[LearnerResult], Mapping[str, str]] | None = None,
) -> list[str]:
    """Write all of a report; what was written, a line each. `films` gives a learner's, by puzzle. Raises OSError, GradeBookError."""
    shown = anonymous(result) if without_names else result
    target = folder.report / "anonymous" if without_names else folder.report
    said = []
    if gradebook is not None:
        text, not_in_it = filled(gradebook, result, column)
        write_atomically(target / gradebook.name, text)
        said.append(f"{target / gradebook.name}: the grade book, to be imported")
        if not_in_it:
            said.append(f"not in the grade book: {', '.join(not_in_it)}")
    layout = folder.collected.layout
    feedback = contextlib.nullcontext() if without_names else _zip_at(target / "feedback.zip")
    with feedback as archive:
        for learner in shown.learners:  # a page is written before the next one is made: a class may be large
            page = learner_page(learner, shown, films(learner) if films else {})
            _write_learner(target, learner, shown, page, archive, layout)
    records.write(target / "results.json", shown)
    write_atomically(target / "class.html", class_page(shown))
    write_atomically(target / "scores.csv", scores_csv(shown))
    if not without_names:
        said.append(f"{target / 'feedback.zip'}: a page for each learner, under the names that the platform takes back")
    said.append(f"{target / 'class.html'}: the class; {target / 'learners'}: a page for each learner")
    said.append(f"{target / 'scores.csv'}, results.json, gradescope/")
    return said


def _write_learner(
    target: Path, learner: LearnerResult, shown: Result, page: str, archive: zipfile.ZipFile | None, layout: str
) -> None:
    """A learner's page and Gradescope's document; the page also into the zip of feedback, where they handed in anything."""
    name = file_name(learner.person.id)
    write_atomically(target / "learners" / f"{name}.html", page)
    if learner.status != "ungraded":
        write_atomically(
            target / "gradescope" / f"{name}.json", json.dumps(gradescope(learner, shown), indent=1) + "\n"
        )
    if archive is not None and learner.returned_as:
        member = zipfile.ZipInfo(_member(learner, layout), _EPOCH)  # the same report gives the same zip
        member.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(member, page)


def _member(learner: LearnerResult, layout: str) -> str:
    """Canvas reads ids out of the file's name, Moodle out of the folder's; the others have a folder for each learner."""
    name = learner.returned_as.replace("/", "_").replace("\\", "_").lstrip(".") or "learner"
    return f"{name}feedback.html" if layout == "canvas" else f"{name}/feedback.html"


def file_name(identifier: str) -> str:
    """A learner's id as the name of a file; what no file can be called is replaced, and then a hash tells two apart."""
    safe = re.sub(r"[^\w@.+-]", "_", identifier, flags=re.ASCII).lstrip(".")[:80]
    return safe if safe == identifier else f"{safe}-{hashlib.sha256(identifier.encode()).hexdigest()[:8]}"


@contextlib.contextmanager
def _zip_at(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip that is at `path` once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        yield archive
    new.replace(path)
