"""`film`: one launch at a small size in the simulator, with every event and the state beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from markupsafe import Markup

from checker import workspace
from checker.checking import check_source
from checker.course import PUZZLES
from checker.films.flaws import Flaws, WrongOutput
from checker.films.page import card_film, film_document, film_html, film_svg
from checker.judge.comparison import error_against
from checker.judge.launches import Prepared, prepare
from checker.judge.phrases import stopped
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UsageError, case_for, kernel_named, refuse_tiles_no_gpu_takes, sizes_as_usage_errors
from checker.view import display
from checker.view.card_content import failing_case, headline
from checker.view.controls import film_controls

LARGEST = 1 << 20  # elements of one tensor, and programs of a grid: past that nobody could watch it
MOST_EVENTS = 20_000  # a film with more moments than this can neither be watched nor kept in a notebook
SMALLER = "It shows every step: a few dozen elements are enough."


@dataclass(frozen=True)
class Film:
    """A film that was shown. `html` is one self-contained fragment, ``svg()`` an animated picture."""

    puzzle: str
    title: str
    html: str
    svg: Callable[[], str] = field(repr=False, compare=False)

    def save(self, path: str | Path) -> Path:
        """Write the film as a page of its own for a browser or, as a .svg, as a moving picture for a message."""
        target = Path(path)
        moving = target.suffix.lower() == ".svg"
        workspace.write_atomically(target, self.svg() if moving else film_document(self.html, self.title))
        return target

    def __repr__(self) -> str:
        return f"<film of {self.puzzle}: keep it with .save('{self.puzzle}.html')>"


def film(kernel: Any, sizes: Mapping[str, Any], case: str = "") -> Film | None:
    """Show the film of a kernel; None where it cannot run, and then the card says why.

    With the `case` "failing" it is the smallest case that fails. In a notebook, and where no case or size is given, controls below the film
    run the kernel again at other sizes. Raises UsageError.
    """
    puzzle, source = kernel_named(kernel, "film")
    controls = display.in_notebook() and not sizes and not case and bool(puzzle.film.choices)
    with display.working(f"Filming {source.kernel} …") as area:
        verdict = failing_verdict(puzzle, source)
        made = _asked_for(puzzle, source, sizes, case, verdict)
        area.show(film_output(made))
    if isinstance(made, Verdict):
        return None
    if controls:
        _show_controls(puzzle, source, verdict, area)
    return display.shown(made)


def film_output(made: Film | Verdict) -> display.Output:
    """What is shown of a film: its page, or a line in a terminal; the card where there is a verdict instead."""
    if isinstance(made, Verdict):
        return display.verdict_card(made)
    return display.Output(lambda: made.html, lambda console: console.print(repr(made), markup=False))


def folded(verdict: Verdict, source: KernelSource) -> str:
    """The film that belongs to a card, to be opened by one click: of the failing case, or of the kernel that passed.

    Empty where there is none: the kernel does not run, or nobody could watch it. Never raises: the verdict counts without a film.
    """
    puzzle = PUZZLES[verdict.puzzle]
    case = puzzle.film.case if verdict.passed else failing_case(verdict)
    if case is None:
        return ""
    try:
        made = film_at(puzzle, source, case, None if verdict.passed else verdict)
    except UsageError:
        return ""
    except Exception as error:  # a defect of ours
        return str(Markup("<p>There is no film of this case: {}: {}</p>").format(type(error).__name__, error))
    if isinstance(made, Verdict):
        return ""
    words = "Watch it and share it: the film of your kernel" if verdict.passed else "Watch it fail: the film of the smallest failing case"  # fmt: skip
    return str(card_film(words, made.html))


def film_of_failure(puzzle: Puzzle, source: KernelSource, seed: int | None = None) -> str:
    """The film of the smallest case that a kernel fails, to be opened by one click; empty if it passes or cannot be filmed.

    The kernel is judged again for it, with the cases of `seed`.
    """
    verdict = check_source(puzzle, source, "cpu", diagnose=False, seed=seed)
    return "" if verdict.passed else folded(verdict, source)


def _show_controls(puzzle: Puzzle, source: KernelSource, verdict: Verdict | None, area: display.OutputArea) -> None:
    from IPython.display import display as show

    def run(case: Case) -> str:
        return film_output(film_at(puzzle, source, case, verdict)).html()

    box = film_controls(source, puzzle, run, lambda html: area.show(display.Output(lambda: html, lambda console: None)))
    if box is not None:  # without ipywidgets the film has been shown all the same
        show(box)


def failing_verdict(puzzle: Puzzle, source: KernelSource) -> Verdict | None:
    """What is wrong with a kernel; None where it passes, which needs no check where it did before."""
    kept = (workspace.find().ours / "passed").glob(f"{puzzle.name}-*.py")
    if any(path.read_text("utf-8", errors="replace") == source.source for path in kept):
        return None
    verdict = check_source(puzzle, source, "cpu", diagnose=False)
    return None if verdict.passed or verdict.status in ("infra_error", "protocol_error") else verdict


def film_of(puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any], case: str = "") -> Film | Verdict:
    """The film at the puzzle's own sizes, or of the smallest ``"failing"`` case, with `sizes` in their place where given.

    The verdict where a kernel cannot run, or has no failing case. Raises UsageError, as `film_at` does, and for another `case`.
    """
    return _asked_for(puzzle, source, sizes, case, failing_verdict(puzzle, source))


def _asked_for(
    puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any], case: str, verdict: Verdict | None
) -> Film | Verdict:
    start = puzzle.film.case
    if case not in ("", "failing"):
        raise UsageError(f'case must be "failing", not {case!r}. Without it the film has the sizes of the course.')
    if case:
        if verdict is None:
            raise UsageError(f"{source.kernel} passes: there is no failing case to film.")
        found = failing_case(verdict)
        if found is None:
            return verdict
        start = found
    return film_at(puzzle, source, case_for(puzzle.name, sizes, start), verdict)


def film_at(puzzle: Puzzle, source: KernelSource, case: Case, verdict: Verdict | None = None) -> Film | Verdict:
    """The film of one case; the card instead where the kernel does not run.

    `verdict` is that of a kernel that does not pass: the film says so. It also says so where numbers of this case are wrong.

    Raises UsageError for sizes that the kernel cannot have or that nobody could watch.
    """
    if rules.is_untouched(source) or rules.violations(source, puzzle):
        return check_source(puzzle, source, "cpu", diagnose=False)  # stops at the source gate
    for name, value in {**case.sizes, **case.meta}.items():
        if value > LARGEST:
            raise UsageError(f"{name} = {value} is too large for a film. {SMALLER}")
    with sizes_as_usage_errors():
        prepared = prepare(puzzle, case)
    launch = prepared.launch
    tensors = {name: value for name, value in launch.arguments.items() if isinstance(value, torch.Tensor)}
    if any(tensor.numel() > LARGEST for tensor in tensors.values()):
        raise UsageError(f"These sizes are too large for a film. {SMALLER}")
    result = next(iter(Sandbox.shared().simulate(source, [launch], SimulateOptions(events=True, state=True))))
    if result.status != "passed" or result.trace is None:
        verdict = verdict or check_source(puzzle, source, "cpu", diagnose=False)
        if not verdict.passed:
            return verdict
        why = stopped(source, result.line, result.message or result.status.replace("_", " "))
        raise UsageError(f"The kernel did not run to its end: {why}")
    refuse_tiles_no_gpu_takes(puzzle, source, case, launch, result.trace)
    if len(result.trace.events) > MOST_EVENTS:
        raise UsageError(
            f"This film would have {len(result.trace.events):,} moments, and {MOST_EVENTS:,} are the limit. Choose smaller sizes."
        )
    title = f"{puzzle.title}: {source.kernel}, {case.name}"
    # inputs as they were (the job worked on copies), outputs as the kernel left them
    values = {name: result.tensors[name] if name in puzzle.outputs else tensor for name, tensor in tensors.items()}
    flaws = _flaws(puzzle, case, prepared, result.tensors, verdict)
    trace = result.trace
    html = film_html(
        trace, puzzle, source, case=case, budget=puzzle.budget(case), title=title, values=values, flaws=flaws
    )
    svg = partial(film_svg, trace, puzzle, source, case=case, title=title, values=values, flaws=flaws)
    return Film(puzzle.name, title, html, svg)


def _flaws(
    puzzle: Puzzle, case: Case, prepared: Prepared, after: Mapping[str, torch.Tensor], verdict: Verdict | None
) -> Flaws | None:
    """What the film says of a kernel that does not pass, or that is wrong here; None where nothing is."""
    outputs = {}
    for name in puzzle.outputs:
        wrong = ~(error_against(puzzle, case, name, after[name], prepared.expected[name]) <= 1)
        if bool(wrong.any()):
            expected = prepared.expected[name].expand(after[name].shape)
            outputs[name] = WrongOutput(*(t.double().numpy() if t.is_floating_point() else t.numpy() for t in (wrong, expected, after[name])))  # fmt: skip
    if verdict is None and not outputs:
        return None
    verdict_words = f"{headline(verdict)}." if verdict is not None else f"{puzzle.title} gives wrong numbers."
    verdict_words = f"This kernel does not pass. {verdict_words}"
    found = failing_case(verdict) if verdict is not None else None
    if not outputs and found is not None and found != case:
        verdict_words += f' In this case every number is right: `film(…, case="failing")` shows {found.name}.'
    return Flaws(verdict_words, outputs)
