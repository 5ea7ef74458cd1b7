"""Everything that is made of a result: grade books, feedback, pages."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from checker.course import PUZZLES
from checker.judge.result import PuzzleResult, UnreachedRecord
from checker.sandbox import Sandbox
from checker.submission.reader import Reader
from classroom.grading.anonymous import anonymous
from classroom.grading.collect import collect
from classroom.grading.gradebook import filled, number, scores_csv
from classroom.grading.judging import Local, judge_missing, tasks
from classroom.grading.pages import class_page
from classroom.grading.policy import Policy
from classroom.grading.records import StoredVerdict
from classroom.grading.score import score
from classroom.grading.store import RunFolder
from classroom.grading.tables import TableError
from classroom.grading.written import write_report
from tests.classroom.grading.classes import (
    CANVAS_BOOK,
    CPU,
    VECTOR_ADD,
    judged_as,
    keep,
    keep_results,
    laid_out,
    notebook,
    run_folder,
    scored,
    wanted,
    zipped,
)
from tests.classroom.grading.conftest import NO_SYNTAX, RIGHT, STUB, UNMASKED, solution


@pytest.fixture
def graded(tmp_path: Path) -> RunFolder:
    """Four of a Canvas class: right, wrong, unreadable, missing; one name is made for spreadsheets and terminals."""
    book = CANVAS_BOOK.replace("Le, Carol", "=cmd()|Le, \x1b[31mCarol")
    (tmp_path / "book.csv").write_text(book)
    files = {
        "smithanna_101_9001_anna.py": RIGHT,
        "jonesbob_102_9002_w.ipynb": notebook("# by Bob Jones\n" + UNMASKED),
        "lecarol_103_9003_x.ipynb": "{",
    }
    folder = run_folder(tmp_path, files, book)
    keep(folder, judged_as(None), judged_as("values", right=10))
    keep_results(folder)
    return folder


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_what_no_case_reached_is_for_review_and_costs_nothing(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, {"anna.py": RIGHT, "bob.py": RIGHT + "\n\n# the same\n"}, "id\nanna\nbob\n")
    mark = UnreachedRecord(line=7, condition="`N == 7` was never true")
    keep(folder, replace(judged_as(None), unreached=(mark,)), *[judged_as(None)] * (len(wanted(folder)) - 1))
    result = scored(folder)
    table = rows(scores_csv(result))
    at = table[0].index("review")
    reviewed = [one.learner.id for one in result.submissions if one.review]
    assert reviewed
    assert [row[at] for row in table[1:]] == ["conditions" if row[0] in reviewed else "" for row in table[1:]]
    assert {one.score for one in result.submissions} == {1.0}
    assert class_page(result).count("<td>conditions</td>") == len(reviewed)


def test_grade_books_of_canvas_and_moodle_are_filled_in(graded: RunFolder, tmp_path: Path) -> None:
    book = filled(tmp_path / "book.csv", graded.results)
    assert [row[-1] for row in rows(book.text)] == ["Tile by Tile (77)", "1", "1", "0.35", "0", "0"]
    assert rows(book.text)[0] == rows(CANVAS_BOOK)[0]
    assert book.notes == ()
    added = filled(tmp_path / "book.csv", graded.results, column="Softmax").text
    assert rows(added)[0][-2:] == ["Tile by Tile (77)", "Softmax"]
    for heads, who in (
        ("Identifier,Full name,Email address,Status,Grade,Maximum Grade", "Participant"),
        ("ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung", "Teilnehmer/in"),
        ("Identificador,Nombre completo,Dirección de correo,Estado,Calificación,Calificación máxima", "Participante"),
        ("Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale", "Participant"),
    ):
        text = f"{heads}\n{who} 102,Bob Jones,,Submitted,,100.00\n"
        (tmp_path / "sheet.csv").write_bytes(text.replace(",", ";").encode("cp1252"))
        sheet = filled(tmp_path / "sheet.csv", graded.results)
        assert sheet.text == text.replace(",,100.00", ",35,100.00").replace(",", ";")
        assert sheet.notes[0].count(",") == 5, "three are not in the worksheet, each with a comma in the name"
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="neither Canvas"):
        filled(tmp_path / "x.csv", graded.results)


def test_points_are_scaled_to_those_of_the_grade_book(graded: RunFolder, tmp_path: Path) -> None:
    book = (tmp_path / "book.csv").read_text()
    (tmp_path / "ten.csv").write_text(book.replace("Points Possible,,,,,1", "Points Possible,,,,,10"))
    made = filled(tmp_path / "ten.csv", graded.results)
    assert [row[-1] for row in rows(made.text)[1:]] == ["10", "10", "3.5", "0", "0"]
    assert made.notes == ("scaled from 1 points to the 10 that Tile by Tile has in Canvas",)
    for cell in ("0", "(read only)"):
        (tmp_path / "none.csv").write_text(book.replace("Points Possible,,,,,1", f"Points Possible,,,,,{cell}"))
        with pytest.raises(TableError, match="--column"):
            filled(tmp_path / "none.csv", graded.results)


def test_somebody_in_doubt_gets_no_grade_and_nobody_gets_theirs(tmp_path: Path) -> None:
    """Two folders are like jsmith's name: both wait for --match, and jsmith's zero does too."""
    roster = "id,name\njsmith,Jo Smith\nzoe,Zoe\n"
    folder = run_folder(tmp_path, {"j.smith/a.py": RIGHT, "J-Smith/a.py": UNMASKED, "ZOE/a.py": RIGHT}, roster)
    keep(folder, *[judged_as(None)] * len(wanted(folder)))
    result = scored(folder)
    assert [(one.learner.id, one.status) for one in result.submissions] == [
        ("jsmith", "missing"),
        ("zoe", "graded"),
        ("J-Smith", "unmatched"),
        ("j.smith", "unmatched"),
    ]
    (tmp_path / "book.csv").write_text("Student,ID,Tile by Tile\nJo Smith,jsmith,old\nZoe,zoe,\n")
    book = filled(tmp_path / "book.csv", result)
    assert [row[2] for row in rows(book.text)[1:]] == ["old", "1"]
    assert book.notes == ("left as they were: Jo Smith", "not in the grade book: J-Smith, j.smith")
    text = " ".join(re.sub("<[^>]+>", " ", class_page(result)).split())
    assert "J-Smith: jsmith? 1/1 unmatched" in text
    assert "Zoe (handed in as ZOE) 1/1 graded" in text


def test_every_number_is_the_same_on_the_pages_in_the_csv_and_in_the_grade_book(tmp_path: Path) -> None:
    """Also where the lowest puzzle is dropped, the puzzles differ in points, and a page has thirds of points."""
    puzzles = [VECTOR_ADD, PUZZLES["row_softmax"], PUZZLES["online_softmax"]]
    files = {"anna.py": RIGHT, "bob.py": solution("row_softmax"), "carol.py": RIGHT + solution("online_softmax")}
    laid_out(tmp_path / "class", files)
    folder = RunFolder(tmp_path / "run")
    with Reader() as reader:
        folder.keep_collected(*collect(tmp_path / "class", puzzles, reader))
    for n, task in enumerate(tasks(folder.collected, folder, puzzles, CPU)):
        made = replace(judged_as("values", right=n, run=3) if n else judged_as(None), puzzle=task.puzzle.name)
        folder.keep_verdict(StoredVerdict(key=task.key, result=made))
    policy = Policy(puzzles={"vector_add": 3, "row_softmax": 5, "online_softmax": 2}, drop_lowest=1)
    result = score(folder, puzzles, policy, CPU)
    write_report(folder, result)
    (tmp_path / "book.csv").write_text(
        "Student,ID,Tile by Tile\n" + "".join(f"{who},{who},\n" for who in ("anna", "bob", "carol"))
    )
    book = {row[1]: row[2] for row in rows(filled(tmp_path / "book.csv", result).text)}
    table = {row[0]: row for row in rows(scores_csv(result))}
    class_text = " ".join(re.sub("<[^>]+>", " ", class_page(result)).split())
    totals = {"anna": "4.8", "bob": "1.34", "carol": "6.29"}  # of 8: shares of what counts, without the lowest
    for one in result.submissions:
        who, page = one.learner.id, (folder.report / "learners" / f"{one.learner.id}.html").read_text()
        total, shares = number(one.score), [number(p.score) for p in one.puzzles]
        assert (total, number(one.max_score)) == (totals[who], "8")
        assert book[who] == total
        assert table[who][5:7] == [total, "8"]
        assert table[who][8:] == shares
        assert f"<b>{total}</b> of 8 points" in page
        assert re.findall(r'<h2>.*<span class="soft">([\d.]+) of', page) == shares
        assert f"{who} {total}/8 graded" in class_text
        assert re.search(
            rf"{who} {re.escape(total)}/8 graded " + " ".join(rf"\S+ {re.escape(s)}" for s in shares), class_text
        )


def test_the_report_returns_feedback_under_the_platform_s_names(graded: RunFolder, tmp_path: Path) -> None:
    write_report(graded, graded.results, gradebook=tmp_path / "book.csv")
    with zipfile.ZipFile(graded.report / "feedback.zip") as archive:
        names = archive.namelist()
        page = archive.read("jonesbob_102_9002_feedback.html").decode()
    ids = ("smithanna_101_9001", "jonesbob_102_9002", "lecarol_103_9003")
    assert names == [f"{name}_feedback.html" for name in ids]
    assert "All lanes exist." in page
    assert "0.35</b> of 1 points" in page
    assert "w.ipynb, cell 1 · values right in 10 of 20 cases · points: values 0.35" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "'=cmd()" in (graded.report / "scores.csv").read_text()
    written = {path.name for path in graded.report.iterdir()}
    expected = {"class.html", "learners", "book.csv", "results.json", "scores.csv", "feedback.zip"}
    assert written == expected


def test_a_page_has_the_card_of_the_verdict_and_a_film_made_once(tmp_path: Path, sandbox: Sandbox) -> None:
    folder = run_folder(tmp_path, {"anna.py": UNMASKED, "bob.py": RIGHT})
    judge_missing(folder, wanted(folder), CPU, Local(sandbox))  # type: ignore[arg-type]
    write_report(folder, scored(folder), with_films=True)
    page = (folder.report / "learners" / "anna.html").read_text()
    assert "Vector addition" in page
    assert 'class="tbt-card' in page
    assert "Watch it fail" in page
    assert "of 1 point<" not in page, "a card has no points of its own: the policy decides"
    assert "Watch it" not in (folder.report / "learners" / "bob.html").read_text()
    (film,) = (folder.path / "films").iterdir()
    before = film.stat().st_mtime_ns
    write_report(folder, scored(folder), with_films=True)
    assert film.stat().st_mtime_ns == before


def test_an_anonymous_report_names_no_one(tmp_path: Path) -> None:
    """Names, ids, logins, addresses, sections and files are gone, also those of a classmate in a comment, a cell or a message."""
    roster = (
        "id,name,email,section,login\n"
        "s7001,Anna Smith,anna.smith@uni.example,Tuesday,asmith\n"
        "s7002,Bob Jones,bjones@uni.example,Tuesday,bob-j\n"
        "s7003,Carol Le-Guin,carol@uni.example,Friday,\n"
    )
    comments = "# with Bob, s7002 and bjones@uni.example.\n    # bob-j (Le-Guin) and Anna SMITH\n    # your code starts"
    shared = UNMASKED.replace("# your code starts", comments).replace("One program", "Anna and Carol: one program")
    files = {
        "s7001/anna_final.py": shared,
        "s7002/work of bob.ipynb": notebook("# Bob Jones\n" + RIGHT.replace("def vec", "# asmith helped\ndef vec")),
        "s7003/carols.py": "from anna import (",
        "mallory.py": "print(1)",
        "s7002/notes.carol": "x",
        "s7001/smith.zip": zipped({"anna smith/bob.py": "def vector_add_kernel(carol_le_guin, (:\n"}),
    }
    folder = run_folder(tmp_path, files, roster)
    said = "`anna_helper` calls bob_j (see smith@other.example), line 3 of anna_final.py"
    wrong = judged_as("values", right=10)
    wrong = replace(wrong, gates=tuple(replace(gate, message=said, advice=said) for gate in wrong.gates))
    keep(folder, wrong, judged_as(None), card="<p>Anna Smith</p>")
    keep_results(folder)
    write_report(folder, folder.results, without_names=True)
    outputs = {
        path.relative_to(folder.report).as_posix(): path.read_text()
        for path in folder.report.rglob("*")
        if path.is_file()
    }
    everything = "".join(name + text for name, text in outputs.items()).casefold()
    assert len(outputs) == 3 + 4  # a page for each of four
    assert "learner-001" in everything
    names = ("anna", "smith", "bob", "jones", "carol", "guin", "mallory", "s700", "example", "tuesday", "friday")
    for name in (*names, "final.py", "work of"):
        assert name not in everything, name
    assert anonymous(folder.results) == anonymous(folder.results)


def test_the_class_page_shows_progress_beliefs_the_hardest_case_and_times(tmp_path: Path) -> None:
    def failing() -> PuzzleResult:
        result = judged_as("values", right=10)
        gates = tuple(replace(gate, case="n = 65") if gate.gate == "values" else gate for gate in result.gates)
        return replace(result, gates=gates)

    times = {"anna": "10:00", "bob": "11:00", "carol": "13:00"}
    kernels = {"anna": UNMASKED, "bob": UNMASKED.replace("    # your", "    # bob\n    # your", 1), "carol": RIGHT}
    files = {f"submitted/{who}/hw/w.py": text for who, text in kernels.items()}
    files |= {f"submitted/{who}/hw/timestamp.txt": f"2026-11-20 {at}:00 UTC" for who, at in times.items()}
    folder = run_folder(tmp_path, files, "id,name\nanna,Anna\nbob,Bob\nzoe,Zoe\ncarol,Carol\n")
    keep(folder, failing(), failing(), judged_as(None))
    page = class_page(scored(folder))
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    for part in (
        "4 learners, 1 puzzle, 1 of 4 passed",
        "2 Vector addition no mask All lanes exist.",  # two hold this belief
        "n = 65 (2)",
        "values 2",
        "Anna 0.35/1 graded",
        "Carol 1/1 graded",
        "Zoe 0/1 missing",
        "20 Nov 2026 10:00",
        "20 Nov 2026 13:00",
    ):
        assert part in text
    assert page.count("<rect") == 3


def test_work_that_got_nothing_without_having_run_has_its_own_list(tmp_path: Path) -> None:
    """Rules, syntax, another name, a time that nobody can read; an untouched stub is not tried, and every gate stops kernels."""
    files: dict[str, str | bytes] = {
        "submitted/rules/hw/a.py": UNMASKED,
        "submitted/syntax/hw/a.py": NO_SYNTAX,
        "submitted/renamed/hw/a.py": RIGHT.replace("vector_add_kernel", "my_kernel"),
        "submitted/time/hw/a.py": RIGHT,
        "submitted/time/hw/timestamp.txt": "yesterday",
        "submitted/stub/hw/a.py": STUB,
        "submitted/written/hw/a.ipynb": notebook("%%writefile kernel.py\n" + RIGHT.replace("x + y", "y + x")),
    }
    folder = run_folder(tmp_path, files)
    rules, right, stub, written = (
        judged_as("source", "forbidden"),
        judged_as(None),
        judged_as("source"),
        judged_as("compile"),
    )
    by_learner = {"rules": rules, "time": right, "stub": replace(stub, status="not_attempted"), "written": written}
    keep(folder, *(by_learner[task.learners[0]] for task in wanted(folder)))
    result = scored(folder)
    page = class_page(result)
    text = " ".join(re.sub("<[^>]+>", " ", page).split())
    listed = text.split("Look at these yourself")[1].split("Puzzles puzzle tried")[0]
    for part in (
        "renamed hw/a.py: no kernel of this course is defined here: found my_kernel",
        "rules Vector addition source is forbidden.",
        "was never closed (line 8 of hw/a.py)",
        "time timestamp.txt: when it was handed in cannot be read: yesterday",
    ):
        assert part in listed, (part, listed)
    assert "stub" not in listed
    assert "written" not in listed
    assert "Vector addition 4 1 source 2, compile 1" in text
