"""``python -m checker`` as a learner and a teacher type it: what it says, and the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker import cli
from checker.course import LADDER
from checker.submission.marked_region import stub
from checker.workspace import OURS

ROOT = Path(__file__).resolve().parents[1]
RIGHT = (ROOT / "solutions" / "vector_add.py").read_text()
WRONG = RIGHT.replace("x + y", "x - y")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "puzzles").mkdir()
    (tmp_path / "puzzles" / "vector_add.py").write_text(stub(RIGHT))
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=cwd, env=environment)


def test_check_passes_keeps_the_kernel_and_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "right.py", "--device", "cpu"]) == 0
    assert "passed" in capsys.readouterr().out
    assert [p.read_text() for p in (folder / OURS / "passed").iterdir()]
    assert json.loads((folder / OURS / "progress.json").read_text())["puzzles"]["vector_add"]["attempts"] == 1


def test_a_kept_kernel_passes_again(folder: Path) -> None:
    assert cli.main(["check", "right.py", "--device", "cpu"]) == 0
    (kept,) = (folder / OURS / "passed").iterdir()
    assert cli.main(["check", str(kept), "--device", "cpu"]) == 0
    assert len(list((folder / OURS / "passed").iterdir())) == 1


def test_check_of_a_wrong_kernel_fails_with_its_gate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "wrong.py", "--device", "cpu"]) == 1
    assert "values" in capsys.readouterr().out


def test_check_of_the_stub_by_its_puzzles_name_invites(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "vector_add"]) == 1
    assert "hint" in capsys.readouterr().out
    assert not (folder / OURS).exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "invalid choice"),
        (["check"], "check needs a file: python -m checker check puzzles/vector_add.py"),
        (["check", "nowhere.py"], "no file or folder called nowhere.py"),
        (["check", "vector_ad"], "Did you mean vector_add?"),
        (["check", "right.py", "--puzzle", "row_softmax"], "The kernel of row_softmax is called row_softmax_kernel"),
        (["film", "right.py", "--size", "N"], "for example --size N=13"),
        (["film", "right.py", "--size", "K=3"], "The sizes are N=10, BLOCK_N=4"),
        (["film", "right.py", "--size", "BLOCK_N=3"], "power of two"),
        (["film", "right.py", "--size", "N=0"], "at least 1"),
        (["hint"], "hint needs a puzzle"),
        (["hint", "vector_add", "--level", "9"], "levels 1 (question)"),
        (["reset", "vektor_add"], "Did you mean vector_add?"),
        (["grade"], "grade needs something to grade"),
        (["grade", "nowhere"], "no file or folder called nowhere"),
        (["grade", "notebooks"], "there is no .py, .ipynb or .zip to grade"),
        (["grade", "right.py", "--jobs", "0"], "--jobs has to be at least 1"),
        (["grade", "right.py", "--puzzle", "softmaxx"], "There is no puzzle called softmaxx"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_2_and_says_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert cli.main(arguments) == 2
    assert words in capsys.readouterr().err


def test_a_verb_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    assert "python -m checker doctor" in capsys.readouterr().out


@pytest.mark.parametrize(
    "verb", ["check", "film", "xray", "bench", "hint", "progress", "reset", "doctor", "grade", "mutants", "puzzles"]
)
def test_every_verb_has_help_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([verb, "--help"]) == 0
    assert f"python -m checker {verb}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [["grade", "right.py", "--device", "cuda"], ["check", "right.py", "--device", "cuda"], ["bench", "right.py"]],
)
def test_a_missing_gpu_exits_3(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("checker.gpu.available", lambda: False)
    assert cli.main(arguments) == 3
    assert "doctor" in capsys.readouterr().err


def test_a_defect_of_ours_exits_3_and_blames_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("checker.submission.from_path.from_path", broken)
    assert cli.main(["check", "right.py"]) == 3
    assert "no kernel was judged" in capsys.readouterr().err


def test_film_writes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["film", "right.py", "-o", "out/film.html", "--size", "N=7"]) == 0
    page = (folder / "out" / "film.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "N = 7" in page


def test_film_of_the_failing_case(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["film", "right.py", "--case", "failing"]) == 2
    assert "passes: there is no failing case to film" in capsys.readouterr().err
    (folder / "wrong.py").write_text(WRONG)
    assert cli.main(["check", "wrong.py", "--device", "cpu"]) == 1
    assert "python -m checker film wrong.py --case failing" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["film", "wrong.py", "--case", "failing", "-o", "film.html"]) == 0
    page = (folder / "film.html").read_text()
    assert "This kernel does not pass. Vector addition gives wrong numbers." in page
    assert 'class="first-wrong"' in page


def test_film_of_a_stub_shows_its_card_instead(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["film", "puzzles/vector_add.py"]) == 1
    assert "waiting for you" in capsys.readouterr().out
    assert list(folder.glob("*.html")) == []


def test_grade_writes_json_to_standard_output_and_nothing_else(folder: Path) -> None:
    grade = ("-m", "checker", "grade", "right.py", "wrong.py", "--device", "cpu", "--no-diagnosis", "--json", "-")
    done = python(*grade, cwd=folder)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    statuses = {s["submission"]: [p["status"] for p in s["puzzles"]] for s in result["submissions"]}
    assert statuses == {"right.py": ["passed"], "wrong.py": ["failed"]}


def test_grade_of_the_stubs_is_not_attempted_and_exits_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["grade", "puzzles", "--device", "cpu", "--json", "r.json"]) == 1
    (submission,) = json.loads((folder / "r.json").read_text())["submissions"]
    assert [p["status"] for p in submission["puzzles"]] == ["not_attempted"]


def test_puzzles_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["puzzles", "--json", "-"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "puzzles/v1"
    assert [p["name"] for p in listed["puzzles"]] == [p.name for p in LADDER]
    assert set(listed["puzzles"][0]) == {"name", "kernel", "parameters", "notebook", "points"}


def test_importing_is_light_and_starts_nothing_in_a_script() -> None:
    code = (
        "import sys, checker\n"
        "heavy = [n for n in ('torch', 'triton', 'numpy', 'rich', 'IPython', 'checker.sandbox') if n in sys.modules]\n"
        "assert not heavy, heavy\n"
        "assert callable(checker.progress) and callable(checker.doctor)\n"
        "from checker.verbs import check, progress, doctor, hint\n"
        "assert callable(checker.progress) and callable(checker.doctor)\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_in_a_persons_session_the_sandbox_starts_without_torch() -> None:
    code = (
        "import sys; sys.ps1 = '>>> '\n"
        "import checker\nfrom checker.sandbox import Sandbox\n"
        "assert Sandbox.shared()._worker.pid is not None\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["grade", "right.py", "--json", "puzzles"], "puzzles is a folder; the result needs the name of a file"),
        (["grade", "right.py", "--json", "right.py/result.json"], "is no folder that you may write to"),
        (["grade", "right.py", "--json", "/dev/null"], "/dev/null is a device or a pipe"),
        (["mutants", "--markdown", "puzzles"], "puzzles is a folder"),
        (["film", "right.py", "-o", "puzzles"], "puzzles is a folder"),
    ],
)
def test_a_result_that_could_not_be_written_is_told_before_the_work(
    arguments: list[str],
    printed: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("checker.sandbox.Sandbox.shared", None)
    assert cli.main(arguments) == 2
    assert printed in capsys.readouterr().err


def test_a_result_that_cannot_be_written_in_the_end_does_not_take_the_summary_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("checker.grading.result_json.write_atomically", full)
    assert cli.main(["grade", "puzzles", "--device", "cpu", "--json", "result.json"]) == 3
    printed = capsys.readouterr()
    assert "0 of 1 passed" in printed.out
    assert "result.json could not be written: No space left on device" in printed.err


@pytest.mark.parametrize("what", ["empty", "binary", "notebook", "link"])
def test_a_folder_with_something_odd_in_it_is_graded_all_the_same(
    what: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "class" / "odd").mkdir(parents=True)
    (folder / "class" / "alice.py").write_text(stub(RIGHT))
    match what:
        case "binary":
            (folder / "class" / "bob.py").write_bytes(bytes(range(256)) * 8)
        case "notebook":
            (folder / "class" / "bob.ipynb").write_text(
                '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'
            )
        case "link":
            (folder / "class" / "bob.py").symlink_to(folder / "gone.py")
    assert cli.main(["grade", "class", "--device", "cpu"]) == 1
    printed = capsys.readouterr()
    assert "not attempted" in printed.out
    words = {
        "binary": "not text in UTF-8",
        "notebook": "no kernel of the course in: bob.ipynb",
        "link": "was not followed",
    }
    assert words.get(what, "0 of 1 passed") in " ".join((printed.out + printed.err).split())


def test_the_last_of_two_kernels_of_one_name_counts_as_in_python(folder: Path) -> None:
    again = RIGHT.split("import triton.language as tl", 1)[1]
    (folder / "twice.py").write_text(WRONG + again)
    assert cli.main(["check", "twice.py", "--device", "cpu"]) == 0
    (folder / "twice.py").write_text(RIGHT + again.replace("x + y", "x - y"))
    assert cli.main(["check", "twice.py", "--device", "cpu"]) == 1


def test_film_of_a_kernel_that_does_not_compile_shows_its_card(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.py").write_text(RIGHT.replace("tl.arange(0, BLOCK_N)", "tl.arange(0, 3)"))
    assert cli.main(["film", "broken.py", "-o", "film.html"]) == 1
    assert "power of two" in " ".join(capsys.readouterr().out.split())
    assert not (folder / "film.html").exists()
