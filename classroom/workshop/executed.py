"""Notebooks that have run with the course's solutions filled in: what slides and the site show."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from checker import workspace
from checker.submission.marked_region import without_docstring

CHECKER = Path(__file__).resolve().parent.parent
IN = (".py", ".js", ".css")


def fill_in(notebook: NotebookNode, solutions: Path) -> None:
    """Put the course's solution into each cell that a learner would fill."""
    for cell in notebook.cells:
        path = solutions / f"{cell.id.removeprefix('stub-')}.py"
        if cell.id.startswith("stub-") and path.is_file():
            cell.source = without_docstring(path.read_text("utf-8")).strip("\n")


def executed(name: str, notebook: NotebookNode, root: Path, kept: Path) -> NotebookNode:
    """`notebook` with its outputs: run now in `root`/notebooks, or from `kept`, where the same code has run before.

    Raises nbclient's CellExecutionError.
    """
    file = kept / f"{name}-{_fingerprint(notebook)}.ipynb"
    if not file.exists():
        _run(name, notebook, root, file)
    ran = (cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = next(ran).outputs
    return notebook


def _run(name: str, notebook: NotebookNode, root: Path, file: Path) -> None:
    from nbclient import NotebookClient

    print(f"running {name}", flush=True)
    with tempfile.TemporaryDirectory() as home:  # nothing of this counts as somebody's progress
        for solution in (root / "solutions").glob("*.py"):  # of a learner who solved every notebook before this one
            workspace.keep_copy(workspace.Workspace(Path(home)).ours / "passed", solution.stem, solution.read_bytes())
        client = NotebookClient(
            notebook,
            timeout=600,
            resources={"metadata": {"path": str(root / "notebooks")}},
            extra_arguments=["--log-level=ERROR"],
        )
        path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
        client.execute(env=os.environ | {"TILE_BY_TILE_HOME": home, "PYTHONPATH": path})
    file.parent.mkdir(parents=True, exist_ok=True)
    for old in file.parent.glob(f"{name}-*.ipynb"):
        old.unlink()
    file.write_text(nbformat.writes(notebook).replace(f"{home}/", ""), "utf-8")


def _fingerprint(notebook: NotebookNode) -> str:
    """What the outputs of a notebook depend on: its code and the checker."""
    digest = hashlib.sha256("\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code").encode())
    for path in sorted(path for path in CHECKER.rglob("*.*") if path.suffix in IN):
        room = path.relative_to(CHECKER).parts[0]
        if room not in ("workshop", "grading", "teach_class.py") or path == Path(__file__):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
