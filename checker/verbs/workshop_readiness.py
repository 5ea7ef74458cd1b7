"""`doctor --workshop`: is this machine ready for a workshop? All that `doctor` examines, and one real check of a kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator

from checker import workspace
from checker.verbs.doctor import DoctorReport, HealthCheck, examine
from checker.verbs.machine import this_machine
from checker.view.panel import Panel

SLOW_CHECK = 20.0  # seconds of a warm check


def workshop_readiness() -> DoctorReport:
    """Show whether this machine is ready for a workshop. Takes half a minute."""
    report = examine(this_machine())
    if not any(check.level == "problem" for check in report):
        report = DoctorReport([*report, *_notebooks(), *_check()])
    panel = report.panel
    Panel("Is this machine ready for the workshop?", heads=panel.heads, rows=panel.rows, footer=()).show()
    print(answer(report))
    return report


def answer(report: DoctorReport) -> str:
    """The one line to read, and to send back."""
    if problems := ", ".join(check.what for check in report if check.level == "problem"):
        return f"NOT READY: {problems}. The command that fixes it is above. If it does not help, send all of this back."
    passed = next(check.message for check in report if check.what == "a check")
    return f"READY for the workshop: {passed}"


def _notebooks() -> Iterator[HealthCheck]:
    folder = workspace.find().root / "notebooks"
    if amount := len(list(folder.glob("*.ipynb"))):
        yield HealthCheck("notebooks", "ok", f"{amount} in {folder}")
    else:
        message = f"There are no notebooks in {folder}. Run this in the folder of the course."
        yield HealthCheck("notebooks", "problem", message)


def _check() -> Iterator[HealthCheck]:
    """The course's first solution, with a worker that is warm."""
    from checker.checking import check_source
    from checker.course import LADDER
    from checker.sandbox import Sandbox
    from checker.submission.from_path import from_path

    puzzle = LADDER[0]
    path = workspace.find().solution_file(puzzle.name)
    if path is None:
        yield HealthCheck("a check", "problem", "The folder solutions/ is missing. Fetch the course again.")
        return
    source = next(entry.source for entry in from_path(path, [puzzle]) if entry.source is not None)
    Sandbox.shared().worker.wait_ready()
    began = time.perf_counter()
    verdict = check_source(puzzle, source, "cpu", runner=Sandbox.shared())
    seconds = time.perf_counter() - began
    if not verdict.passed:
        yield HealthCheck("a check", "problem", f"The course's own {puzzle.name} did not pass here: {verdict.failure}")
    elif seconds > SLOW_CHECK:
        yield HealthCheck("a check", "warning", f"{puzzle.name} passed, and took {seconds:.0f} s. Plug the machine in.")
    else:
        yield HealthCheck("a check", "ok", f"{puzzle.name} passed in {seconds:.1f} s.")
