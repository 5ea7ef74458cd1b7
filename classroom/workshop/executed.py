"""Notebooks run with the course's solutions filled in, for the slides and the site."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from checker.api.room import CHECKER, Workspace, keep_copy, without_docstring

SUFFIXES = (".py", ".js", ".css")


def fill_in(notebook: NotebookNode, solutions: Path) -> None:
    """Put the course's solution into each cell that a learner would fill."""
    for cell in notebook.cells:
        name = f"{cell.id.removeprefix('stub-')}.py"
        path = next((path for path in (solutions / name, solutions / "launchers" / name) if path.is_file()), None)
        if cell.id.startswith("stub-") and path is not None:
            cell.source = without_docstring(path.read_text("utf-8")).strip("\n")


def executed(name: str, notebook: NotebookNode, root: Path, cache: Path) -> NotebookNode:
    """`notebook` with its outputs: from `cache` if the same code has run before, else run now in `root`/notebooks.

    Raises nbclient's CellExecutionError.
    """
    file = cache / f"{name}-{_fingerprint(notebook)}.ipynb"
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
    with tempfile.TemporaryDirectory() as home:  # so that it counts as nobody's progress
        for solution in (root / "solutions").glob("*.py"):  # as if a learner had solved all earlier notebooks
            keep_copy(Workspace(Path(home)).ours / "passed", solution.stem, solution.read_bytes())
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
    """A hash of what the outputs depend on: the notebook's code and the checker."""
    digest = hashlib.sha256("\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code").encode())
    for path in sorted(path for path in CHECKER.rglob("*.*") if path.suffix in SUFFIXES):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
