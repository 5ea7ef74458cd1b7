"""The grader started in a folder that somebody else filled: no file in it becomes a part of the grader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from matplotlib import rcParams

from checker.checking import infra_verdict
from checker.gpu import _device
from checker.submission.reader import Reader
from classroom.grading import judging
from classroom.grading.nbgrader_cell import points
from classroom.grading.store import RunFolder
from tests.classroom.grading.classes import VECTOR_ADD, laid_out, notebook
from tests.classroom.grading.conftest import RIGHT, ROOT
from tools import setup_venv

OWNED = "import os\nos.close(os.open({mark!r}, os.O_CREAT | os.O_WRONLY))\n"
WRONG = RIGHT.replace("x + y", "x - y")
SHADOWED = (
    *("checker/__init__.py", "checker/__main__.py", "checker/cli.py", "classroom/__init__.py", "classroom/__main__.py"),
    *(
        "numpy.py",
        "msgspec.py",
        "torch.py",
        "triton.py",
        "typer.py",
        "matplotlib.py",
        "jinja2.py",
        "yaml.py",
        "json.py",
    ),
    *("__future__.py", "runpy.py", "subprocess.py", "sitecustomize.py", "usercustomize.py"),
)
"""Modules that the grader imports: its own, those of packages, those of Python."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an installation as `make setup` leaves it: it finds the course, and has the guard."""
    venv = tmp_path_factory.mktemp("course") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    packages = venv / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    (packages / "course.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    setup_venv.refuse_the_working_directory(str(venv))
    return venv / "bin" / "python"


def hostile_repository(path: Path) -> tuple[Path, Path]:
    """A learner's repository with a wrong kernel and modules that leave a mark if anything imports them: it, and the mark."""
    mark = path / "owned"
    code = OWNED.format(mark=str(mark))
    files: dict[str, str | bytes] = dict.fromkeys(SHADOWED, code) | {"evil.pth": f"import os; {code!r}\n"}
    files |= {"work.ipynb": notebook(WRONG)}
    return laid_out(path / "repository", files), mark


def run(python: Path, *arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    return subprocess.run([python, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_no_command_of_the_grader_imports_from_the_folder_it_is_started_in(tmp_path: Path, python: Path) -> None:
    """Every stage, its reader, its judge and the probe for a GPU; also where PYTHONPATH leads there."""
    repository, mark = hostile_repository(tmp_path)
    out, report = tmp_path / "run", tmp_path / "out.json"
    grade = ("grade", "work.ipynb", "--puzzle", "vector_add", "--no-diagnosis", "--json", str(report))
    for arguments, variables in (
        (("-m", "classroom", "all", ".", "--puzzle", "vector_add", "--no-diagnosis", "-o", str(out)), {}),
        (("-m", "checker", *grade), {"PYTHONPATH": ":"}),
        (("-Wignore", "-um", "classroom", "--help"), {"PYTHONPATH": "."}),
        (("-mchecker", "puzzles"), {"PYTHONPATH": str(repository)}),
    ):
        done = run(python, *arguments, cwd=repository, **variables)
        assert not mark.exists(), (arguments, done.stderr[-500:])
        assert done.returncode == (1 if "grade" in arguments else 0), done.stderr
    (submission,) = json.loads(report.read_text())["submissions"]
    assert [puzzle["status"] for puzzle in submission["puzzles"]] == ["failed"]
    (learner,) = (one for one in RunFolder(out).results.submissions if one.puzzles[0].verdict)
    assert learner.puzzles[0].status == "failed"


def test_cards_are_drawn_without_the_working_directory_s_matplotlibrc(monkeypatch: pytest.MonkeyPatch) -> None:
    """With TeX, a learner's card could show any file that the grader can read."""
    monkeypatch.setitem(rcParams, "text.usetex", True)
    monkeypatch.setattr(judging, "card_html", lambda _: f"TeX: {rcParams['text.usetex']}")
    assert judging.card_of(infra_verdict(VECTOR_ADD, "", "cpu", RuntimeError())) == "TeX: False"


def test_readers_and_cells_are_started_without_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the guard is missing, e.g. in an environment of conda's."""
    repository, mark = hostile_repository(tmp_path)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PYTHONPATH", ":")
    with Reader() as reader:
        (inner,) = reader.read("work.ipynb", notebook(WRONG).encode(), {"vector_add_kernel": "vector_add"})
    assert [found.puzzle for found in inner.found] == ["vector_add"]
    _device.cache_clear()
    _device()
    assert points("vector_add", "work.ipynb") < 0.7
    assert not mark.exists()


def test_the_course_s_own_folder_and_other_programs_keep_their_path(tmp_path: Path, python: Path) -> None:
    laid_out(tmp_path, {"mine.py": "print('mine')"})
    assert run(python, "-m", "mine", cwd=tmp_path).stdout == "mine\n"
    own = laid_out(python.parents[2], {"checker/__init__.py": "", "checker/__main__.py": "print('own')"})
    assert run(python, "-m", "checker", cwd=own).stdout == "own\n"
