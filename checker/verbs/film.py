"""`film`: simulate one launch at a small size, and show every load and store with the kernel's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from markupsafe import Markup

from checker import workspace
from checker.checking import check_source
from checker.course import PUZZLES
from checker.films.flaws import Flaws, WrongOutput
from checker.films.page import card_film, film_document, film_html
from checker.judge.comparison import error_against
from checker.judge.factors import described
from checker.judge.launches import Prepared, prepare
from checker.judge.phrases import stopped
from checker.judge.runner import Runner, RunResult
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Launch, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UsageError, case_for, kernel_named, refuse_tiles_no_gpu_takes, sizes_as_usage_errors
from checker.view import display
from checker.view.card_content import failing_case, headline
from checker.view.controls import film_controls

LARGEST = 1 << 20  # elements of a tensor, programs of a grid
MOST_EVENTS = 20_000  # a longer film is too long to watch and too large for a notebook
SMALLER = "A film shows every step, so a few dozen elements are enough."


@dataclass(frozen=True)
class Film:
    """A film; `html` is a self-contained fragment."""

    puzzle: str
    title: str
    html: str

    def save(self, path: str | Path) -> Path:
        """Write the film to an .html file, as a page for a browser. Raises UsageError for another kind of file."""
        if Path(path).suffix not in (".html", ".htm"):
            raise UsageError(f"A film is a page for a browser: save it as {Path(path).with_suffix('.html')}.")
        workspace.write_atomically(Path(path), film_document(self.html, self.title))
        return Path(path)

    def __repr__(self) -> str:
        return f"<film of {self.puzzle}: save it with .save('{self.puzzle}.html')>"


def film(kernel: Any, sizes: Mapping[str, Any], case: str = "") -> Film | None:
    """Show the film of a kernel. If the kernel cannot run, show its card and return None.

    The `case` "failing" is the one on the card. In a notebook, if no case or size is given, controls below the film run
    the kernel again at other sizes. Raises UsageError.
    """
    puzzle, source = kernel_named(kernel, "film")
    controls = display.in_notebook() and not sizes and not case and bool(puzzle.film.choices)
    with display.working(f"Filming {source.kernel} …") as area:
        verdict = failing_verdict(puzzle, source)
        result = _film(puzzle, source, sizes, case, verdict)
        area.show(film_output(result))
    if isinstance(result, Verdict):
        return None
    if controls:
        _show_controls(puzzle, source, verdict, area)
    return display.shown(result)


def film_output(result: Film | Verdict) -> display.Output:
    """How to show a film (in a terminal, as a line of text), or the verdict in its place."""
    if isinstance(result, Verdict):
        return display.verdict_card(result)
    return display.Output(lambda: result.html, lambda console: console.print(repr(result), markup=False))


def folded(verdict: Verdict, source: KernelSource, runner: Runner | None = None) -> str:
    """The folded film below a card: of the failing case, or of a passing kernel.

    It is empty if the kernel does not run or the film would be too large. Never raises, because the verdict matters more.
    """
    puzzle = PUZZLES.get(verdict.puzzle)
    if puzzle is None:  # a launcher, whose kernels have films
        return ""
    case = puzzle.film.case if verdict.passed else failing_case(verdict)
    if case is None:
        return ""
    try:
        result = film_at(puzzle, source, case, None if verdict.passed else verdict, runner)
    except UsageError:
        return ""
    except Exception as error:  # a bug of ours
        return str(Markup("<p>There is no film of this case: {}: {}</p>").format(type(error).__name__, error))
    if isinstance(result, Verdict):
        return ""
    failing, passing = "Watch it fail: the case above", "Watch it and share it: the film of your kernel"
    return str(card_film(passing if verdict.passed else failing, result.html))


def film_of_failure(puzzle: Puzzle, source: KernelSource, seed: int | None = None) -> str:
    """Judge a kernel again with the cases of `seed`, and return its `folded` film; empty if it passes."""
    verdict = check_source(puzzle, source, "cpu", diagnose=False, seed=seed)
    return "" if verdict.passed else folded(verdict, source)


def _show_controls(puzzle: Puzzle, source: KernelSource, verdict: Verdict | None, area: display.OutputArea) -> None:
    from IPython.display import display as show

    def run(case: Case) -> str:
        return film_output(film_at(puzzle, source, case, verdict)).html()

    box = film_controls(source, puzzle, run, lambda html: area.show(display.Output(lambda: html, lambda console: None)))
    if box is not None:  # ipywidgets is installed
        show(box)


def failing_verdict(puzzle: Puzzle, source: KernelSource) -> Verdict | None:
    """The verdict on a failing kernel; None if it passes, or passed before."""
    kept = (workspace.find().ours / "passed").glob(f"{puzzle.name}-*.py")
    if any(path.read_text("utf-8", errors="replace") == source.source for path in kept):
        return None
    verdict = check_source(puzzle, source, "cpu", diagnose=False)
    return None if verdict.passed or verdict.status in ("infra_error", "protocol_error") else verdict


def film_of(puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any], case: str = "") -> Film | Verdict:
    """The film at the puzzle's film sizes or, with `case`, of the ``"failing"`` case of its card; `sizes` replace some of them.

    If the kernel cannot run, it is the verdict instead. Raises UsageError.
    """
    return _film(puzzle, source, sizes, case, failing_verdict(puzzle, source))


def _film(
    puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any], case: str, verdict: Verdict | None
) -> Film | Verdict:
    start = puzzle.film.case
    if case not in ("", "failing"):
        raise UsageError(f'case must be "failing" or left out, not {case!r}.')
    if case:
        if verdict is None:
            raise UsageError(f"{source.kernel} passes: there is no failing case to film.")
        failing = failing_case(verdict)
        if failing is None:
            return verdict
        start = failing
    return film_at(puzzle, source, case_for(puzzle.name, sizes, start), verdict)


def film_at(
    puzzle: Puzzle, source: KernelSource, case: Case, verdict: Verdict | None = None, runner: Runner | None = None
) -> Film | Verdict:
    """The film of one case, or the verdict if the kernel does not run.

    The film marks wrong numbers in this case. With the `verdict` on a failing kernel, it also says that the kernel fails.
    `runner` defaults to the shared sandbox, as in `check_source`. Raises UsageError for impossible sizes and for those too large to watch.
    """
    if rules.is_untouched(source) or rules.violations(source, puzzle):
        return check_source(puzzle, source, "cpu", diagnose=False, runner=runner)  # stops at the source gate
    for name, value in {**case.sizes, **case.meta}.items():
        if value > LARGEST:
            raise UsageError(f"{name} = {value} is too large for a film. {SMALLER}")
    with sizes_as_usage_errors():
        prepared = prepare(puzzle, case)
    launch = prepared.launch
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    if any(tensor.numel() > LARGEST for tensor in tensors.values()):
        raise UsageError(f"These sizes are too large for a film. {SMALLER}")
    result = _simulated(source, launch, runner)
    if result.status != "passed" or result.trace is None:
        verdict = verdict or check_source(puzzle, source, "cpu", diagnose=False, runner=runner)
        if not verdict.passed:
            return verdict
        why = stopped(source, result.line, result.message or result.status.replace("_", " "))
        raise UsageError(f"The kernel did not finish: {why}")
    refuse_tiles_no_gpu_takes(puzzle, source, case, launch, result.trace)
    if len(result.trace.events) > MOST_EVENTS:
        raise UsageError(
            f"This film would have {len(result.trace.events):,} steps, but the limit is {MOST_EVENTS:,}. Choose smaller sizes."
        )
    title = f"{puzzle.title}: {described(case)}"
    # inputs from before the launch, outputs from after it
    values = {name: result.tensors[name] if name in puzzle.outputs else tensor for name, tensor in tensors.items()}
    flaws = _flaws(puzzle, case, prepared, result.tensors, verdict)
    budget = puzzle.budget(case)
    html = film_html(result.trace, puzzle, source, case=case, budget=budget, title=title, values=values, flaws=flaws)
    return Film(puzzle.name, title, html)


def _simulated(source: KernelSource, launch: Launch, runner: Runner | None) -> RunResult:
    if runner is None:
        from checker.sandbox import Sandbox

        runner = cast(Runner, Sandbox.shared())
    return next(iter(runner.simulate(source, [launch], SimulateOptions(events=True, state=True))))


def _flaws(
    puzzle: Puzzle, case: Case, prepared: Prepared, after: Mapping[str, torch.Tensor], verdict: Verdict | None
) -> Flaws | None:
    """What the film says about a failing kernel or wrong numbers in this case; None if all is well."""
    outputs = {}
    for name in puzzle.outputs:
        wrong = ~(error_against(puzzle, case, name, after[name], prepared.expected[name]) <= 1)
        if bool(wrong.any()):
            expected = prepared.expected[name].expand(after[name].shape)
            planes = (t.double() if t.is_floating_point() else t for t in (wrong, expected, after[name]))
            outputs[name] = WrongOutput(*(plane.numpy() for plane in planes))
    if verdict is None and not outputs:
        return None
    reason = f"{headline(verdict)}." if verdict is not None else f"{puzzle.title} gives wrong numbers."
    text = f"This kernel does not pass. {reason}"
    failing = failing_case(verdict) if verdict is not None else None
    if not outputs and failing is not None and failing != case:
        text += f' In this case every number is right: `film(…, case="failing")` shows {failing.name}.'
    return Flaws(text, outputs)
