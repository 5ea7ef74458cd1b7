"""Predictions that were wrong come back: `progress` asks them again when the learner is two notebooks further."""

from __future__ import annotations

import json
import re

from checker.course import LADDER
from checker.verbs.progress_file import Progress
from checker.workspace import COURSE

NOTEBOOKS = COURSE / "notebooks"
ASKED = re.compile(r'predicted\(\s*"([^"]+)",\s*prediction,')
LATER = 2  # notebooks


def due(saved: Progress) -> list[tuple[str, str]]:
    """Questions to try again, each with its notebook, in the order of the course.

    They were answered wrong, never right since, and the next puzzle is two notebooks after them, or there is none.
    """
    order = list(dict.fromkeys(puzzle.notebook for puzzle in LADDER))
    ahead = next((puzzle.notebook for puzzle in LADDER if not saved.of(puzzle.name).passed), None)
    reached = len(order) + LATER if ahead is None else order.index(ahead)
    missed = {name for name, prediction in saved.predictions.items() if not prediction.right and not prediction.later}
    asked = ((name, notebook) for notebook in order[: max(0, reached - LATER + 1)] for name in _questions(notebook))
    return [(name, notebook) for name, notebook in asked if name in missed]


def _questions(notebook: str) -> list[str]:
    """The names of a notebook's predictions, in order; none where the file was moved."""
    path = NOTEBOOKS / f"{notebook}.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"] if path.exists() else []
    return [name for cell in cells for name in ASKED.findall("".join(cell["source"]))]
