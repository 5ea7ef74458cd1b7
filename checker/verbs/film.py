"""`film`: one launch at a small size in the simulator, with every event and the state beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from checker import workspace
from checker.checking import check_source
from checker.judge.launches import prepare
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import (
    UsageError,
    case_for,
    live_kernel,
    refuse_tiles_no_gpu_takes,
    sizes_as_usage_errors,
)
from checker.view import display
from checker.view.controls import film_controls
from checker.view.film import film_document, film_html

LARGEST = 1 << 20  # elements of one tensor, and programs of a grid: past that nobody could watch it
MOST_EVENTS = 20_000  # a film with more moments than this can neither be watched nor kept in a notebook
SMALLER = "It shows every step: a few dozen elements are enough."


@dataclass(frozen=True)
class Film:
    """A film that was shown. `html` is one self-contained fragment."""

    puzzle: str
    title: str
    html: str

    def save(self, path: str | Path) -> Path:
        """Write the film as a page of its own, for a browser."""
        target = Path(path)
        workspace.write_atomically(target, film_document(self.html, self.title))
        return target

    def __repr__(self) -> str:
        return f"<film of {self.puzzle}: keep it with .save('{self.puzzle}.html')>"


def film(kernel: Any, sizes: Mapping[str, Any]) -> Film | None:
    """Show the film of a live kernel; None where it cannot run, and then the card says why.

    In a notebook, and where no sizes are asked for, controls below it run the kernel again at others. Raises UsageError.
    """
    puzzle, source = live_kernel(kernel, "film")
    controls = display.in_notebook() and not sizes and bool(puzzle.film.choices)
    with display.working(f"Filming {source.kernel} …") as area:
        made = film_of(puzzle, source, sizes)
        if isinstance(made, Verdict):
            area.show(display.verdict_card(made))
            return None
        area.show(display.NOTHING if controls else film_output(made))
    if controls:
        _show_with_controls(puzzle, source, made)
    return display.shown(made)


def film_output(made: Film | Verdict) -> display.Output:
    """What is shown of a film: its page, or a line in a terminal; the card where there is a verdict instead."""
    if isinstance(made, Verdict):
        return display.verdict_card(made)
    return display.Output(lambda: made.html, lambda console: console.print(repr(made), markup=False))


def _show_with_controls(puzzle: Puzzle, source: KernelSource, first: Film) -> None:
    """The film, and below it the lists of sizes."""
    from IPython.display import display as show

    def run(case: Case) -> str:
        return first.html if case == puzzle.film.case else film_output(film_at(puzzle, source, case)).html()

    box = film_controls(source, puzzle, run)
    if box is not None:  # without ipywidgets the film has been shown all the same
        show(box)


def film_of(puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any]) -> Film | Verdict:
    """The film at the puzzle's own sizes, with `sizes` in their place where given; see `film_at`. Raises UsageError."""
    return film_at(puzzle, source, case_for(puzzle.name, sizes, puzzle.film.case))


def film_at(puzzle: Puzzle, source: KernelSource, case: Case) -> Film | Verdict:
    """The film of one case; the verdict instead where something is wrong with the kernel.

    Raises UsageError for sizes that the kernel cannot have or that nobody could watch.
    """
    if rules.is_untouched(source) or rules.violations(source, puzzle):
        return check_source(puzzle, source, "cpu", diagnose=False)  # stops at the source gate
    for name, value in {**case.sizes, **case.meta}.items():
        if value > LARGEST:
            raise UsageError(f"{name} = {value} is too large for a film. {SMALLER}")
    with sizes_as_usage_errors():
        launch = prepare(puzzle, case).launch
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    if any(tensor.numel() > LARGEST for tensor in tensors.values()):
        raise UsageError(f"These sizes are too large for a film. {SMALLER}")
    result = next(iter(Sandbox.shared().simulate(source, [launch], SimulateOptions(events=True, state=True))))
    if result.status != "passed" or result.trace is None:
        verdict = check_source(puzzle, source, "cpu", diagnose=False)
        if not verdict.passed:
            return verdict
        line = f" (line {source.locate(result.line)[1]})" if result.line is not None else ""
        why = result.message or result.status.replace("_", " ")
        raise UsageError(f"The kernel did not run to its end{line}: {why}")
    refuse_tiles_no_gpu_takes(puzzle, source, case, launch, result.trace)
    if len(result.trace.events) > MOST_EVENTS:
        raise UsageError(
            f"This film would have {len(result.trace.events):,} moments; {MOST_EVENTS:,} are the most. Choose smaller sizes."
        )
    title = f"{puzzle.title}: {source.kernel}, {case.name}"
    # inputs as they were (the job worked on copies), outputs as the kernel left them
    values = {name: result.tensors[name] if name in puzzle.outputs else tensor for name, tensor in tensors.items()}
    html = film_html(result.trace, puzzle, source, case=case, budget=puzzle.budget(case), title=title, values=values)
    return Film(puzzle.name, title, html)
