"""Every notebook runs from top to bottom: as it is shipped, and with the solutions put in."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode

from checker.course import LADDER
from checker.puzzle import Puzzle
from classroom.workshop.executed import fill_in
from tools import sync

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted({puzzle.notebook for puzzle in LADDER})
REPORT = """\
import json
_verdicts = [v for _, v in sorted(Out.items()) if hasattr(v, "gates") and hasattr(v, "status")]
print(json.dumps([[v.puzzle, v.status, {g.gate: g.status for g in v.gates}] for v in _verdicts]))
"""


def shipped(name: str) -> NotebookNode:
    """The notebook as `make sync` makes it, whatever a learner did to the file."""
    return nbformat.reads(sync.made(ROOT)[f"notebooks/{name}.ipynb"], as_version=4)


def solved(name: str) -> NotebookNode:
    """The same with every stub cell replaced by its solution."""
    notebook = shipped(name)
    stubs = {cell.id.removeprefix("stub-") for cell in notebook.cells if cell.id.startswith("stub-")}
    assert stubs == {puzzle.name for puzzle in puzzles_of(name)}
    fill_in(notebook, ROOT / "solutions")
    return notebook


def puzzles_of(notebook: str) -> list[Puzzle]:
    return [puzzle for puzzle in LADDER if puzzle.notebook == notebook]


def execute(notebook: NotebookNode) -> list[tuple[str, str, dict[str, str]]]:
    """Run every cell (an error in one raises); the puzzle, status and gates of each verdict, in order."""
    notebook.cells.append(nbformat.v4.new_code_cell(REPORT))
    # a share of the processors, see tests/conftest.py: a kernel takes all of them else
    threads = str(torch.get_num_threads())
    environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    for last in (False, False, True):
        client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(ROOT / "notebooks")}})
        try:
            client.execute(env=environment)
            break
        except RuntimeError as error:  # two kernels that start together may choose one port: no cell has run then
            if last or "Kernel died before replying" not in str(error):
                raise
    noise = [o.text for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.get("name") == "stderr"]
    assert noise == [], "a learner would see this in red"
    plain = [o["data"]["text/plain"] for c in notebook.cells for o in c.get("outputs", []) if "data" in o]
    assert [text for text in plain if len(text) > 300] == [], "a learner would have to scroll past this"
    return [tuple(row) for row in json.loads(notebook.cells[-1].outputs[0].text)]


def shown(notebook: NotebookNode, cell: str) -> str:
    """All HTML below the code cells that consist of `cell`."""
    outputs = [o for c in notebook.cells if c.cell_type == "code" and c.source == cell for o in c.outputs]
    return "".join(o["data"].get("text/html", "") for o in outputs if "data" in o)


@pytest.fixture(autouse=True)
def _learner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress goes to a folder of its own: running the tests must not count as solving the course."""
    monkeypatch.setenv("TILE_BY_TILE_HOME", str(tmp_path))


@pytest.mark.exhaustive
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_as_shipped(notebook: str) -> None:
    cells = shipped(notebook)
    verdicts = execute(cells)
    expected = {puzzle.name for puzzle in puzzles_of(notebook)}
    assert {(puzzle, status) for puzzle, status, _ in verdicts} == {(puzzle, "not_attempted") for puzzle in expected}
    for puzzle in puzzles_of(notebook):
        assert "tbt-card" in shown(cells, f"check({puzzle.kernel})")
        assert "<script" not in shown(cells, f"film({puzzle.kernel})"), "there is nothing to film yet"
        assert shown(cells, f"film({puzzle.kernel})"), "the empty stub is told what to do"


@pytest.mark.exhaustive
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_with_solutions(notebook: str) -> None:
    cells = solved(notebook)
    verdicts = execute(cells)
    assert {puzzle for puzzle, _, _ in verdicts} == {puzzle.name for puzzle in puzzles_of(notebook)}
    for _, status, gates in verdicts:
        assert status == "passed"
        assert {gates[gate] for gate in ("source", "compile", "values", "memory", "traffic")} == {"passed"}
    for puzzle in puzzles_of(notebook):
        assert "tbt-film" in shown(cells, f"film({puzzle.kernel})")


@pytest.mark.gpu
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_with_solutions_on_a_gpu(name: str) -> None:
    verdicts = execute(solved(name))
    assert verdicts
    for _, status, gates in verdicts:
        assert (status, gates["gpu"]) == ("passed", "passed")


def test_progress_of_a_learner_is_not_touched(tmp_path: Path) -> None:
    """What the tests above rely on: the folder named by the environment is the one that is written."""
    from checker import workspace

    assert workspace.find().root == tmp_path
