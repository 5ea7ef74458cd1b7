"""The verbs in a notebook's own kernel: what stands below each cell."""

from __future__ import annotations

import os
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from checker.workspace import Workspace
from tests.verbs.conftest import ROOT

RIGHT = (ROOT / "solutions" / "vector_add.py").read_text().split('"""', 2)[2]
CELLS = (
    "from checker import check, film, hint, progress, reset, doctor",
    RIGHT,
    'verdict = check(vector_add_kernel, device="cpu")',
    "verdict",
    "shot = film(vector_add_kernel, N=6)",
    "check('vector_add')",
    "progress()",
    "hint(vector_add_kernel)",
    "reset('vector_add')",
    "film(vector_add_kernel)",
    "film(vector_add_kernel, N=0)",
)


@pytest.fixture
def outputs(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    NotebookClient(
        notebook, timeout=240, allow_errors=True, resources={"metadata": {"path": str(space.root)}}
    ).execute()
    return [cell.outputs for cell in notebook.cells]


def html(output: Any) -> str:
    return str(output.get("data", {}).get("text/html", ""))


def test_what_a_learner_sees(outputs: list[list[Any]], space: Workspace) -> None:
    loaded, defined, checked, value, filmed, misused, standing, hinted, done, controlled, impossible = outputs
    assert (loaded, defined) == ([], [])

    (card,) = checked  # "Checking …" has become the card
    assert "tbt-card" in html(card)
    assert "Checking" not in html(card)
    assert "passed" in html(card)

    (repeated,) = value
    assert repeated["data"]["text/plain"] == "<vector_add: passed, 1 of 1 points>"

    (film,) = filmed
    assert "tbt-film" in html(film)
    assert "N = 6" in html(film)

    status, error = impossible
    assert "Filming" not in html(status), "nothing goes on any more"
    assert error["ename"] == "Misuse"

    (error,) = misused
    assert error["traceback"] == [error["evalue"]]
    assert "Without the quotation marks: check(vector_add_kernel)" in error["evalue"]

    assert "1 of" in html(standing[0])
    assert "Why it works" in html(hinted[0])
    assert "# your code starts here" in html(done[0])
    assert any("tbt-film" in html(output) for output in controlled)
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in controlled)

    (kept,) = (space.ours / "passed").iterdir()
    assert "def vector_add_kernel(" in kept.read_text()
