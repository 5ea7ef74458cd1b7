"""Attacks on who gets which grade: names, exports, tables, policies. Each is one line of data."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from checker.judge.result import Person, Unread
from checker.submission import files
from checker.submission.files import entries
from checker.submission.reader import Reader
from classroom.cli import main
from classroom.grading.anonymous import anonymous
from classroom.grading.collect import collect
from classroom.grading.gradebook import filled
from classroom.grading.pages import learner_page
from classroom.grading.store import RunFolder
from classroom.grading.tables import TableError
from classroom.grading.written import file_name, write_report
from tests.classroom.grading.classes import (
    VECTOR_ADD,
    by_id,
    collected,
    judged_as,
    keep,
    keep_results,
    laid_out,
    notebook,
    roster_of,
    run_folder,
    scored,
    zipped,
)
from tests.classroom.grading.conftest import RIGHT, UNMASKED

ANNA, MALLORY = (RIGHT.replace("    # your code", f"    # by {name}\n    # your code") for name in ("anna", "mallory"))

MOODLE = "Identifier,Full name,Email address\nParticipant 102,Anna Smith,anna@x\nParticipant 103,Mal Lory,mallory@x\n"
CANVAS = 'Student,ID,SIS User ID,SIS Login ID\n"Smith, Anna",102,s2,anna\n"Lory, Mal",103,s3,mallory\n'
PLAIN = "id,name,email\nanna,Anna Smith,anna@x\nmallory,Mal Lory,mallory@x\n"
OF_ANNA, OF_MALLORY = "Anna Smith_102_assignsubmission_file", "Mal Lory_103_assignsubmission_file"


def export(mallory: str = "Mal Lory", sid: str = "103", folder: str = "submission_2") -> str:
    """Gradescope's metadata, which calls the attacker `mallory`."""
    return (
        "submission_1:\n  :submitters:\n  - :name: Anna Smith\n    :sid: '102'\n    :email: anna@x\n"
        f"{folder}:\n  :submitters:\n  - :name: {mallory}\n    :sid: '{sid}'\n    :email: mallory@x\n"
    )


STOLEN = f"{OF_ANNA}:\n  :submitters:\n  - :sid: '103'\n{OF_MALLORY}:\n  :submitters:\n  - :sid: '102'\n"
GIVEN = "submission_1:\n  :submitters:\n  - :sid: '103'\nsubmission_2:\n  :submitters:\n  - :sid: '102'\n"
SCOPE, SCOPED = "submission_metadata.yml", "id,name,email\n102,Anna Smith,anna@x\n103,Mal Lory,mallory@x\n"

WHOSE: dict[str, tuple[str, dict[str, str | bytes]]] = {
    "metadata of Gradescope in a folder of Moodle's": (
        MOODLE,
        {f"{OF_ANNA}/a.py": ANNA, f"{OF_MALLORY}/a.py": MALLORY, f"{OF_MALLORY}/{SCOPE}": STOLEN},
    ),
    "a name at Moodle that ends like a folder of somebody else's": (
        MOODLE,
        {f"{OF_ANNA}/a.py": ANNA, f"{OF_ANNA}_103_assignsubmission_file/a.py": MALLORY},
    ),
    "a file at Moodle named like somebody else's": (
        MOODLE,
        {f"{OF_ANNA}_a.py": ANNA, f"{OF_MALLORY}_x_102_assignsubmission_file_a.py": MALLORY},
    ),
    "metadata in one's own folder at Gradescope": (
        SCOPED,
        {
            SCOPE: export(),
            "submission_1/a.py": ANNA,
            "submission_2/a.py": MALLORY,
            f"submission_2/{SCOPE}": GIVEN,
        },
    ),
    "a folder at Gradescope named like somebody else's": (
        SCOPED,
        {SCOPE: export(), "submission_1/a.py": ANNA, "submission_2/submission_1/a.py": MALLORY},
    ),
    "somebody else's name at Gradescope": (
        SCOPED,
        {SCOPE: export("Anna Smith"), "submission_1/a.py": ANNA, "submission_2/a.py": MALLORY},
    ),
    "somebody else's name with an invisible character": (
        SCOPED,
        {SCOPE: export('"Anna\\u200b Smith"'), "submission_1/a.py": ANNA, "submission_2/a.py": MALLORY},
    ),
    "a file at Canvas named like somebody else's": (
        CANVAS,
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_smithanna_102_3_a.py": MALLORY},
    ),
    "a zip at Canvas with a file named like somebody else's": (
        CANVAS,
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_a.zip": zipped({"smithanna_102_3_a.py": MALLORY})},
    ),
    "a login at Canvas that is somebody else's number": (
        CANVAS.replace("s3,mallory", "s3,102"),
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_a.py": MALLORY},
    ),
    "a name at Canvas that is somebody else's": (
        CANVAS.replace("Lory, Mal", "Smith, Anna"),
        {"smithanna_102_1_a.py": ANNA, "smithanna_103_2_a.py": MALLORY},
    ),
    "folders of nbgrader's in one's own": (
        PLAIN,
        {"submitted/anna/hw/a.py": ANNA, "submitted/mallory/hw/submitted/anna/hw/a.py": MALLORY},
    ),
    "a file of somebody else's name in one's own": (PLAIN, {"anna.py": ANNA, "mallory/anna.py": MALLORY}),
    "a notebook with somebody else's name": (
        PLAIN,
        {"anna.py": ANNA, "mallory.ipynb": notebook(f"%%writefile ../anna/vector_add.py\n{MALLORY}")},
    ),
    "a repository in a repository": (
        PLAIN,
        {
            **{f"hw-{who}/.github/x": "" for who in ("anna", "mallory")},
            "hw-anna/a.py": ANNA,
            "hw-mallory/hw-anna/a.py": MALLORY,
        },
    ),
    "a Cyrillic a": (PLAIN, {"anna/a.py": ANNA, "\u0430nna/a.py": MALLORY}),
    "an invisible character": (PLAIN, {"anna/a.py": ANNA, "an\u200bna/a.py": MALLORY}),
    "somebody else's id as one's name": (
        PLAIN.replace("Mal Lory", "anna"),
        {"anna/a.py": ANNA, "mallory/a.py": MALLORY},
    ),
}


def test_nobody_gets_what_somebody_else_handed_in(tmp_path: Path) -> None:
    """Each has their own kernel in their row, or it is in the row of somebody whom the roster does not know."""
    with Reader() as reader:
        for n, (name, (roster, handed_in)) in enumerate(WHOSE.items()):
            folder = laid_out(tmp_path / str(n), handed_in)
            people = roster_of(tmp_path / f"roster{n}", roster)
            found, sources = collect(folder, [VECTOR_ADD], reader, roster=people)
            authors = [
                {sources[k.source].source.partition("# by ")[2].split()[0] for k in one.kernels if k.source}
                for one in found.learners
            ]
            anna, mallory, *others = authors
            assert anna <= {"anna"}, name
            assert mallory <= {"mallory"}, name
            assert anna or ({"anna"} in others and any(one.candidates for one in found.learners)), name
            assert "mallory" in {*mallory, *(who for some in others for who in some)} or found.unread, name


BOOK = "Student,ID,SIS User ID,SIS Login ID,Softmax\n Points Possible,,,,10\n"
NAMES = (
    *(
        "Points Possible",
        "Points Possible, Mal",
        "   points possible",
        "Student, Tess",
        "Student, Testa",
        "102",
        "anna",
    ),
    *(
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(1)",
        "\t=1+1",
        "\n=1+1",
        "\r=1+1",
        "＝1+1",
        "＋1",
        "－1+1",
        "＠SUM(1)",
        "x;=1+1",
        "x\t=1+1",
    ),
    *(
        'a"b',
        'a",=1+1',
        "a\nb,102",
        "sep=;",
        "'=1+1",
        " =1+1",
        "\u00a0=1+1",
        "\ufeff=1+1",
        "\0=1+1",
        "Student",
        "a" * 200_000,
    ),
)


def test_no_name_in_a_grade_book_changes_anybody_s_grade(tmp_path: Path) -> None:
    """Not by looking like the row of points, like another person, like a formula or like a separator of cells."""
    folder = run_folder(tmp_path, {"102/a.py": ANNA, "103/a.py": MALLORY})
    keep(folder, judged_as(None), judged_as("values"))
    for name in NAMES:
        out = io.StringIO()
        csv.writer(out).writerows([["Smith, Anna", "102", "s2", "anna", ""], [name, "103", "s3", "mallory", "1"]])
        (tmp_path / "book.csv").write_text(BOOK + out.getvalue())
        roster = roster_of(tmp_path, BOOK + out.getvalue())
        assert [person.id for person in roster.people] == ["102", "103"], name
        made = filled(tmp_path / "book.csv", scored(folder), "Softmax").text
        header, points, anna, mallory = csv.reader(io.StringIO(made))
        assert (header[-1], points[-1], anna[1], anna[-1]) == ("Softmax", "10", "102", "10"), name
        assert (mallory[1], mallory[-1]) in {("103", "0"), ("103", "1")}, name
        for separator in ",;\t":  # whichever the spreadsheet takes
            cells = [cell for row in csv.reader(io.StringIO(made), delimiter=separator) for cell in row]
            assert not [cell for cell in cells if cell.strip("\ufeff\0 \u00a0").startswith(tuple("=+@＝＋＠"))], name


PEOPLE = [
    Person(id="s1", name="Anna Smith", logins=("asmith",)),
    Person(id="s2", name="李明"),
    Person(id="s3", name="Bo Li"),
]
LEAKS = (
    *("by Anna", "anna_x is not defined", "AnnaSmith", "smith2", "smithAnna_kernel", "asmith", "ASMITH", "annasmith1"),
    *("李明", "write `李明` in ASCII", "李明_x", "x李明", "a@b.org", "Li", "bo_li", "Bo", "s1", "S2"),
)


def test_no_name_is_left_in_a_result_without_names(tmp_path: Path) -> None:
    """In messages, conditions, names of files and in hashes by which whoever has a kernel could find its row."""
    folder = run_folder(tmp_path, {"s1/a.py": ANNA, "s2/a.py": MALLORY, "s3/a.py": UNMASKED})
    keep(folder, judged_as("values"), judged_as("values"), judged_as("values"))
    result = scored(folder)
    for text in LEAKS:
        submissions = []
        for person, one in zip(PEOPLE, result.submissions, strict=True):
            gates = tuple(replace(gate, message=text, advice=text) for gate in one.puzzles[0].gates)
            unread = (Unread(file=text, reason="no_kernel", message=text),)
            puzzle = replace(one.puzzles[0], gates=gates)
            submissions.append(replace(one, learner=person, puzzles=(puzzle,), unread=unread))
        shown = anonymous(replace(result, submissions=tuple(submissions)))
        pages = str(shown) + "".join(learner_page(one, shown, {}) for one in shown.submissions)
        left = [name for name in ("anna", "smith", "李明", "a@b.org") if name in pages.casefold()]
        assert not left, (text, left)
        assert not [one.puzzles[0].verdict for one in result.submissions if one.puzzles[0].verdict in pages]


def test_a_learner_with_too_many_files_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_LISTED", 20)
    many: dict[str, str | bytes] = {f"amy/{n // 10}/{n}.txt": "" for n in range(100)}
    folder = laid_out(tmp_path / "class", many | {"anna/a.py": ANNA})
    assert len([entry for entry in entries(folder) if entry.problem]) == 1
    one = by_id(collected(folder))
    assert len(one["anna"].kernels) == 1
    assert "too_large" in {unread.reason for unread in one["amy"].unread}


def test_a_learner_cannot_set_the_time(tmp_path: Path) -> None:
    """With a time stamp of their own in nbgrader's folders, which is read after nbgrader's."""
    stamp, own = "hw/timestamp.txt", "hw/zzz/timestamp.txt"
    folder = {f"submitted/zoe/{stamp}": "2026-11-21 00:00:00 UTC", f"submitted/zoe/{own}": "2020-01-01 00:00:00 UTC"}
    (zoe,) = collected(laid_out(tmp_path / "x", folder | {"submitted/zoe/hw/a.py": RIGHT}), assignment="hw").learners
    assert [kernel.time for kernel in zoe.kernels] == ["2026-11-21T00:00:00+00:00"]


def test_no_file_of_a_report_takes_the_place_of_another(tmp_path: Path) -> None:
    """Not those of two learners with alike ids, and not a grade book that is called like a part of the report."""
    ids = ("a/b", "a_b", "a b", "A/B", "..", "", "con", "a" * 200, "a" * 201, "á", "a\u0301")
    assert len({file_name(one) for one in ids}) == len(ids)
    folder = run_folder(tmp_path, {"anna.py": ANNA})
    keep_results(folder)
    (tmp_path / "scores.csv").write_text("Student,ID\n")
    with pytest.raises(TableError, match="another name"):
        write_report(folder, scored(folder), gradebook=tmp_path / "scores.csv")


def test_a_run_in_the_folder_of_the_class_is_nobody_s(tmp_path: Path) -> None:
    laid_out(tmp_path, {"anna.py": ANNA})
    for _ in range(2):
        assert main(["collect", str(tmp_path), "--puzzle", "vector_add", "-o", str(tmp_path / "run")]) == 0
        assert [one.person.id for one in RunFolder(tmp_path / "run").collected.learners] == ["anna"]
