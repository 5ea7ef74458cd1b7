"""The verbs in a notebook's own kernel: what stands below each cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from checker.workspace import Workspace
from tests.verbs.conftest import ROOT

RIGHT = (ROOT / "solutions" / "vector_add.py").read_text().split('"""', 2)[2].strip()
CELLS = (
    "from checker import check, film, hint, progress, reset, doctor",
    RIGHT,
    'verdict = check(vector_add_kernel, device="cpu")',
    "verdict",
    "shot = film(vector_add_kernel, N=6)",
    "check('vector_add', device='cpu')",
    "progress()",
    "hint(vector_add_kernel)",
    "reset('vector_add')",
    "check(vector_add_kernel, device='cpu')",
    "film(vector_add_kernel)",
    "film(vector_add_kernel, N=0)",
)


Run = Callable[[Sequence[str]], list[list[Any]]]


@pytest.fixture
def run(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs cells in a notebook in the learner's folder, over errors, and gives the outputs of each."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))

    def executed(cells: Sequence[str]) -> list[list[Any]]:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
        folder = {"metadata": {"path": str(space.root)}}
        NotebookClient(notebook, timeout=240, allow_errors=True, resources=folder).execute()
        return [cell.outputs for cell in notebook.cells]

    return executed


def html(output: Any) -> str:
    return str(output.get("data", {}).get("text/html", ""))


def test_what_a_learner_sees(run: Run, space: Workspace) -> None:
    loaded, defined, *outputs = run(CELLS)
    checked, value, filmed, by_name, standing, hinted, done, again, controlled, impossible = outputs
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
    assert error["traceback"] == [error["evalue"]]
    assert "Filming" not in html(status), "nothing goes on any more"
    assert error["ename"] == "UsageError"

    (named,) = by_name
    assert "tbt-card good" in html(named), "a name means the kernel of the session"
    assert "Watch it and share it" in html(named)
    assert "tbt-film" in html(named)

    for panel in (standing, hinted, done, again):
        assert len(panel) == 1, "the panel, and nothing below it"
    assert "tbt-card" in html(again[0])
    assert "1 of" in html(standing[0])
    assert "Why it works" in html(hinted[0])
    assert "# your code starts here" in html(done[0])
    assert any("tbt-film" in html(output) for output in controlled)
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in controlled)

    (kept,) = (space.ours / "passed").iterdir()
    assert "def vector_add_kernel(" in kept.read_text()


def test_a_launch_runs_prints_tells_and_is_filmed(run: Run, space: Workspace) -> None:
    """A learner calls their kernel from PyTorch, as they would on a GPU."""
    make = "import torch\nx, z = torch.arange(10.0), torch.zeros(10)"
    launch = "vector_add_kernel[(3,)](x, x, z, 10, BLOCK_N=4)"
    wrong = RIGHT.replace("x + y, mask=mask", "x + y").replace(
        "    tl.store", '    tl.device_print("pid", pid)\n    tl.store'
    )
    outputs = run(
        (
            "from checker import film",
            RIGHT,
            f"{make}\n{launch}\nz.tolist()",
            f"with film():\n    {launch}",
            wrong,
            launch,
            launch,
            "vector_add_kernel[(3,)](x, x, z, BLOCK_N=4)",
            "film()",
        )
    )
    _, _, launched, filmed, _, told, again, refused, alone = outputs
    (value,) = launched
    assert value["data"]["text/plain"] == str([2.0 * i for i in range(10)])
    (film,) = filmed
    assert "vector_add_kernel, grid 3" in html(film)
    for shown in (told, again):
        printed, card = shown
        assert printed["text"].startswith("program 0 pid: 0\nprogram 1 pid: 1\n")
        assert "Store out of bounds" in html(card)
        assert "outside z (10 elements), for example z[10]" in html(card)
    (error,) = refused
    assert error["traceback"] == ["LaunchError: vector_add_kernel needs N, and the launch does not pass it."]
    (hint,) = alone
    assert "film needs a kernel" in hint["data"]["text/plain"]
