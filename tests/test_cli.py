"""``python -m checker`` as learners and instructors type it: what it prints, and the exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from checker import cli
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


def test_check_passes_keeps_the_kernel_and_counts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "right.py", "--device", "cpu"]) == 0
    assert "passed" in capsys.readouterr().out
    assert json.loads((folder / OURS / "progress.json").read_text())["puzzles"]["vector_add"]["attempts"] == 1
    (kept,) = (folder / OURS / "passed").iterdir()
    assert cli.main(["check", str(kept), "--device", "cpu"]) == 0, "the kept file passes again"
    assert len(list((folder / OURS / "passed").iterdir())) == 1


def test_a_step_of_an_unfinished_kernel_can_be_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = (ROOT / "solutions/decode_attention_split.py").read_text()
    one_split = kernel.replace("tl.minimum(length, (split + 1) * share)", "tl.minimum(length, share)")
    assert one_split != kernel
    Path("decode_attention_split.py").write_text(one_split)
    command = ["check", "decode_attention_split.py", "--only"]
    assert cli.main([*command, "whole"]) == 0
    assert "1 of 2 parts" in capsys.readouterr().out
    for arguments, message in (
        ([*command, "all"], "Its parts are whole, splits."),
        ([*command, "whole", "--thorough"], "leave out --device, --seed, --thorough and --amd"),
    ):
        assert cli.main(arguments) == 2
        assert message in capsys.readouterr().err


def test_check_of_the_stub_by_its_puzzle_s_name_invites(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "vector_add"]) == 1
    assert "hint" in capsys.readouterr().out
    assert not (folder / OURS).exists()


def test_wrong_usage_exits_2_and_says_what_to_do(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        ([], "python -m checker doctor"),
        (["frobnicate"], "No such command"),
        (["check"], "check needs a file: python -m checker check puzzles/vector_add.py"),
        (["check", "nowhere.py"], "no file or folder called nowhere.py"),
        (["check", "vector_ad"], "Did you mean vector_add?"),
        (["check", "right.py", "--device", "tpu"], "tpu"),
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
        # a file that cannot be written is refused before the work begins
        (["grade", "right.py", "--json", "puzzles"], "puzzles is a folder; the result needs the name of a file"),
        (["grade", "right.py", "--json", "right.py/result.json"], "you may not write to"),
        (["grade", "right.py", "--json", "/dev/null"], "/dev/null is a device or a pipe"),
        (["film", "right.py", "-o", "puzzles"], "puzzles is a folder"),
    ):
        assert cli.main(arguments) == 2, arguments
        printed = capsys.readouterr()
        assert message in printed.out + printed.err, arguments


def test_every_verb_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = ("check", "film", "xray", "bench", "hint", "progress", "reset", "doctor", "grade", "mutants", "puzzles")
    for verb in verbs:
        assert cli.main([verb, "--help"]) == 0
        assert f"python -m checker {verb}" in capsys.readouterr().out


def test_a_missing_gpu_exits_3(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checker.gpu.available", lambda: False)
    for arguments in (["grade", "right.py", "--device", "cuda"], ["check", "right.py", "--device", "cuda"]):
        assert cli.main(arguments) == 3
        assert "doctor" in capsys.readouterr().err
    assert cli.main(["bench", "right.py"]) == 3
    assert "bench needs a GPU" in capsys.readouterr().err


def test_a_defect_of_ours_exits_3_and_blames_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("checker.submission.from_path.from_path", broken)
    assert cli.main(["check", "right.py"]) == 3
    assert "no kernel was judged" in capsys.readouterr().err


def test_film_writes_a_page_also_of_the_failing_case(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["film", "right.py", "-o", "out/film.html", "--size", "N=7"]) == 0
    page = (folder / "out" / "film.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "N = 7" in page
    assert cli.main(["film", "right.py", "--case", "failing"]) == 2
    assert "passes: there is no failing case to film" in capsys.readouterr().err
    assert cli.main(["check", "wrong.py", "--device", "cpu"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "values" in printed
    assert "python -m checker film wrong.py --case failing" in printed
    assert cli.main(["film", "wrong.py", "--case", "failing", "-o", "film.html"]) == 0
    page = (folder / "film.html").read_text()
    assert "This kernel does not pass. Vector addition gives wrong numbers." in page
    assert 'class="first-wrong"' in page


def test_a_kernel_that_cannot_be_filmed_gets_its_card_instead(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = RIGHT.replace("tl.arange(0, BLOCK_N)", "tl.arange(0, 3)")
    for text, message in ((stub(RIGHT), "waiting for you"), (broken, "power of two")):
        (folder / "mine.py").write_text(text)
        assert cli.main(["film", "mine.py"]) == 1
        assert message in " ".join(capsys.readouterr().out.split())
        assert list(folder.glob("*.html")) == []


def test_grade_writes_json_to_standard_output_and_nothing_else(folder: Path) -> None:
    command = [sys.executable, "-m", "checker", "grade", "right.py", "wrong.py", "puzzles"]
    command += ["--device", "cpu", "--no-diagnosis", "--json", "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=folder, env=environment)
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    statuses = {one["learner"]["id"]: [puzzle["status"] for puzzle in one["puzzles"]] for one in result["submissions"]}
    assert statuses == {"right.py": ["passed"], "wrong.py": ["failed"], "vector_add.py": ["not_attempted"]}


def test_a_result_that_cannot_be_written_does_not_take_the_summary_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("checker.api.command_line.write_atomically", full)
    assert cli.main(["grade", "puzzles", "--device", "cpu", "--json", "result.json"]) == 3
    printed = capsys.readouterr()
    assert "0 of 1 passed" in printed.out
    assert "result.json could not be written: No space left on device" in printed.err


def test_odd_files_do_not_stop_a_grading(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    submissions = folder / "class"
    (submissions / "odd").mkdir(parents=True)
    (submissions / "alice.py").write_text(stub(RIGHT))
    (submissions / "bob.py").write_bytes(bytes(range(256)) * 8)
    nbformat.write(nbformat.v4.new_notebook(), submissions / "carol.ipynb")
    (submissions / "dave.py").symlink_to(folder / "gone.py")
    assert cli.main(["grade", "class", "--device", "cpu"]) == 1
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    for message in (
        "not attempted",
        "not text in UTF-8",
        "no kernel of the course in: carol.ipynb",
        "was not followed",
    ):
        assert message in text


def test_the_last_of_two_kernels_of_one_name_counts_as_in_python(folder: Path) -> None:
    again = RIGHT.split("import triton.language as tl", 1)[1]
    (folder / "twice.py").write_text(WRONG + again)
    assert cli.main(["check", "twice.py", "--device", "cpu"]) == 0
    (folder / "twice.py").write_text(RIGHT + again.replace("x + y", "x - y"))
    assert cli.main(["check", "twice.py", "--device", "cpu"]) == 1


LIGHT = """
import sys, checker
heavy = [n for n in ('torch', 'triton', 'numpy', 'rich', 'IPython', 'checker.sandbox') if n in sys.modules]
assert not heavy, heavy
assert callable(checker.progress) and callable(checker.doctor)
from checker.verbs import check, progress, doctor, hint
assert callable(checker.progress) and callable(checker.doctor)
"""
STARTS = """
import sys; sys.ps1 = '>>> '
import checker
from checker.sandbox import Sandbox
assert Sandbox.shared().worker.pid is not None
assert 'torch' not in sys.modules
"""
HELP = """
import sys, checker.cli, classroom.cli
heavy = [n for n in ('torch', 'triton', 'numpy') if n in sys.modules]
assert not heavy, heavy
"""


def test_importing_is_light_and_starts_the_sandbox_only_for_a_person() -> None:
    for code in (LIGHT, STARTS, HELP):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_doctor_runs_without_typer() -> None:
    """It is the command that says what is missing."""
    code = "import sys, runpy; sys.modules['typer'] = None; runpy.run_module('checker', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert "torch" in done.stdout


def test_an_interrupt_ends_a_command_that_still_imports_torch(folder: Path) -> None:
    """torch's own import loses an interrupt, and `check` would go on for as long as it takes."""
    (folder / "torch.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\nprint('on')\n"
    )
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(1, {str(ROOT)!r})\nfrom checker import cli\nsys.exit(cli.main(['check', 'right.py']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "")


def test_a_command_ends_with_its_code_and_all_its_output() -> None:
    """It does not wait until torch is unloaded."""
    done = subprocess.run(
        [sys.executable, "-m", "checker", "hint", "none_such"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "none_such" in done.stderr
