"""`make sync` makes puzzles and notebooks from their sources and never overwrites a learner's work."""

from __future__ import annotations

import ast
import shutil
from functools import cache
from pathlib import Path

import nbformat
import pytest

from tools import sync
from tools.mutants.sources import function_of

ROOT = Path(__file__).resolve().parent.parent
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.md"))


@cache
def made() -> dict[str, str]:
    return sync.made(ROOT)


@pytest.fixture(scope="module")
def small_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two notebooks and their puzzles, synced."""
    root = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "notebooks/src/figures", root / "notebooks/src/figures")
    (root / "solutions").mkdir()
    (root / "tools").mkdir()
    names = ["notebooks/src/first_cell.py", "notebooks/src/00_start_here.md", "notebooks/src/01_row_softmax.md"]
    for name in [*names, "solutions/vector_add.py", "solutions/row_softmax.py"]:
        shutil.copy(ROOT / name, root / name)
    assert sync.write(root, force=False) == []
    return root


@pytest.fixture
def course(small_course: Path, tmp_path: Path) -> Path:
    """A course as a learner has it, to work in."""
    return Path(shutil.copytree(small_course, tmp_path / "course"))


def run(course: Path, *arguments: str) -> int:
    return sync.main(["--root", str(course), *arguments])


def test_a_stub_is_the_solution_without_the_learners_region() -> None:
    for path in SOLUTIONS:
        solution, stub = path.read_text(), sync.stub(path.read_text())
        remaining = iter(solution.splitlines())
        assert all(line in remaining for line in stub.splitlines()), f"{path.stem}: solving must only add lines"
        ast.parse(stub)
        empty = [line.strip() for line in stub.splitlines()]
        start = next(i for i, line in enumerate(empty) if line.startswith("# your code starts here"))
        assert empty[start + 1] == "# your code ends here", path.stem
        lines = [line.strip() for line in solution.splitlines()]
        code = [line for line in lines[start + 1 : lines.index("# your code ends here")] if line and line[0] != "#"]
        promised = int(empty[start].split("about ")[1].split()[0])
        assert abs(promised - len(code)) <= max(2, promised // 4), f"{path.stem}: has {len(code)} lines"
        kernel = function_of(ast.parse(solution), f"{path.stem}_kernel")
        bare = [a.arg for a in kernel.args.args if "#" not in solution.splitlines()[a.lineno - 1]]
        assert bare == [], f"{path.stem}: parameters without a comment"


def test_it_names_every_file_that_has_to_be_committed(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solution = course / "solutions/vector_add.py"
    solution.write_text(solution.read_text().replace("number of elements", "how many elements"))
    for printed in (
        ["made puzzles/vector_add.py", "made notebooks/00_start_here.ipynb", "made tools/generated.json"],
        [],
    ):
        assert run(course) == 0
        assert capsys.readouterr().out.splitlines() == printed


def test_the_committed_puzzles_and_notebooks_are_up_to_date() -> None:
    assert SOURCES
    assert [state.path for state in sync.states(ROOT, made()) if state.stale] == [], "run `make sync`"
    assert set(sync.read_record(ROOT)) == set(made())
    assert sync.made(ROOT) == made(), "the same bytes every time"


class TestNotebooks:
    def test_are_clean_and_begin_with_a_title_and_the_first_cell(self) -> None:
        for source in SOURCES:
            text = made()[f"notebooks/{source.stem}.ipynb"]
            assert "](figures/" not in text, "figures are embedded"
            assert text.count("data:image/svg+xml;base64,") == source.read_text().count("](figures/")
            notebook = nbformat.reads(text, as_version=4)
            nbformat.validate(notebook)
            title, first = notebook.cells[:2]
            assert (title.cell_type, title.source[:2], first.id) == ("markdown", "# ", "first_cell")
            assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
            assert set(notebook.metadata) == {"kernelspec", "language_info", "workshop"}
            for cell in notebook.cells:
                assert "{{" not in cell.source, "a directive is left"
                assert "<!--" not in cell.source, "a marker is left"
                if cell.cell_type == "code":
                    assert (cell.outputs, cell.execution_count) == ([], None)
                    ast.parse(cell.source)


class TestWork:
    def test_an_edited_puzzle_is_left_alone(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        mine, solution = course / "puzzles/row_softmax.py", course / "solutions/row_softmax.py"
        mine.write_text(work := solution.read_text())
        assert run(course) == 1
        assert "puzzles/row_softmax.py was edited" in capsys.readouterr().err
        solution.write_text(solution.read_text().replace("# columns", "# columns of x"))
        assert run(course) == 1
        assert mine.read_text() == work

    def test_running_a_notebook_is_not_editing_it(self, course: Path) -> None:
        path = course / "notebooks/01_row_softmax.ipynb"
        notebook = nbformat.read(path, as_version=4)
        cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
        cell.outputs, cell.execution_count = [nbformat.v4.new_output("stream", text="ran\n")], 1
        nbformat.write(notebook, path)
        assert run(course, "--check") == 1, "outputs are not committed"
        assert run(course) == 0
        assert run(course, "--check") == 0

    def test_force_keeps_a_copy(self, course: Path) -> None:
        mine = course / "puzzles/row_softmax.py"
        stub = mine.read_text()
        for work in ("# first\n", "# second\n"):
            mine.write_text(work)
            assert run(course, "--force") == 0
            assert mine.read_text() == stub
        kept = {path.read_text() for path in (course / ".tile-by-tile/saved").glob("row_softmax-*.py")}
        assert kept == {"# first\n", "# second\n"}


class TestErrors:
    def test_a_broken_source_is_named(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        notebook = "notebooks/src/01_row_softmax.md"
        for file, old, new, message in (
            ("solutions/row_softmax.py", "# your code ends here", "", "solutions/row_softmax.py"),
            (notebook, "{{stub row_softmax}}", "{{stub row_sofmax}}", "row_sofmax"),
            (notebook, "{{first_cell}}", "{{frist_cell}}", "frist_cell"),
            (notebook, "figures/rows.svg", "figures/row.svg", "figures/row.svg"),
        ):
            path = course / file
            text = path.read_text()
            path.write_text(text.replace(old, new))
            assert run(course, "--check") == 1
            assert message in capsys.readouterr().err
            path.write_text(text)
