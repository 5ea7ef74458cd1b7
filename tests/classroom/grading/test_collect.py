"""Who handed in what, by the layouts of the platforms: nobody is forgotten, and every unread file is listed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import msgspec
import pytest

from checker.judge.result import Person, read, schema, write
from checker.submission.reader import Reader
from classroom.cli import main
from classroom.grading.collect import SeveralAssignments, collect
from classroom.grading.layouts import layout_of
from classroom.grading.records import Collected
from classroom.grading.roster import Roster, read_roster
from classroom.grading.tables import TableError
from tests.classroom.grading.classes import (
    CANVAS_BOOK,
    VECTOR_ADD,
    by_id,
    collected,
    laid_out,
    notebook,
    roster_of,
    zipped,
)
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
    assert kernels == {"anna": 2, "finn": 0, "gus": 0, "zoe": 1, "_anna": 1, "mallory": 0}
    assert learners["zoe"].kernels[0].file == "zoe.zip/work/one.zip/two.py"
    reasons = {name: [unread.reason for unread in one.unread] for name, one in learners.items()}
    assert reasons == {
        "anna": [],
        "finn": ["other_kind"],
        "gus": ["empty"],
        "zoe": ["other_kind"],
        "_anna": [],
        "mallory": ["unsafe"],
    }
    write(tmp_path / "collected.json", found)
    jsonschema.validate(json.loads(msgspec.json.encode(found)), schema(Collected))
    assert read(tmp_path / "collected.json", Collected) == found


def test_rosters_are_read_as_spreadsheets_save_them(tmp_path: Path) -> None:
    """With semicolons and tabs, in Windows' Latin and UTF-16; Moodle's worksheets in German, Spanish and French."""
    for head, encoding in (
        ("id;name;email\n7;Zoë Müller;z@x.edu\n", "cp1252"),
        ("sep=;\nid;name;email\n7;Zoë Müller;z@x.edu\n", "utf-8-sig"),
        ("id\tname\temail\n7\tZoë Müller\tz@x.edu\n", "utf-16"),
        ("id,name,email\n7,Zoë Müller,z@x.edu\n", "utf-16-le"),
        ('ID;"Vollständiger Name";E-Mail-Adresse;Bewertung\nTeilnehmer/in 7;"Zoë Müller";z@x.edu;\n', "utf-8"),
        ('Identificador,"Nombre completo","Dirección de correo"\n"Participante 7",Zoë Müller,z@x.edu\n', "utf-8"),
        ('Identifiant,"Nom complet","Adresse de courriel"\n"Participant 7",Zoë Müller,z@x.edu\n', "cp1252"),
        ("ID;Vollständiger Name;E-Mail-Adresse\nTeilnehmer*in 7;Zoë Müller;z@x.edu\n", "utf-8"),
        ("Nom d’utilisateur,Prénom,Nom de famille,Adresse de courriel\n7,Zoë,Müller,z@x.edu\n", "cp1252"),
        ("Nombre de usuario,Nombre,Apellido(s),Dirección de correo\n7,Zoë,Müller,z@x.edu\n", "utf-8"),
    ):
        (tmp_path / "roster.csv").write_bytes(head.encode(encoding))
        (person,) = read_roster(tmp_path / "roster.csv").people
        assert (person.id, person.name, person.email) == ("7", "Zoë Müller", "z@x.edu"), head


def test_rosters_of_platforms_are_read_and_other_files_are_refused(tmp_path: Path) -> None:
    for text, person in (
        ("id,name,email\na1,Anna Smith,anna@x.edu\n", ("a1", "Anna Smith", "anna@x.edu")),
        ("Identifier,Full name,Email address,Status\nParticipant 5001,Anna,a@x.edu,\n", ("5001", "Anna", "a@x.edu")),
        ("First Name,Last Name,SID,Email\nAnna,Smith,7,a@x.edu\n", ("7", "Anna Smith", "a@x.edu")),
        ("username,first_name,last_name,email,github_id\nanna-s,Anna,Smith,,12\n", ("anna-s", "Anna Smith", "")),
    ):
        assert [(one.id, one.name, one.email) for one in roster_of(tmp_path, text).people] == [person]
    for text in ("", "colour,shape\nred,round\n", "id\nanna\nanna\n"):
        with pytest.raises(TableError, match=r"empty|needs a column|twice"):
            roster_of(tmp_path, text)


ALIKE = (
    *(("j.smith", "jsmith"), ("1-12", "11-2"), ("ann-lee", "annlee"), ("O'Neil", "ONeil"), ("anna", "Anna")),
    *(("max_m", "maxm"), ("Jose\u0301", "Jose")),
)
"""Pairs of people whose names are the same letters and digits, but for an accent in one of them."""


def test_people_whose_names_are_alike_are_never_one(tmp_path: Path) -> None:
    """Without a roster; with one that has them all; with one that has the first of each pair."""
    everyone = [name for pair in ALIKE for name in pair]
    folder = laid_out(tmp_path / "class", {f"{name}/vector_add.py": RIGHT for name in everyone})
    assert sorted(by_id(collected(folder))) == sorted(everyone)
    whole = collected(folder, Roster([Person(id=name) for name in everyone])).learners
    assert [(one.on_roster, len(one.kernels), one.matched) for one in whole] == [(True, 1, "")] * len(everyone)
    half = by_id(collected(folder, Roster([Person(id=first) for first, _ in ALIKE])))
    assert all(len(one.kernels) == 1 for one in half.values())
    assert {name: half[name].candidates for _, name in ALIKE} == {b: (a,) for a, b in ALIKE[:-1]} | {"Jose": ()}


def test_a_name_that_is_like_one_person_s_is_theirs_and_any_other_is_in_doubt(tmp_path: Path) -> None:
    names = ("Anna Smith", "Smith, Anna", "Bob Li", "Eve O'Neil", "Max Klein")
    roster = Roster([Person(id=str(n), name=name) for n, name in enumerate(names, 1)])
    folders = ("smithanna", "LiBob", "eveoneil", "eve-oneil", "max klein_final", "zoe")
    folder = laid_out(tmp_path / "class", {f"{name}/vector_add.py": RIGHT for name in folders})
    found = by_id(collected(folder, roster))
    assert {one.person.name: one.matched for one in found.values() if one.matched} == {
        "Bob Li": "LiBob",
        "Max Klein": "max klein_final",
    }
    doubtful = {name: one.candidates for name, one in found.items() if not one.on_roster}
    assert doubtful == {"smithanna": ("1", "2"), "eveoneil": ("4",), "eve-oneil": ("4",), "zoe": ()}
    with Reader() as reader:
        settled = {"smithanna": "2", "eveoneil": "4", "eve-oneil": ""}
        again = by_id(collect(folder, [VECTOR_ADD], reader, roster=roster, settled=settled)[0])
        assert {name: len(one.kernels) for name, one in again.items()} == {
            "1": 0,
            "2": 1,
            "3": 1,
            "4": 1,
            "5": 1,
            "eve-oneil": 1,
            "zoe": 1,
        }
        with pytest.raises(TableError, match="nobody on the roster has the id 7"):
            collect(folder, [VECTOR_ADD], reader, roster=roster, settled={"zoe": "7"})


def test_names_that_disagree_match_nobody() -> None:
    """One person's id may be another's login; only the platform's own number decides alone."""
    ann, bob = Person(id="7", name="Ann Lee", logins=("bob",)), Person(id="bob", name="Bob Lee", logins=("7",))
    owners = [("7",), ("7", "Ann Lee"), ("bob", "Ann Lee"), ("zoe", "Bob Lee"), ("Bob Lee", "Ann Lee")]
    match = Roster([ann, bob]).match(owners)
    assert [match[one].person for one in owners] == [None, ann, ann, bob, None]
    assert match["7",].candidates == ("7", "bob")
    own = Roster([ann, bob], "canvas").match([("7", "leebob")], platform="canvas")
    assert own["7", "leebob"].person == ann


def test_a_platform_s_own_number_is_not_overruled_by_a_name_like_it(tmp_path: Path) -> None:
    """Two people called Anna Smith, of whom the roster has one: Canvas names both folders alike, with different numbers."""
    folder = laid_out(tmp_path / "class", {"smithanna_555_9001_a.py": RIGHT, "jonesbob_102_9002_a.py": RIGHT})
    found = by_id(collected(folder, roster_of(tmp_path, CANVAS_BOOK)))
    assert (found["101"].kernels, found["555"].candidates) == ((), ("101",))
    text = GRADESCOPE.replace("Bob Jones\n    :sid: '1002'", "Carol Le")
    layout = layout_of(["submission_11/a.py", "submission_12/a.py"], gradescope=text)
    owners = [place.names for name in ("submission_11/a.py", "submission_12/a.py") for place in layout.place(name)]
    assert owners[1:] == [("submission_11", "Carol Le"), ("submission_12", "Carol Le")]


def test_times_are_read_with_the_names_of_zones_and_one_that_cannot_be_is_an_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {
        "2026-11-20 23:30:00.948203 UTC": "2026-11-20T23:30:00+00:00",
        "2026-11-20 23:30:00 CET": "2026-11-20T22:30:00+00:00",
        "2026-07-20 23:30:00 CEST": "2026-07-20T21:30:00+00:00",
        "2026-07-20 23:30:00 Europe/Berlin": "2026-07-20T21:30:00+00:00",
        "2026-11-20 23:30:00 America/New_York": "2026-11-21T04:30:00+00:00",
        "2026-11-20 23:30:00 PST": "2026-11-21T07:30:00+00:00",
        "2026-11-20 21:10:00.123456789 Z": "2026-11-20T21:10:00+00:00",
        "2026-11-20 21:10:00 -0700": "2026-11-21T04:10:00+00:00",
        "2026-11-20T23:30": "2026-11-20T23:30:00+00:00",
        "2026-11-20 23:30:00 ../../etc/passwd": None,
        "2026-11-20 23:30:00 America": None,
        "Friday, 20 November 2026, 11:30 PM": None,
        "": None,
    }
    files: dict[str, str | bytes] = {}
    for n, text in enumerate(times):
        files |= {f"submitted/l{n:02}/hw/a.py": RIGHT, f"submitted/l{n:02}/hw/timestamp.txt": text}
    folder = laid_out(tmp_path / "course", files)
    learners = collected(folder).learners
    assert [None if one.kernels[0].file_time else one.kernels[0].time for one in learners] == [*times.values()]
    alarms = [[file.reason for file in one.unread] for one in learners]
    assert alarms == [[] if time else ["time"] for time in times.values()]
    assert main(["collect", str(folder), "--puzzle", "vector_add", "-o", str(tmp_path / "run")]) == 0
    assert "times that cannot be read count as on time: l09, l10, l11, l12" in capsys.readouterr().err
