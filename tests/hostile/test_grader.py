"""Attacks on who gets which grade: names, exports, tables, policies. Each is one line of data."""

from __future__ import annotations

import csv
import io
import stat
import zipfile
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
from classroom.grading.policy import PolicyError, read_policy
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
    "metadata of Gradescope deep in a folder of Moodle's": (
        MOODLE,
        {f"{OF_ANNA}/a.py": ANNA, f"{OF_MALLORY}/a.py": MALLORY, f"{OF_MALLORY}/x/{SCOPE}": STOLEN},
    ),
    "a name at Moodle that ends like a folder of somebody else's": (
        MOODLE,
        {f"{OF_ANNA}/a.py": ANNA, f"{OF_ANNA}_103_assignsubmission_file/a.py": MALLORY},
    ),
    "the same without folders": (
        MOODLE,
        {f"{OF_ANNA}_a.py": ANNA, f"{OF_ANNA}_103_assignsubmission_file_a.py": MALLORY},
    ),
    "a file at Moodle named like somebody else's": (
        MOODLE,
        {f"{OF_ANNA}_a.py": ANNA, f"{OF_MALLORY}_x_102_assignsubmission_file_a.py": MALLORY},
    ),
    "a folder in a folder of Moodle's": (MOODLE, {f"{OF_ANNA}/a.py": ANNA, f"{OF_MALLORY}/{OF_ANNA}/b.py": MALLORY}),
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
    "somebody else's number as a name at Gradescope": (
        SCOPED,
        {SCOPE: export("'102'"), "submission_1/a.py": ANNA, "submission_2/a.py": MALLORY},
    ),
    "somebody else's address as a name at Gradescope": (
        SCOPED,
        {SCOPE: export("anna@x"), "submission_1/a.py": ANNA, "submission_2/a.py": MALLORY},
    ),
    "somebody else's name with an invisible character": (
        SCOPED,
        {SCOPE: export('"Anna\\u200b Smith"'), "submission_1/a.py": ANNA, "submission_2/a.py": MALLORY},
    ),
    "a file at Canvas named like somebody else's": (
        CANVAS,
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_smithanna_102_3_a.py": MALLORY},
    ),
    "a file at Canvas named like one that is late": (
        CANVAS,
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_LATE_102_3_a.py": MALLORY},
    ),
    "a zip at Canvas with a file named like somebody else's": (
        CANVAS,
        {"smithanna_102_1_a.py": ANNA, "lorymal_103_2_a.zip": zipped({"smithanna_102_3_a.py": MALLORY})},
    ),
    "a zip at Canvas with a whole export in it": (
        CANVAS,
        {
            "smithanna_102_1_a.py": ANNA,
            "lorymal_103_2_a.zip": zipped(
                {SCOPE: GIVEN, "submission_1/a.py": MALLORY, "submitted/102/hw/a.py": MALLORY}
            ),
        },
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
    "a folder of somebody else's name in one's own": (PLAIN, {"anna/a.py": ANNA, "mallory/anna/a.py": MALLORY}),
    "a file of somebody else's name in one's own": (PLAIN, {"anna.py": ANNA, "mallory/anna.py": MALLORY}),
    "a zip with a folder of somebody else's name": (
        PLAIN,
        {"anna.py": ANNA, "mallory.zip": zipped({"anna/a.py": MALLORY})},
    ),
    "a notebook with somebody else's name": (
        PLAIN,
        {"anna.py": ANNA, "mallory.ipynb": notebook(f"%%writefile ../anna/vector_add.py\n{MALLORY}")},
    ),
    "a time stamp in a plain folder": (
        PLAIN,
        {"anna/a.py": ANNA, "mallory/anna/timestamp.txt": "2020-01-01 00:00:00 UTC", "mallory/anna/a.py": MALLORY},
    ),
    "metadata of Gradescope in a plain folder": (
        PLAIN,
        {
            "anna/a.py": ANNA,
            "mallory/a.py": MALLORY,
            f"mallory/{SCOPE}": "anna:\n  :submitters:\n  - :email: mallory@x\n",
        },
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
    "letters of full width": (PLAIN, {"anna/a.py": ANNA, "\uff41\uff4e\uff4e\uff41/a.py": MALLORY}),
    "an invisible character": (PLAIN, {"anna/a.py": ANNA, "an\u200bna/a.py": MALLORY}),
    "capitals": (PLAIN, {"anna/a.py": ANNA, "ANNA/a.py": MALLORY}),
    "a combining accent": (PLAIN.replace("anna,", "aña,"), {"aña/a.py": ANNA, "an\u0303a2/a.py": MALLORY}),
    "a dot behind the name": (PLAIN, {"anna/a.py": ANNA, "anna./a.py": MALLORY}),
    "the name read from right to left": (PLAIN, {"anna/a.py": ANNA, "\u202eanna/a.py": MALLORY}),
    "a longer name that begins like it": (PLAIN, {"anna.py": ANNA, "anna_final_vector_add.py": MALLORY}),
    "somebody else's id as one's name": (
        PLAIN.replace("Mal Lory", "anna"),
        {"anna/a.py": ANNA, "mallory/a.py": MALLORY},
    ),
    "somebody else's address as one's own": (
        PLAIN.replace("mallory@x", "anna@x"),
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


ODD_POLICIES = (
    *("[late]\nper_day = nan", "[late]\nper_day = inf", "[late]\nper_day = -0.1", "[late]\nper_day = true"),
    *("[late]\ngrace_minutes = inf", "[late]\ngrace_minutes = nan", "[late]\ngrace_minutes = 1e300"),
    *("[late]\nfree_days = 1.5", "[late]\nfree_days = inf", "[late]\nlast_day = 0.5", "[late]\nlast_day = nan"),
    *("[late]\ndue = 12:00:00", "[late]\ndue = 2026-11-20", "[late]\ndue = 'soon'", "[late]\ndue = 5"),
    *("[late]\ndue = '2026-11-20T00:00 Mars/Base'", "[late]\ndue = '2026-11-20T00:00 ../../etc/passwd'"),
    *("[late]\nfile_times = 1", "[rules]\nshare = nan", "[rules]\nshare = 1.5", "[rules]\nshare = -1"),
    *("[attempts]\nmost = 2.5", "[attempts]\nmost = nan", "[attempts]\nmost = -1", "[attempts]\ncount = 'worst'"),
    *(
        "[points]\nvalues = nan",
        "[points]\nvalues = inf",
        "[points]\nvalues = 1e308\nmemory = 1e308",
        "[points]\nspeed = 1",
    ),
    *("[puzzles]\nvector_add = 1e400", "[puzzles]\nvector_add = nan", "[puzzles]\nvector_add = '5'"),
    *("[puzzles]\nvector_add = 1e300", "[drop]\nlowest = 1.0", "[drop]\nlowest = nan", "[drop]\nlowest = -1"),
    *("points = [1]", "late = 5", "[points]\nvalues = 0\nmemory = 0\ntraffic = 0\ngpu = 0", "[late]\ndue = "),
)


def test_a_policy_with_odd_values_is_refused_before_anybody_is_scored(tmp_path: Path) -> None:
    for text in ODD_POLICIES:
        (tmp_path / "policy.toml").write_text(text)
        with pytest.raises(PolicyError, match=r"policy\.toml"):
            print(text, read_policy(tmp_path / "policy.toml", {"vector_add": VECTOR_ADD}))


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


def zip_with(name: str, mode: int = 0, flags: int = 0) -> bytes:
    """A zip with one member called `name`, whose mode may be that of a link; `flags` 1 says that it is encrypted."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        member = zipfile.ZipInfo("x")
        member.filename, member.external_attr = name, mode << 16
        archive.writestr(member, RIGHT)
    data = bytearray(out.getvalue())
    for at in (6, data.index(b"PK\1\2") + 8):
        data[at] |= flags
    return bytes(data)


ZIPS: dict[str, bytes] = {
    "a link": zip_with("a.py", stat.S_IFLNK | 0o777),
    "an encrypted file": zip_with("a.py", flags=1),
    "a file from the root": zip_with("/a.py"),
    "a file on a server": zip_with("//host/share/a.py"),
    "a file on a server of Windows": zip_with("\\\\host\\share\\a.py"),
    "a stream of a file": zip_with("a.txt:b.py"),
    "the folder above": zip_with("x/../../anna/a.py"),
    "the folder above, at the end": zip_with("a.py/.."),
    "a folder with the ending .py": zip_with("a.py/"),
    "a name of 60,000 letters without an ending": zip_with("a" * 60_000),
    "an empty name": zip_with(" "),
}


def test_no_name_in_a_zip_leads_out_of_it(tmp_path: Path) -> None:
    for name, data in ZIPS.items():
        one = by_id(collected(laid_out(tmp_path / name, {"anna.py": ANNA, "mallory.zip": data})))
        assert not [kernel for kernel in one["mallory"].kernels if kernel.source], name
        assert len(one["anna"].kernels) == 1, name


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


def test_whoever_is_in_doubt_can_be_settled_whatever_they_are_called(tmp_path: Path) -> None:
    """The table to fill in has cells that no spreadsheet takes for formulas."""
    folder, run, roster = tmp_path / "class", tmp_path / "run", tmp_path / "roster.csv"
    roster.write_text("id,name\n1,=Anna\n2,An-na\n3,An.na\n")
    laid_out(folder, {"@Anna/a.py": ANNA, "-an na/a.py": ANNA})
    collect_again = ["collect", str(folder), "--roster", str(roster), "--puzzle", "vector_add", "-o", str(run)]
    assert main(collect_again) == 0
    table = run / "unmatched.csv"
    table.write_text(table.read_text().replace("@Anna,,", "@Anna,1,").replace("na,,", "na,2,"))
    assert main([*collect_again, "--match", str(table)]) == 0
    assert [len(one.kernels) for one in RunFolder(run).collected.learners] == [1, 1, 0]


def test_no_file_of_a_report_takes_the_place_of_another(tmp_path: Path) -> None:
    """Not those of two learners with alike ids, and not a grade book that is called like a part of the report."""
    ids = (
        "a/b",
        "a_b",
        "a\\b",
        ".a_b",
        "a b",
        "A/B",
        "..",
        ".",
        "",
        "con",
        "a" * 200,
        "a" * 201,
        "á",
        "a\u0301",
        "a:b",
    )
    assert len({file_name(one) for one in ids}) == len(ids)
    folder = run_folder(tmp_path, {"anna.py": ANNA})
    keep_results(folder)
    for name in ("scores.csv", "results.json", "class.html", "feedback.zip", "learners"):
        book = tmp_path / name
        book.write_text("Student,ID\n")
        with pytest.raises(TableError, match="another name"):
            write_report(folder, scored(folder), gradebook=book)


def test_a_run_in_the_folder_of_the_class_is_nobody_s(tmp_path: Path) -> None:
    laid_out(tmp_path, {"anna.py": ANNA})
    for _ in range(2):
        assert main(["collect", str(tmp_path), "--puzzle", "vector_add", "-o", str(tmp_path / "run")]) == 0
        assert [one.person.id for one in RunFolder(tmp_path / "run").collected.learners] == ["anna"]
