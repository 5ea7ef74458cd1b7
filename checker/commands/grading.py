"""Commands of the grader: grade, mutants, puzzles."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.commands.codes import BROKEN, PASSED
from checker.commands.files import writable, write_json, writing
from checker.verbs.naming import UsageError

if TYPE_CHECKING:
    from checker.grading.mutants import Row
    from checker.grading.run import Graded
    from checker.puzzle import Puzzle


def grade(options: argparse.Namespace) -> int:
    from checker.course import LADDER
    from checker.grading import collect, keep, run
    from checker.sandbox import Sandbox

    if not options.paths:
        raise UsageError(
            "grade needs something to grade: python -m checker grade PATH…, with a .py, .ipynb, .zip or a folder"
        )
    if options.jobs < 1:
        raise UsageError(f"--jobs has to be at least 1, not {options.jobs}")
    writable(options.json)
    wanted = _wanted(options)
    found = collect.submissions([Path(path) for path in options.paths], wanted or LADDER)
    if not any(submission.entries for submission in found):
        raise UsageError(f"there is no .py, .ipynb or .zip to grade at {', '.join(options.paths)}")
    device = _resolved(options.device)
    if device is None:
        return BROKEN
    from checker.grading.report import Progress, summary

    with Progress(len(found), quiet=options.json == "-") as shown:
        batch = run.grade(
            found,
            wanted or LADDER,
            device,
            wanted=wanted,
            jobs=options.jobs if device == "cpu" else 1,
            diagnose=not options.no_diagnosis,
            report=shown.done,
        )
    if options.json != "-":
        summary(batch)
    _explain(batch.graded, batch.interrupted, len(found))
    if options.json is not None:
        facts = keep.environment(device, Sandbox.shared().tier)
        write_json(options.json, keep.document([(g.submission.name, g.verdicts) for g in batch.graded], facts))
    return batch.exit_code


def _explain(graded: Sequence[Graded], interrupted: bool, total: int) -> None:
    if interrupted:
        print(f"checker: stopped; {len(graded)} of {total} submissions were graded.", file=sys.stderr)
    empty = [g.submission.name for g in graded if not g.verdicts]
    if empty:
        print(f"checker: no kernel of the course in: {', '.join(empty)}", file=sys.stderr)


def mutants(options: argparse.Namespace) -> int:
    from checker.course import LADDER
    from checker.grading import keep, mutants
    from checker.grading.report import Progress, kill_table
    from checker.sandbox import Sandbox
    from checker.workspace import write_atomically

    puzzles = _wanted(options) or list(LADDER)
    if options.show is not None:
        return _show(options.show, puzzles)
    writable(options.json, options.markdown)
    device = _resolved(options.device)
    if device is None:
        return BROKEN
    total = sum(len(mutants.bank(puzzle.name)) for puzzle in puzzles)
    with Progress(total, quiet=options.json == "-") as shown:
        rows: list[Row] = mutants.kill_table(puzzles, device, report=shown.row)
    if options.json is not None:
        facts = keep.environment(device, Sandbox.shared().tier)
        write_json(options.json, mutants.document(rows, puzzles, device, facts))
    if options.markdown is not None:
        with writing(options.markdown):
            write_atomically(Path(options.markdown), mutants.markdown(rows, puzzles, device))
    if options.json != "-":
        kill_table(rows, device)
    if not rows:
        print("checker: no misconceptions are written down for these puzzles yet.", file=sys.stderr)
    return mutants.exit_code(rows)


def _show(name: str, puzzles: Sequence[Puzzle]) -> int:
    """Print one wrong kernel whole, in colours where the output is a terminal."""
    from rich.console import Console
    from rich.syntax import Syntax

    from checker.grading import mutants

    try:
        text = mutants.text(mutants.find(name, puzzles))
    except LookupError as missing:
        raise UsageError(str(missing.args[0])) from missing
    Console().print(Syntax("", "python", theme="ansi_dark").highlight(text), soft_wrap=True, end="")
    return PASSED


def list_puzzles(options: argparse.Namespace) -> int:
    from checker.course import LADDER

    if options.json is not None:
        puzzles = [
            {
                "name": p.name,
                "kernel": p.kernel,
                "parameters": list(p.parameters),
                "notebook": p.notebook,
                "points": p.points,
            }
            for p in LADDER
        ]
        write_json(options.json, {"schema": "puzzles/v1", "puzzles": puzzles})
        return PASSED
    from checker.verbs.panels import Cell, Panel

    rows = [[Cell(p.name), Cell(p.notebook, "soft"), Cell(str(p.points), number=True), Cell(p.title)] for p in LADDER]
    Panel("The ladder", heads=("puzzle", "notebook", "points", ""), rows=rows).show()
    return PASSED


def _wanted(options: argparse.Namespace) -> list[Puzzle]:
    from checker.verbs.naming import puzzle_named

    return [puzzle_named(name, options.verb) for name in dict.fromkeys(options.puzzle)]


def _resolved(asked: str) -> Any:
    """The device, or None, told, where the one that was asked for is not there: the machine's failing, not the user's."""
    from checker.checking import DeviceMissing, resolve_device

    try:
        return resolve_device(asked)
    except DeviceMissing as missing:
        print(f"checker: {missing}", file=sys.stderr)
        return None
