"""What the verbs do. `checker/__init__.py` and `checker/cli.py` are two ways to call them; heavy rooms are imported here, late."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from checker import workspace
from checker.verbs import display, hints, naming, panels, progress
from checker.verbs.naming import UsageError
from checker.verbs.returned import Film, Report, Standing
from checker.verbs.showing import WRITABLE, bench_and_show, check_and_show, film_at, film_of, show_card, xray_and_show

if TYPE_CHECKING:
    from checker.judge.verdict import Verdict
    from checker.puzzle import Case, Puzzle
    from checker.submission.kernel import KernelSource
    from checker.verbs.resetting import Reset


def check(kernel: Any, device: str = "auto") -> Verdict:
    """Judge a live kernel, show its card, keep count."""
    puzzle, source = live(kernel, "check")
    return check_and_show(puzzle, source, device)


def film(kernel: Any, sizes: Mapping[str, Any]) -> Film | None:
    """Show the film of a live kernel; None where it cannot run, and then the card says why.

    In a notebook, and where no sizes are asked for, controls below it run the kernel again at others.
    """
    puzzle, source = live(kernel, "film")
    controls = display.in_notebook() and not sizes and bool(puzzle.film.choices)
    with display.working(f"Filming {source.kernel} …") as card:
        made = film_of(puzzle, source, sizes)
        if not isinstance(made, Film):
            show_card(card, made)
            return None
        card.show(lambda: "" if controls else made.html, lambda console: console.print(repr(made), markup=False))
    if controls:
        _show_with_controls(puzzle, source, made)
    return display.shown(made)


def _show_with_controls(puzzle: Puzzle, source: KernelSource, first: Film) -> None:
    """The film, and below it the lists of sizes."""
    from IPython.display import display as show

    from checker.view.controls import film_controls

    def run(case: Case) -> str:
        if case == puzzle.film.case:
            return first.html
        made = film_at(puzzle, source, case)
        if isinstance(made, Film):
            return made.html
        from checker.view.card import card_html

        return card_html(made)

    box = film_controls(source, puzzle, run)
    if box is not None:  # without ipywidgets the film has been shown all the same
        show(box)


def xray(kernel: Any, wanted: Mapping[str, Any]) -> panels.Panel:
    """Show what the compiler makes of a live kernel on each GPU of the course."""
    puzzle, source = live(kernel, "xray")
    return xray_and_show(puzzle, source, wanted)[0]


def bench(kernel: Any) -> panels.Panel | Verdict:
    """Time a live kernel on the GPU of this machine."""
    puzzle, source = live(kernel, "bench")
    return bench_and_show(puzzle, source)


def hint(what: Any, level: int | str | None = None) -> hints.Help:
    """Show the next hint of a puzzle, or the one asked for."""
    _need("torch")
    puzzle = naming.puzzle_named(what, "hint")
    try:
        asked = hints.level_number(level)
    except ValueError as error:
        raise UsageError(str(error)) from None
    space = workspace.find()
    shown = hints.next_level(progress.load(space).of(puzzle.name), asked)
    told = hints.help_for(puzzle, shown, space)
    counted = shown if shown <= len(hints.LEVELS) else 0  # the explanation after passing is no help
    after = progress.update(space, puzzle.name, lambda old: replace(old, hints=max(old.hints, counted)))
    panels.hint_panel(told, after.messages).show()
    return display.shown(told)


def show_progress() -> Standing:
    """Show what was tried and solved, and what comes next."""
    _need("torch")
    from checker.course import LADDER

    space = workspace.find()
    saved = progress.load(space)
    panels.progress_panel(LADDER, saved, str(space.ours)).show()
    passed = [p for p in LADDER if saved.of(p.name).passed]
    ahead = panels.next_puzzle(LADDER, saved)
    points = sum(p.points for p in passed)
    return display.shown(Standing(len(passed), len(LADDER), points, ahead.name if ahead else None))


def reset(what: Any) -> Reset:
    """Put a puzzle's stub back, after saving what stood in its file."""
    _need("torch")
    from checker.verbs import resetting

    puzzle = naming.puzzle_named(what, "reset")
    space = workspace.find()
    try:
        done = resetting.reset(puzzle.name, space)
    except OSError as error:
        raise UsageError(f"{puzzle.name} was not reset, and nothing was changed: {error}. {WRITABLE}") from None
    panels.reset_panel(done, resetting.notebook_cell(done.stub) if display.in_notebook() else "").show()
    return display.shown(done)


def doctor() -> Report:
    """Show what works on this machine and the command that mends what does not."""
    from checker.verbs.doctor import works

    with display.working("Looking at this machine …") as card:
        report = diagnosed()
        if importlib.util.find_spec("rich") is None and not display.in_notebook():
            print(f"{report.text}\n{works(report)}")
        else:
            panel = panels.doctor_panel(report, works(report))
            card.show(panel.html, panel.print)
    return display.shown(report)


def diagnosed() -> Report:
    """The doctor's findings about this machine, not shown."""
    from checker.verbs.doctor import findings
    from checker.verbs.facts import facts

    return Report(findings(facts()))


def live(kernel: Any, verb: str) -> tuple[Puzzle, KernelSource]:
    """The puzzle and the source of a kernel that the learner passed. Raises UsageError with what to do instead."""
    _need("torch", "triton")
    puzzle, _ = naming.puzzle_of(kernel, verb)
    from checker.submission.from_function import SubmissionError, from_function

    try:
        return puzzle, from_function(kernel, verb)
    except SubmissionError as error:
        raise UsageError(str(error)) from None


def _need(*packages: str) -> None:
    """Raises UsageError, with the way to `doctor`, where a package is not there at all."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"This needs {' and '.join(missing)}, which is not installed here. checker.doctor() says what to do."
        )
