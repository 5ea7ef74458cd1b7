"""Check an unfinished kernel on the parts of its puzzle, up to one of them. This never counts as passing the puzzle."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from checker.checking import check_source
from checker.judge.outcome import Candidate
from checker.judge.rescales import count_rescales
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Launch, Puzzle, Scalar, Tensors
from checker.sandbox import Sandbox
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UsageError
from checker.view import display
from checker.view.panel import Cell, Panel


@dataclass(frozen=True)
class CheckedParts:
    """The parts that passed, in order, out of those up to `up_to`. `stopped` is the verdict of the first part that failed."""

    puzzle: str
    passed: tuple[str, ...]
    up_to: str
    stopped: Verdict | None = None

    def __repr__(self) -> str:
        done = ", ".join(self.passed) or "nothing yet"
        return (
            f"<{self.puzzle}, up to {self.up_to}: {done}{'; then it stopped' if self.up_to not in self.passed else ''}>"
        )


def check_parts(puzzle: Puzzle, source: KernelSource, only: str) -> CheckedParts:
    """Judge the parts of a puzzle in the simulator, from the first up to `only`, until one fails; show a line for each.

    Raises UsageError if the puzzle has no such part.
    """
    names = [part.name for part in puzzle.parts]
    if only not in names:
        advice = f"Its parts are {', '.join(names)}." if names else f"Check the whole kernel: check({puzzle.kernel})"
        raise UsageError(f"{puzzle.name} has no part called {only!r}. {advice}")
    passed: list[str] = []
    stopped: Verdict | None = None
    remark = ""
    with display.working(f"Checking {source.kernel}, up to {only} …") as area:
        judged = narrowed(puzzle, source)
        for part in puzzle.parts[: names.index(only) + 1]:
            if judged[part.name].cases:
                verdict = check_source(judged[part.name], source, "cpu", submission=source.origin)
                if not verdict.passed:
                    stopped = verdict
                    break
            if part.rescales is not None:
                enough, remark = count_rescales(Candidate(puzzle, source, Sandbox.shared()), part.rescales)
                if not enough:
                    break
            passed.append(part.name)
        if stopped is not None and stopped.status == "not_attempted":
            area.show(display.verdict_card(stopped))
        else:
            if stopped is not None:
                remark = "The card below shows what went wrong."
            area.show(_panel(puzzle, passed, only, remark))
            if stopped is not None:
                display.show(display.verdict_card(stopped))
    return display.shown(CheckedParts(puzzle.name, tuple(passed), only, stopped))


def _panel(puzzle: Puzzle, passed: list[str], up_to: str, remark: str) -> Panel:
    rows = []
    stopped = up_to not in passed
    for number, part in enumerate(puzzle.parts):
        if part.name in passed:
            mark = Cell("✓ passed", "good")
        elif stopped and number == len(passed):
            mark = Cell("✗ not yet", "bad")
        else:
            mark = Cell("· not checked", "soft")
        rows.append([Cell(part.name), mark, Cell(part.asks)])
    missing = puzzle.parts[len(passed)].name if len(passed) < len(puzzle.parts) else ""
    following = f"Next: {missing}." if missing and not stopped else ""
    whole = f"To pass the puzzle itself, run check({puzzle.kernel})."
    title = f"{puzzle.title}: {len(passed)} of {len(puzzle.parts)} parts"
    return Panel(title, rows=rows, footer=tuple(filter(None, (remark, following, whole))))


def narrowed(puzzle: Puzzle, source: KernelSource) -> dict[str, Puzzle]:
    """For each part, the puzzle with only the cases that are new in that part and the outputs judged there.

    A part has no cases if the parts before it were already judged on all of them, by the same outputs.
    """
    puzzles: dict[str, Puzzle] = {}
    judged: set[tuple[str, tuple[str, ...]]] = set()
    for part in puzzle.parts:
        outputs = tuple(o for o in puzzle.outputs if o in part.outputs or _mentions(source, o))
        new = [case for case in puzzle.cases if part.takes(case) and (case.name, outputs) not in judged]
        judged |= {(case.name, outputs) for case in new}
        launch = partial(_launch, puzzle, outputs)
        puzzles[part.name] = replace(puzzle, cases=tuple(new), outputs=outputs, launch=launch, huge=False)
    return puzzles


def _launch(
    puzzle: Puzzle, outputs: tuple[str, ...], case: Case, tensors: Tensors, meta: Mapping[str, Scalar]
) -> Launch:
    return replace(puzzle.launch(case, tensors, meta), outputs=outputs)


def _mentions(source: KernelSource, name: str) -> bool:
    """Whether the kernel's body uses a parameter."""
    try:
        tree = ast.parse(source.source)
    except SyntaxError:
        return True
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))
