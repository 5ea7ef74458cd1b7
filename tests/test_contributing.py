"""CONTRIBUTING.md says how to add a puzzle in six steps. Here they are taken, in a copy of the course, and everything works.

`tests/example_puzzle/` holds what a contributor writes for a tiny puzzle called `double`, and nothing else.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from checker.course import LADDER
from classroom.workshop.executed import fill_in

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLE = ROOT / "tests" / "example_puzzle"
COPIED = ("checker", "classroom", "notebooks/src", "solutions", "tests/judge", "tools")

AFTERWARDS = '''
import contextlib, io, json, pathlib
from checker import cli
from checker.course import PUZZLES
from tools import sync
from tools.mutants.judging import mechanical
from tools.mutants.mechanical import mutants

def said(*arguments):
    """The exit code of a command, and what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(text):
        code = cli.main([str(a) for a in arguments])
    return [code, text.getvalue()]

def main():
    found = {"sync": sync.main([]), "sync again": sync.main(["--check"])}
    found["solution"] = said("check", "solutions/double.py", "--device", "cpu")
    found["stub"] = said("check", "double", "--device", "cpu")
    found["film"] = said("film", "solutions/double.py", "-o", "double.html")
    found["hints"] = [said("hint", "double", "--level", level) for level in (1, 2, 3)]
    found["listed"] = said("puzzles")
    found["bank"] = said("mutants", "--puzzle", "double", "--device", "cpu")
    slips = [mutant for mutant in mutants(PUZZLES["double"]) if "2.0 * x" in mutant.key]
    found["slips"] = {slip.key.partition(" → ")[2]: mechanical(slip).outcome for slip in slips}
    pathlib.Path("found.json").write_text(json.dumps(found))

if __name__ == "__main__":
    main()
'''


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course with the example put in: steps 1 to 5."""
    copy = tmp_path_factory.mktemp("course")
    for part in COPIED:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(EXAMPLE, copy, dirs_exist_ok=True)
    ladder = copy / "checker/course/__init__.py"
    text = ladder.read_text()
    text = text.replace('"vector_add",', '"vector_add", "double",')
    assert text.count("double") == 1
    ladder.write_text(text)
    return copy


def environment(course: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(course), "TILE_BY_TILE_HOME": str(course)}


@pytest.fixture(scope="module")
def found(course: Path) -> dict[str, Any]:
    """What step 6 and the verbs say in that copy, by name: an exit code and the text printed."""
    (course / "afterwards.py").write_text(AFTERWARDS)
    ran = subprocess.run(
        [sys.executable, "afterwards.py"],
        cwd=course,
        env=environment(course),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    result: dict[str, Any] = json.loads((course / "found.json").read_text())
    return result


class TestSixSteps:
    def test_sync_makes_the_stub_and_the_notebook(self, course: Path, found: dict[str, Any]) -> None:
        assert (found["sync"], found["sync again"]) == (0, 0)
        assert "2.0 * x" not in (course / "puzzles/double.py").read_text()
        assert (course / "notebooks/09_double.ipynb").is_file()

    def test_the_solution_passes(self, found: dict[str, Any]) -> None:
        assert found["solution"][0] == 0, found["solution"][1]

    def test_the_stub_is_not_attempted(self, found: dict[str, Any]) -> None:
        code, card = found["stub"]
        assert code == 1
        assert "hint" in card

    def test_there_is_a_film(self, course: Path, found: dict[str, Any]) -> None:
        assert found["film"][0] == 0, found["film"][1]
        assert "tbt-film" in (course / "double.html").read_text()

    def test_its_wrong_kernel_is_caught_and_named(self, found: dict[str, Any]) -> None:
        assert found["bank"][0] == 0, found["bank"][1]
        assert re.search(r"double\s+squares\s+values\s+values\s+squares", found["bank"][1])

    def test_slips_of_the_hand_are_made_and_judged(self, found: dict[str, Any]) -> None:
        assert found["slips"]["tl.store(y_ptr + offs_n, 3.0 * x, mask=mask)"] == "killed"
        assert set(found["slips"].values()) == {"killed"}

    def test_its_notebook_runs_solved(
        self, course: Path, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment(course).items():
            monkeypatch.setenv(name, value)
        notebook = nbformat.read(course / "notebooks/09_double.ipynb", as_version=4)
        fill_in(notebook, course / "solutions")
        notebook.cells.append(nbformat.v4.new_code_cell("[v.status for v in Out.values() if hasattr(v, 'gates')]"))
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(course / "notebooks")}}).execute()
        assert notebook.cells[-1].outputs[0].data["text/plain"] == "['passed']"


# ------------------------------------------------------------------------------------------------------------- the text


def test_the_text_has_six_steps_that_name_what_the_example_holds() -> None:
    section = TEXT.split("## Add a puzzle in six steps")[1].split("\n## ")[0]
    steps = re.findall(r"^\d\. (.*?)(?=^\d\. |\Z)", section, re.MULTILINE | re.DOTALL)
    assert len(steps) == 6
    for path in EXAMPLE.rglob("*.*"):
        assert str(path.relative_to(EXAMPLE)) in section, "the example has a file that the steps do not mention"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md"])
def test_every_path_it_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    paths = re.findall(r"`((?:solutions|checker|puzzles|notebooks|tests|docs|tools)/[\w./-]*)`", text)
    assert paths
    made = {"puzzles/double.py", "notebooks/09_double.ipynb"}  # by `make sync`
    made |= {"tests/misconceptions/correct/double.md"}  # "if you like": the example leaves it out
    assert [path for path in paths if not ((ROOT / path).exists() or (EXAMPLE / path).exists() or path in made)] == []


def mentions(names: set[str]) -> Iterator[str]:
    """Where the machinery has a name, or a string, that is one of these. (Its help may show one in an example.)"""
    excluded = {ROOT / "checker/course", ROOT / "checker/misconceptions"}
    for path in sorted([*(ROOT / "checker").rglob("*.py"), *(ROOT / "tools").glob("*.py")]):
        if excluded & set(path.parents):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.id if isinstance(node, ast.Name) else node.value if isinstance(node, ast.Constant) else None
            if name in names:
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def test_no_machinery_knows_a_puzzle_by_name() -> None:
    pictured = "tools/film_picture.py"  # the README's picture is of some puzzle
    found = mentions({name for puzzle in LADDER for name in (puzzle.name, puzzle.kernel)})
    assert [where for where in found if not where.startswith(pictured)] == []
