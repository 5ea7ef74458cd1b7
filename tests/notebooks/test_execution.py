"""Notebooks run from top to bottom, as shipped and with the solutions filled in. `make test-all` runs every one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode

from checker import workspace
from checker.course.launchers import JUDGED
from checker.puzzle import Puzzle
from classroom.workshop.executed import fill_in
from tools import sync

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks" / "src").glob("*.md"))
REPORT = """\
import json
_verdicts = [v for _, v in sorted(Out.items()) if hasattr(v, "gates") and hasattr(v, "status")]
print(json.dumps([[v.puzzle, v.status, {g.gate: g.status for g in v.gates}] for v in _verdicts]))
"""


def shipped(name: str) -> NotebookNode:
    """The notebook as `make sync` writes it, whatever a learner did to the file."""
    return nbformat.reads(sync.made(ROOT)[f"notebooks/{name}.ipynb"], as_version=4)


def solved(name: str) -> NotebookNode:
    """The notebook with every stub replaced by its solution."""
    notebook = shipped(name)
    stubs = {cell.id.removeprefix("stub-") for cell in notebook.cells if cell.id.startswith("stub-")}
    assert stubs == {puzzle.name for puzzle in puzzles_of(name)}
    fill_in(notebook, ROOT / "solutions")
    return notebook


def puzzles_of(notebook: str) -> list[Puzzle]:
    return [puzzle for puzzle in JUDGED.values() if puzzle.notebook == notebook]


def execute(notebook: NotebookNode) -> list[tuple[str, str, dict[str, str]]]:
    """Run every cell and return puzzle, status and gates of each verdict. Raises the first error of a cell."""
    notebook.cells.append(nbformat.v4.new_code_cell(REPORT))
    # as in tests/conftest.py: otherwise each kernel uses every processor
    threads = str(torch.get_num_threads())
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    for last in (False, False, True):
        client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(ROOT / "notebooks")}})
        try:
            client.execute(env=environment)
            break
        except RuntimeError as error:  # two kernels that start together may choose the same port; no cell has run then
            if last or "Kernel died before replying" not in str(error):
                raise
    noise = [o.text for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.get("name") == "stderr"]
    assert noise == [], "a learner would see this in red"
    plain = [o["data"]["text/plain"] for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    assert [text for text in plain if len(text) > 300] == [], "a learner would have to scroll past this"
    return [tuple(row) for row in json.loads(notebook.cells[-1].outputs[0].text)]


def shown(notebook: NotebookNode, cell: str) -> str:
    """The HTML outputs of the code cells whose source is `cell`."""
    outputs = [o for c in notebook.cells if c.cell_type == "code" and c.source == cell for o in c.outputs]
    return "".join(o["data"].get("text/html", "") for o in outputs if "data" in o)


@pytest.fixture(autouse=True)
def _learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress goes to a folder of its own: running the tests must not count as solving the course."""
    monkeypatch.setenv("TILE_BY_TILE_HOME", str(tmp_path))
    assert workspace.find().root == tmp_path


def run_as_shipped(notebook: str) -> None:
    cells = shipped(notebook)
    verdicts = execute(cells)
    assert {(puzzle, status) for puzzle, status, _ in verdicts} == {
        (puzzle.name, "not_attempted") for puzzle in puzzles_of(notebook)
    }
    for puzzle in puzzles_of(notebook):
        assert "tbt-card" in shown(cells, f"check({puzzle.kernel})")
        if puzzle.launcher is None:
            film = shown(cells, f"film({puzzle.kernel})")
            assert film, "an empty stub gets a message instead of a film"
            assert "<script" not in film


def run_with_solutions(notebook: str) -> None:
    cells = solved(notebook)
    verdicts = execute(cells)
    assert {puzzle for puzzle, _, _ in verdicts} == {puzzle.name for puzzle in puzzles_of(notebook)}
    for _, status, gates in verdicts:
        assert status == "passed"
        assert {gates[gate] for gate in ("source", "compile", "values", "memory", "traffic")} == {"passed"}
    for puzzle in (one for one in puzzles_of(notebook) if one.launcher is None):
        assert "tbt-film" in shown(cells, f"film({puzzle.kernel})")


def test_one_notebook_runs_as_shipped_and_with_its_solution() -> None:
    run_as_shipped("01_row_softmax")
    run_with_solutions("01_row_softmax")


@pytest.mark.gpu
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_with_solutions_on_a_gpu(name: str) -> None:
    verdicts = execute(solved(name))
    assert {puzzle for puzzle, *_ in verdicts} == {puzzle.name for puzzle in puzzles_of(name)}
    for _, status, gates in verdicts:
        assert (status, gates["gpu"]) == ("passed", "passed")
