"""``python -m classroom``: the commands of grading and of teaching a class, on one level.

Exit codes: 0 done, 2 wrong usage, 3 it could not be done here, or not all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from checker.api.command_line import App, run
from classroom.grading import commands as grading
from classroom.workshop import commands as workshop

app = App(
    help="Grade a class, and teach one.",
    epilog="Exit status: 0 done, 2 wrong usage, 3 it could not be done here, or not all of it.",
)
grading.add_to(app)
workshop.add_to(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    return run(app, "python -m classroom", arguments)
