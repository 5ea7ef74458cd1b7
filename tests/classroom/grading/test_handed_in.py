"""Who handed in what, by the layouts of the platforms; nobody is forgotten and nothing goes untold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import msgspec
import pytest

from classroom.grading import records
from classroom.grading.handed_in import SeveralAssignments
from classroom.grading.layouts import layout_of
from classroom.grading.records import Collected, Person
from classroom.grading.roster import Roster, RosterError
from tests.classroom.grading.classes import CANVAS_BOOK, by_id, collected, laid_out, notebook, roster_of, zipped
from tests.classroom.grading.conftest import RIGHT, UNMASKED


@pytest.fixture
def canvas_roster(tmp_path: Path) -> Roster:
    return roster_of(tmp_path, CANVAS_BOOK)


def test_a_canvas_zip_is_a_class_and_everyone_on_the_roster_has_a_row(tmp_path: Path, canvas_roster: Roster) -> None:
    path = tmp_path / "canvas.zip"
    files: dict[str, str | bytes] = {
        "smithanna_101_9001_vector_add.py": RIGHT,
        "smithanna_101_9002_notes.txt": "hello",
        "jonesbob_LATE_102_9003_work-1.ipynb": notebook("%matplotlib inline", UNMASKED),
        "lecarol_103_9004_essay.pdf": b"%PDF",
        "stranger_999_9005_vector_add.py": RIGHT,
        "lecarol_103_text.html": "<p>see pdf",
    }
    path.write_bytes(zipped(files))
    learners = by_id(collected(path, canvas_roster))
    assert list(learners) == ["101", "102", "103", "106", "999"]
    anna, bob, carol, gus, stranger = learners.values()
    assert [(k.puzzle, k.place) for k in anna.kernels] == [("vector_add", "vector_add.py")]
    assert [told.reason for told in anna.told] == ["other_kind"]
    assert (bob.kernels[0].place, bob.kernels[0].attempt, bob.kernels[0].late) == ("work.ipynb, cell 2", 2, True)
    assert bob.returned_as == "jonesbob_LATE_102_9003_"
    assert carol.kernels == ()
    assert [told.file for told in carol.told] == ["essay.pdf", "lecarol_103_text.html"]
    assert (gus.files, gus.told) == ((), ())
    assert (gus.on_roster, stranger.on_roster) == (True, False)


def test_the_same_files_unpacked_give_the_same(tmp_path: Path, canvas_roster: Roster) -> None:
    folder = laid_out(tmp_path / "x", {"smithanna_101_9001_a.py": RIGHT, "jonesbob_102_9003_b.py": UNMASKED})
    kernels = {x.person.id: len(x.kernels) for x in collected(folder, canvas_roster).learners}
    assert kernels == {"101": 1, "102": 1, "103": 0, "106": 0}


def test_anonymous_canvas_names_are_ids(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "x", {"anon_k3d9_9001_a.py": RIGHT, "anon_LATE_77_9003_b.py": RIGHT})
    assert list(by_id(collected(folder))) == ["anon_77", "anon_k3d9"]


def test_moodle_folders_belong_to_participants(tmp_path: Path) -> None:
    files = {
        "Anna Smith_5001_assignsubmission_file/vector_add.py": RIGHT,
        "Bob Jones_5002_assignsubmission_file_/deep/work.ipynb": notebook(RIGHT),
        "Bob Jones_5002_assignsubmission_onlinetext/onlinetext.html": "<p>hello",
    }
    learners = by_id(collected(laid_out(tmp_path / "x", files)))
    assert [(x.person.name, len(x.kernels)) for x in learners.values()] == [("Anna Smith", 1), ("Bob Jones", 1)]
    assert "text typed into the platform" in learners["5002"].told[0].message


def test_nbgrader_asks_for_one_of_several_assignments_and_reads_its_times(tmp_path: Path) -> None:
    files = {
        "submitted/anna/hw1/a.ipynb": notebook(RIGHT),
        "submitted/anna/hw1/timestamp.txt": "2026-11-20 15:58:23.948203 UTC",
        "submitted/anna/hw2/a.ipynb": notebook(UNMASKED),
    }
    root = laid_out(tmp_path / "course", files)
    with pytest.raises(SeveralAssignments, match="hw1, hw2"):
        collected(root)
    (anna,) = collected(root, assignment="hw1").learners
    assert [(k.place, k.time) for k in anna.kernels] == [("hw1/a.ipynb, cell 1", "2026-11-20T15:58:23+00:00")]


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


def test_a_gradescope_export_knows_groups(tmp_path: Path) -> None:
    files = {
        "assignment_7_export/submission_metadata.yml": GRADESCOPE,
        "assignment_7_export/submission_11/vector_add.py": RIGHT,
        "assignment_7_export/submission_12/vector_add.py": UNMASKED,
    }
    learners = by_id(collected(laid_out(tmp_path / "x", files)))
    assert {name: len(x.kernels) for name, x in learners.items()} == {"1001": 1, "1002": 1, "Carol Le": 1}


@pytest.mark.parametrize(
    ("root", "names"),
    [
        ("softmax-submissions", ["softmax-anna/a.py", "softmax-bob-jones/a.py"]),
        ("x", [f"cs50-softmax-{who}/{file}" for who in ("anna", "bob-jones") for file in (".git", "a.py")]),
    ],
    ids=["github classroom", "classroom 50"],
)
def test_repositories_are_called_after_their_owners(root: str, names: list[str]) -> None:
    layout = layout_of(names, root)
    assert layout.name == "github"
    assert [layout.place(name)[0].names[0] for name in names if name.endswith(".py")] == ["anna", "bob-jones"]


def test_files_of_one_learner_are_merged_and_odd_ones_are_told(tmp_path: Path) -> None:
    roster = Roster([Person(id="anna"), Person(id="finn"), Person(id="gus"), Person(id="zoe")])
    folder = laid_out(
        tmp_path / "x",
        {
            "anna_vector_add.py": RIGHT,
            "anna.ipynb": notebook(UNMASKED),
            "_anna.py": RIGHT,
            "finn.tar.gz": b"\x1f\x8b",
            "zoe.zip": zipped({"work/one.zip": zipped({"two.py": RIGHT}), "essay.docx": "x"}),
        },
    )
    (folder / "gus").mkdir()
    os.symlink(folder / "anna.ipynb", folder / "mallory.ipynb")
    learners = by_id(collected(folder, roster))
    kernels = {name: len(x.kernels) for name, x in learners.items()}
    assert kernels == {"anna": 3, "finn": 0, "gus": 0, "zoe": 1, "mallory": 0}
    assert learners["zoe"].kernels[0].place == "zoe.zip/work/one.zip/two.py"
    told = {name: [t.reason for t in x.told] for name, x in learners.items()}
    assert told == {"anna": [], "finn": ["other_kind"], "gus": ["empty"], "zoe": ["other_kind"], "mallory": ["unsafe"]}


def test_collected_follows_its_schema_and_reads_back(tmp_path: Path) -> None:
    found = collected(laid_out(tmp_path / "x", {"anna.py": RIGHT, "bob.pdf": "x"}))
    records.write(tmp_path / "collected.json", found)
    jsonschema.validate(json.loads(msgspec.json.encode(found)), records.schema(Collected))
    assert records.read(tmp_path / "collected.json", Collected) == found


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("id,name,email\na1,Anna Smith,anna@x.edu\n", [("a1", "Anna Smith", "anna@x.edu")]),
        ("Identifier,Full name,Email address,Status\nParticipant 5001,Anna,a@x.edu,\n", [("5001", "Anna", "a@x.edu")]),
        ("First Name,Last Name,SID,Email\nAnna,Smith,7,a@x.edu\n", [("7", "Anna Smith", "a@x.edu")]),
        (
            "username,first_name,last_name,email,section,github_id\nanna-s,Anna,Smith,,A,12\n",
            [("anna-s", "Anna Smith", "")],
        ),
    ],
    ids=["own", "moodle", "gradescope", "classroom 50"],
)
def test_rosters_of_platforms_are_read(tmp_path: Path, text: str, people: list[tuple[str, str, str]]) -> None:
    assert [(p.id, p.name, p.email) for p in roster_of(tmp_path, text).people] == people


@pytest.mark.parametrize("text", ["", "colour,shape\nred,round\n", "id\nanna\nanna\n"])
def test_what_is_no_roster_is_said(tmp_path: Path, text: str) -> None:
    with pytest.raises(RosterError, match=r"empty|needs a column|twice"):
        roster_of(tmp_path, text)


def test_a_name_that_two_share_finds_neither() -> None:
    roster = Roster(
        [Person(id="1", name="Anna Smith"), Person(id="2", name="Smith, Anna"), Person(id="3", name="Bob Li")]
    )
    assert roster.find(["smithanna"]) is None
    assert roster.find(["libob"]) == Person(id="3", name="Bob Li")
