"""`report`: everything that is made of a result, as files."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from checker.grading import records
from checker.grading.anonymous import anonymous
from checker.grading.formats import gradescope, junit
from checker.grading.gradebook import filled, otter_csv, scores_csv
from checker.grading.pages import class_page, learner_page
from checker.grading.records import LearnerResult, Result
from checker.grading.similarity import clusters
from checker.grading.store import RunFolder
from checker.workspace import write_atomically

_EPOCH = (1980, 1, 1, 0, 0, 0)


Films = Callable[[LearnerResult], Mapping[str, str]]


def write_report(
    folder: RunFolder,
    result: Result,
    gradebook: Path | None,
    column: str,
    without_names: bool,
    films: Films = lambda learner: {},
) -> list[str]:
    """Write all of a report; what was written, a line each. `films` gives a learner's, by puzzle. Raises OSError, GradeBookError."""
    shown = anonymous(result) if without_names else result
    target = folder.report / "anonymous" if without_names else folder.report
    said = []
    if gradebook is not None:
        book = filled(gradebook, result, column)
        write_atomically(target / gradebook.name, book.text)
        said.append(f"{target / gradebook.name}: the grade book, to be imported")
        if book.not_in_it:
            said.append(f"not in the grade book: {', '.join(book.not_in_it)}")
    pages = {learner.person.id: learner_page(learner, shown, films(learner)) for learner in shown.learners}
    for learner in shown.learners:
        name = file_name(learner.person.id)
        write_atomically(target / "learners" / f"{name}.html", pages[learner.person.id])
        if learner.status != "ungraded":
            document = json.dumps(gradescope(learner, shown), indent=1) + "\n"
            write_atomically(target / "gradescope" / f"{name}.json", document)
    records.write(target / "results.json", shown)
    write_atomically(target / "class.html", class_page(shown, clusters(shown, _solutions(shown))))
    write_atomically(target / "scores.csv", scores_csv(shown))
    write_atomically(target / "final_grades.csv", otter_csv(shown))
    write_atomically(target / "junit.xml", junit(shown))
    if not without_names:
        _write_bytes(target / "feedback.zip", feedback_zip(shown, pages, folder.collected.layout))
        said.append(f"{target / 'feedback.zip'}: a page for each learner, under the names that the platform takes back")
    said.append(f"{target / 'class.html'}: the class; {target / 'learners'}: a page for each learner")
    said.append(f"{target / 'scores.csv'}, final_grades.csv, junit.xml, results.json, gradescope/")
    return said


def _solutions(result: Result) -> dict[str, str]:
    """The published kernels, where they are at hand."""
    folder = Path(__file__).resolve().parents[2] / "solutions"
    paths = {asked.puzzle: folder / f"{asked.puzzle}.py" for asked in result.puzzles}
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.is_file()}


def feedback_zip(result: Result, pages: dict[str, str], layout: str) -> bytes:
    """A page a learner under the names that the platform knows them by. Those who handed in nothing have none."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for learner in result.learners:
            if learner.returned_as:
                member = zipfile.ZipInfo(_member(learner, layout), _EPOCH)  # the same report gives the same zip
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, pages[learner.person.id])
    return out.getvalue()


def _member(learner: LearnerResult, layout: str) -> str:
    """Canvas reads ids out of the file's name, Moodle out of the folder's; the others have a folder a learner."""
    name = learner.returned_as.replace("/", "_").replace("\\", "_").lstrip(".") or "learner"
    return f"{name}feedback.html" if layout == "canvas" else f"{name}/feedback.html"


def file_name(identifier: str) -> str:
    """A learner's id as the name of a file; what no file can be called is replaced, and then a hash tells two apart."""
    safe = re.sub(r"[^\w@.+-]", "_", identifier, flags=re.ASCII).lstrip(".")[:80]
    return safe if safe == identifier else f"{safe}-{hashlib.sha256(identifier.encode()).hexdigest()[:8]}"


def _write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    new.replace(path)
