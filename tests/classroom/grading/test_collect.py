"""Who handed in what, by the layouts of the platforms: nobody is forgotten, and every unread file is listed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import msgspec
import pytest

from checker.judge.result import Person, read, schema, write
from classroom.grading.collect import SeveralAssignments
from classroom.grading.layouts import layout_of
from classroom.grading.records import Collected
from classroom.grading.roster import Roster, RosterError
from tests.classroom.grading.classes import CANVAS_BOOK, by_id, collected, laid_out, notebook, roster_of, zipped
from tests.classroom.grading.conftest import RIGHT, UNMASKED


def test_a_canvas_zip_is_a_class_and_everyone_on_the_roster_has_a_row(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "smithanna_101_9001_vector_add.py": RIGHT,
        "smithanna_101_9002_notes.txt": "hello",
        "jonesbob_LATE_102_9003_work-1.ipynb": notebook("%matplotlib inline", UNMASKED),
        "lecarol_103_9004_essay.pdf": b"%PDF",
        "stranger_999_9005_vector_add.py": RIGHT,
        "lecarol_103_text.html": "<p>see pdf",
    }
    (tmp_path / "canvas.zip").write_bytes(zipped(files))
    roster = roster_of(tmp_path, CANVAS_BOOK)
    learners = by_id(collected(tmp_path / "canvas.zip", roster))
    assert list(learners) == ["101", "102", "103", "106", "999"]
    anna, bob, carol, gus, stranger = learners.values()
    assert [(kernel.puzzle, kernel.file) for kernel in anna.kernels] == [("vector_add", "vector_add.py")]
    assert [unread.reason for unread in anna.unread] == ["other_kind"]
    assert (bob.kernels[0].file, bob.kernels[0].attempt, bob.kernels[0].late) == ("work.ipynb", 2, True)
    assert bob.returned_as == "jonesbob_LATE_102_9003_"
    assert carol.kernels == ()
    assert [unread.file for unread in carol.unread] == ["essay.pdf", "lecarol_103_text.html"]
    assert (gus.files, gus.unread) == ((), ())
    assert (gus.on_roster, stranger.on_roster) == (True, False)
    unpacked = laid_out(tmp_path / "x", {"smithanna_101_9001_a.py": RIGHT, "jonesbob_102_9003_b.py": UNMASKED})
    kernels = {one.person.id: len(one.kernels) for one in collected(unpacked, roster).learners}
    assert kernels == {"101": 1, "102": 1, "103": 0, "106": 0}
    anonymous = laid_out(tmp_path / "y", {"anon_k3d9_9001_a.py": RIGHT, "anon_LATE_77_9003_b.py": RIGHT})
    assert list(by_id(collected(anonymous))) == ["anon_77", "anon_k3d9"]


def test_moodle_folders_belong_to_participants(tmp_path: Path) -> None:
    files = {
        "Anna Smith_5001_assignsubmission_file/vector_add.py": RIGHT,
        "Bob Jones_5002_assignsubmission_file_/deep/work.ipynb": notebook(RIGHT),
        "Bob Jones_5002_assignsubmission_onlinetext/onlinetext.html": "<p>hello",
    }
    learners = by_id(collected(laid_out(tmp_path / "x", files)))
    assert [(one.person.name, len(one.kernels)) for one in learners.values()] == [("Anna Smith", 1), ("Bob Jones", 1)]
    assert "text typed into the platform" in learners["5002"].unread[0].message


def test_nbgrader_needs_one_of_several_assignments_and_its_times_are_read(tmp_path: Path) -> None:
    files = {
        "submitted/anna/hw1/a.ipynb": notebook(RIGHT),
        "submitted/anna/hw1/timestamp.txt": "2026-11-20 15:58:23.948203 UTC",
        "submitted/anna/hw2/a.ipynb": notebook(UNMASKED),
    }
    root = laid_out(tmp_path / "course", files)
    with pytest.raises(SeveralAssignments, match="hw1, hw2"):
        collected(root)
    (anna,) = collected(root, assignment="hw1").learners
    assert [(kernel.file, kernel.time) for kernel in anna.kernels] == [("hw1/a.ipynb", "2026-11-20T15:58:23+00:00")]


GRADESCOPE = """submission_11:
  :submitters:
  - :name: Anna Smith
    :sid: '1001'
    :email: anna@example.edu
  - :name: Bob Jones
    :sid: '1002'
  :created_at: 2026-11-20 21:10:00.000000000 Z
submission_12:
  :submitters:
  - :name: Carol Le
"""


def test_a_gradescope_export_has_groups(tmp_path: Path) -> None:
    files = {
        "assignment_7_export/submission_metadata.yml": GRADESCOPE,
        "assignment_7_export/submission_11/vector_add.py": RIGHT,
        "assignment_7_export/submission_12/vector_add.py": UNMASKED,
    }
    learners = by_id(collected(laid_out(tmp_path / "x", files)))
    assert {name: len(one.kernels) for name, one in learners.items()} == {"1001": 1, "1002": 1, "Carol Le": 1}


def test_repositories_are_named_after_their_owners() -> None:
    for root, names in (
        ("softmax-submissions", ["softmax-anna/a.py", "softmax-bob-jones/a.py"]),
        ("x", [f"cs-softmax-{who}/{file}" for who in ("anna", "bob-jones") for file in (".git", "a.py")]),
    ):
        layout = layout_of(names, root)
        assert layout.name == "github"
        assert [layout.place(name)[0].names[0] for name in names if name.endswith(".py")] == ["anna", "bob-jones"]


def test_files_of_one_learner_are_merged_and_odd_ones_are_listed(tmp_path: Path) -> None:
    roster = Roster([Person(id="anna"), Person(id="finn"), Person(id="gus"), Person(id="zoe")])
    files: dict[str, str | bytes] = {
        "anna_vector_add.py": RIGHT,
        "anna.ipynb": notebook(UNMASKED),
        "_anna.py": RIGHT,
        "finn.tar.gz": b"\x1f\x8b",
        "zoe.zip": zipped({"work/one.zip": zipped({"two.py": RIGHT}), "essay.docx": "x"}),
    }
    folder = laid_out(tmp_path / "x", files)
    (folder / "gus").mkdir()
    os.symlink(folder / "anna.ipynb", folder / "mallory.ipynb")
    found = collected(folder, roster)
    learners = by_id(found)
    kernels = {name: len(one.kernels) for name, one in learners.items()}
    assert kernels == {"anna": 3, "finn": 0, "gus": 0, "zoe": 1, "mallory": 0}
    assert learners["zoe"].kernels[0].file == "zoe.zip/work/one.zip/two.py"
    reasons = {name: [unread.reason for unread in one.unread] for name, one in learners.items()}
    assert reasons == {
        "anna": [],
        "finn": ["other_kind"],
        "gus": ["empty"],
        "zoe": ["other_kind"],
        "mallory": ["unsafe"],
    }
    write(tmp_path / "collected.json", found)
    jsonschema.validate(json.loads(msgspec.json.encode(found)), schema(Collected))
    assert read(tmp_path / "collected.json", Collected) == found


def test_rosters_of_platforms_are_read_and_other_files_are_refused(tmp_path: Path) -> None:
    for text, person in (
        ("id,name,email\na1,Anna Smith,anna@x.edu\n", ("a1", "Anna Smith", "anna@x.edu")),
        ("Identifier,Full name,Email address,Status\nParticipant 5001,Anna,a@x.edu,\n", ("5001", "Anna", "a@x.edu")),
        ("First Name,Last Name,SID,Email\nAnna,Smith,7,a@x.edu\n", ("7", "Anna Smith", "a@x.edu")),
        ("username,first_name,last_name,email,github_id\nanna-s,Anna,Smith,,12\n", ("anna-s", "Anna Smith", "")),
    ):
        assert [(one.id, one.name, one.email) for one in roster_of(tmp_path, text).people] == [person]
    for text in ("", "colour,shape\nred,round\n", "id\nanna\nanna\n"):
        with pytest.raises(RosterError, match=r"empty|needs a column|twice"):
            roster_of(tmp_path, text)


def test_a_name_that_two_people_share_matches_neither() -> None:
    names = ("Anna Smith", "Smith, Anna", "Bob Li")
    roster = Roster([Person(id=str(n), name=name) for n, name in enumerate(names, 1)])
    assert roster.find(["smithanna"]) is None
    assert roster.find(["libob"]) == Person(id="3", name="Bob Li")
