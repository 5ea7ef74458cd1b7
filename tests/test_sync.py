"""The puzzles and notebooks are what their sources make them, and nobody's work is overwritten."""

from __future__ import annotations

import ast
import json
import os
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


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
class TestStubs:
    def test_solving_only_ever_adds_lines(self, path: Path) -> None:
        solution = path.read_text().splitlines()
        remaining = iter(solution)
        stub = sync.stub(path.read_text()).splitlines()
        assert all(line in remaining for line in stub), "a line of the stub is not in the solution, in the same order"
        assert len(stub) < len(solution)

    def test_is_valid_python_with_an_empty_region(self, path: Path) -> None:
        stub = sync.stub(path.read_text())
        ast.parse(stub)
        lines = [line.strip() for line in stub.splitlines()]
        start = next(i for i, line in enumerate(lines) if line.startswith("# your code starts here"))
        assert lines[start + 1] == "# your code ends here"

    def test_says_how_long_the_solution_is(self, path: Path) -> None:
        lines = [line.strip() for line in path.read_text().splitlines()]
        start = next(i for i, line in enumerate(lines) if line.startswith("# your code starts here"))
        code = [line for line in lines[start + 1 : lines.index("# your code ends here")] if line and line[0] != "#"]
        promised = int(lines[start].split("about ")[1].split()[0])
        assert abs(promised - len(code)) <= max(2, promised // 4), "the stub promises another number of lines"

    def test_parameters_have_a_comment_each(self, path: Path) -> None:
        text = path.read_text()
        kernel = function_of(ast.parse(text), f"{path.stem}_kernel")
        bare = [a.arg for a in kernel.args.args if "#" not in text.splitlines()[a.lineno - 1]]
        assert bare == []


class TestRepository:
    def test_there_is_a_notebook_source(self) -> None:
        assert SOURCES

    def test_sync_was_run(self) -> None:
        stale = [s.path for s in sync.states(ROOT, made()) if s.stale]
        assert stale == [], "run make sync"

    @pytest.mark.skipif(os.environ.get("CI") != "true", reason="a learner's own copy holds their work")
    def test_nothing_generated_was_edited(self) -> None:
        assert sync.check(ROOT) == []

    def test_stamps_name_real_files_only(self) -> None:
        assert set(sync.read_record(ROOT)) == set(made())


class TestNotebooks:
    def test_the_same_bytes_every_time(self) -> None:
        assert sync.made(ROOT) == made()

    @pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
    def test_is_clean(self, source: Path) -> None:
        notebook = nbformat.reads(made()[f"notebooks/{source.stem}.ipynb"], as_version=4)
        nbformat.validate(notebook)
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
        assert set(notebook.metadata) == {"kernelspec", "language_info", "workshop"}
        assert notebook.metadata.kernelspec.name == "python3"
        for cell in notebook.cells:
            assert "{{" not in cell.source, "a directive was left"
            assert "<!--" not in cell.source, "a marker was left"
            if cell.cell_type == "code":
                assert cell.outputs == []
                assert cell.execution_count is None
                ast.parse(cell.source)

    @pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
    def test_opens_with_a_title_and_the_first_cell(self, source: Path) -> None:
        title, first = nbformat.reads(made()[f"notebooks/{source.stem}.ipynb"], as_version=4).cells[:2]
        assert title.cell_type == "markdown"
        assert title.source.startswith("# ")
        assert first.id == "first_cell"

    def test_ids_of_other_cells_survive_an_insertion(self, course: Path) -> None:
        source = course / "notebooks/src/01_row_softmax.md"
        before = [cell.id for cell in sync.notebook(source, course, sync.made(course)).cells]
        source.write_text(source.read_text().replace("## On paper", "A word more.\n\n\n## On paper"))
        after = [cell.id for cell in sync.notebook(source, course, sync.made(course)).cells]
        assert len(after) == len(before) + 1
        assert len(set(before) - set(after)) <= 1

    def test_figures_are_inside(self) -> None:
        for source in SOURCES:
            notebook = made()[f"notebooks/{source.stem}.ipynb"]
            assert "](figures/" not in notebook
            assert notebook.count("data:image/svg+xml;base64,") == source.read_text().count("](figures/")


class TestWork:
    def test_a_second_sync_changes_nothing(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        times = {path: path.stat().st_mtime_ns for path in course.rglob("*.ipynb")}
        assert run(course) == 0
        assert "made" not in capsys.readouterr().out
        assert times == {path: path.stat().st_mtime_ns for path in course.rglob("*.ipynb")}

    def test_an_edited_puzzle_is_left_alone(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        mine = course / "puzzles/row_softmax.py"
        mine.write_text((course / "solutions/row_softmax.py").read_text())
        work = mine.read_text()
        assert run(course) == 1
        assert mine.read_text() == work
        assert "puzzles/row_softmax.py was edited" in capsys.readouterr().err

    def test_an_edited_puzzle_is_left_alone_when_its_source_moves_on(self, course: Path) -> None:
        mine, solution = course / "puzzles/row_softmax.py", course / "solutions/row_softmax.py"
        mine.write_text(mine.read_text() + "# mine\n")
        solution.write_text(solution.read_text().replace("# columns", "# columns of x"))
        assert run(course) == 1
        assert mine.read_text().endswith("# mine\n")

    def test_an_untouched_puzzle_follows_its_source(self, course: Path) -> None:
        solution = course / "solutions/row_softmax.py"
        solution.write_text(solution.read_text().replace("# columns", "# columns of x"))
        assert run(course, "--check") == 1
        assert run(course) == 0
        assert "# columns of x" in (course / "puzzles/row_softmax.py").read_text()
        assert run(course, "--check") == 0

    def test_an_edited_cell_is_work_too(self, course: Path) -> None:
        path = course / "notebooks/01_row_softmax.ipynb"
        notebook = nbformat.read(path, as_version=4)
        next(cell for cell in notebook.cells if cell.id == "stub-row_softmax").source += "\n# mine"
        nbformat.write(notebook, path)
        work = path.read_bytes()
        assert run(course) == 1
        assert path.read_bytes() == work

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

    def test_a_damaged_notebook_is_left_alone(self, course: Path) -> None:
        path = course / "notebooks/01_row_softmax.ipynb"
        path.write_text("<<<<<<< half a merge")
        assert run(course) == 1
        assert path.read_text() == "<<<<<<< half a merge"


class TestErrors:
    def test_check_names_what_is_missing(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (course / "puzzles/vector_add.py").unlink()
        assert run(course, "--check") == 1
        assert "puzzles/vector_add.py is missing" in capsys.readouterr().err

    def test_check_names_what_is_made_from_nothing(self, course: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (course / "solutions/vector_add.py").unlink()
        source = course / "notebooks/src/00_start_here.md"
        source.write_text(source.read_text().replace("{{stub vector_add}}", "pass"))
        assert run(course, "--check") == 1
        assert "puzzles/vector_add.py is made from nothing" in capsys.readouterr().err

    def test_check_writes_nothing(self, course: Path) -> None:
        (course / "puzzles/vector_add.py").unlink()
        before = json.loads((course / sync.RECORD).read_text())
        run(course, "--check")
        assert not (course / "puzzles/vector_add.py").exists()
        assert json.loads((course / sync.RECORD).read_text()) == before

    @pytest.mark.parametrize(
        ("file", "old", "new", "said"),
        [
            ("solutions/row_softmax.py", "# your code ends here", "", "solutions/row_softmax.py"),
            ("notebooks/src/01_row_softmax.md", "{{stub row_softmax}}", "{{stub row_sofmax}}", "row_sofmax"),
            ("notebooks/src/01_row_softmax.md", "{{first_cell}}", "{{frist_cell}}", "frist_cell"),
            ("notebooks/src/01_row_softmax.md", "figures/rows.svg", "figures/row.svg", "figures/row.svg"),
        ],
        ids=["no end marker", "unknown stub", "unknown directive", "unknown figure"],
    )
    def test_a_broken_source_is_named(
        self, course: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, said: str
    ) -> None:
        path = course / file
        path.write_text(path.read_text().replace(old, new))
        assert run(course, "--check") == 1
        assert said in capsys.readouterr().err

    def test_no_solutions_is_an_error_and_not_an_empty_success(self, course: Path) -> None:
        shutil.rmtree(course / "solutions")
        assert run(course, "--check") == 1
