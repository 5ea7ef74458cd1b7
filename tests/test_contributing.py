"""CONTRIBUTING.md says how to add a puzzle. This keeps it true, for the example in it and for every puzzle there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.course import LADDER
from checker.puzzle import Puzzle
from tests.written import UNWRITTEN, WRITTEN

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLE = "row_softmax"


def steps() -> list[str]:
    section = TEXT.split("## Add a puzzle in six steps")[1].split("\n## ")[0]
    return re.findall(r"^\d\. (.*?)(?=^\d\. |\Z)", section, re.MULTILINE | re.DOTALL)


def files_of(puzzle: Puzzle) -> dict[str, Path]:
    """What the six steps make for a puzzle, by what CONTRIBUTING.md calls it for the example."""
    return {
        f"solutions/{EXAMPLE}.py": ROOT / "solutions" / f"{puzzle.name}.py",
        f"checker/course/{EXAMPLE}.py": ROOT / "checker/course" / f"{puzzle.name}.py",
        f"notebooks/src/01_{EXAMPLE}.md": ROOT / "notebooks/src" / f"{puzzle.notebook}.md",
        f"puzzles/{EXAMPLE}.py": ROOT / "puzzles" / f"{puzzle.name}.py",
    }


def test_there_are_six_steps() -> None:
    assert len(steps()) == 6


def test_every_path_it_names_exists() -> None:
    paths = re.findall(r"`((?:solutions|checker|puzzles|notebooks|tests|docs|tools)/[\w./-]*)`", TEXT)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
class TestEveryPuzzle:
    def test_consists_of_what_the_steps_make(self, puzzle: Puzzle) -> None:
        for name, path in files_of(puzzle).items():
            assert name in TEXT, "a file of every puzzle that the steps do not mention"
            assert path.is_file() or (puzzle.notebook in UNWRITTEN and path.suffix == ".md")

    def test_names_what_it_should_name(self, puzzle: Puzzle) -> None:
        tree = ast.parse((ROOT / "solutions" / f"{puzzle.name}.py").read_text())
        kernel = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == puzzle.kernel)
        assert puzzle.kernel == f"{puzzle.name}_kernel"
        assert tuple(argument.arg for argument in kernel.args.args) == puzzle.parameters

    def test_no_machinery_knows_it_by_name(self, puzzle: Puzzle) -> None:
        assert list(mentions(puzzle.name)) == []


@pytest.mark.parametrize("puzzle", WRITTEN, ids=lambda p: p.name)
def test_its_stub_is_in_its_notebook(puzzle: Puzzle) -> None:
    assert f"{{{{stub {puzzle.name}}}}}" in (ROOT / "notebooks/src" / f"{puzzle.notebook}.md").read_text()
    assert (ROOT / "notebooks" / f"{puzzle.notebook}.ipynb").is_file()


def mentions(puzzle: str) -> Iterator[str]:
    """Where the machinery has a name, or a string, that is a puzzle's. (Its help may show one in an example.)"""
    asked = {ROOT / "checker/course", ROOT / "checker/misconceptions"}
    for path in sorted((ROOT / "checker").rglob("*.py")):
        if asked & set(path.parents):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = node.id if isinstance(node, ast.Name) else node.value if isinstance(node, ast.Constant) else None
            if name in (puzzle, f"{puzzle}_kernel"):
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


def test_a_mention_would_be_noticed() -> None:
    """`mentions` does find things: `Puzzle` is in every room."""
    assert list(mentions("Puzzle"))
