"""What the verbs do. `checker/__init__.py` and `checker/cli.py` are two ways to call them; heavy rooms are imported here, late."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker import workspace
from checker.verbs import display, hints, naming, panels, progress
from checker.verbs.naming import Misuse, Unavailable

if TYPE_CHECKING:
    from checker.judge.verdict import Verdict
    from checker.puzzle import Case, Puzzle
    from checker.submission.kernel import KernelSource
    from checker.verbs.machine import Finding
    from checker.verbs.resetting import Reset

WRITABLE = f"Where the folder cannot be written, work in a copy of the course, or set {workspace.HOME_VARIABLE} to a folder of yours."
MOST_EVENTS = 20_000  # a film with more moments than this can neither be watched nor kept in a notebook


class Report(list["Finding"]):
    """What the doctor found, for code; people are shown it."""

    def __repr__(self) -> str:
        problems, warnings = (sum(f.level == level for f in self) for level in ("problem", "warning"))
        return f"<doctor: {problems} problem{'s' * (problems != 1)}, {warnings} warning{'s' * (warnings != 1)}>"

    @property
    def text(self) -> str:
        """The findings as plain lines."""
        lines = [f"{f.level:8} {f.what}: {f.message}" + (f"\n         {f.command}" if f.command else "") for f in self]
        return "\n".join(lines)


@dataclass(frozen=True)
class Film:
    """A film that was shown. `html` is one self-contained fragment."""

    puzzle: str
    title: str
    html: str

    def save(self, path: str | Path) -> Path:
        """Write the film as a page of its own, for a browser."""
        from checker.view.film import film_document

        target = Path(path)
        workspace.write_atomically(target, film_document(self.html, self.title))
        return target

    def __repr__(self) -> str:
        return f"<film of {self.puzzle}: keep it with .save('{self.puzzle}.html')>"


@dataclass(frozen=True)
class Standing:
    """How far a learner is."""

    passed: int
    total: int
    points: int
    next: str | None

    def __repr__(self) -> str:
        return f"<{self.passed} of {self.total} puzzles passed" + (f", next: {self.next}>" if self.next else ">")


# --- the verbs, for a live kernel ---------------------------------------------------------------------------------------


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
            _show_card(card, made)
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
        raise Misuse(str(error)) from None
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
        raise Misuse(f"{puzzle.name} was not reset, and nothing was changed: {error}. {WRITABLE}") from None
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


# --- the same, for a kernel that was read -------------------------------------------------------------------------------


def live(kernel: Any, verb: str) -> tuple[Puzzle, KernelSource]:
    """The puzzle and the source of a kernel that the learner passed. Raises Misuse with what to do instead."""
    _need("torch", "triton")
    puzzle, _ = naming.puzzle_of(kernel, verb)
    from checker.submission.read import SubmissionError, from_function

    try:
        return puzzle, from_function(kernel, puzzle)
    except SubmissionError as error:
        raise Misuse(str(error)) from None


def check_and_show(puzzle: Puzzle, source: KernelSource, device: str = "auto", submission: str = "") -> Verdict:
    from checker.grading.check import DeviceMissing, check_source

    with display.working(f"Checking {source.kernel} …") as card:
        try:
            verdict = check_source(puzzle, source, device, submission=submission or source.pieces[0].origin)
        except DeviceMissing as missing:
            raise Unavailable(str(missing)) from None
        except ValueError as error:
            raise Misuse(str(error)) from None
        after, _ = progress.record(workspace.find(), verdict, source.source)
        _show_card(card, verdict)
    if after.messages:
        panels.Panel("Your progress", after.messages, footer=("The verdict stands all the same. " + WRITABLE,)).show()
    return display.shown(verdict)


def film_of(puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any]) -> Film | Verdict:
    """The film at the puzzle's own sizes, with `sizes` in their place where given; see `film_at`. Raises Misuse."""
    from checker.verbs.sizes import case_for

    return film_at(puzzle, source, case_for(puzzle, sizes, puzzle.film.case))


def film_at(puzzle: Puzzle, source: KernelSource, case: Case) -> Film | Verdict:
    """The film of one case; the verdict instead where something is wrong with the kernel. Raises Misuse."""
    from checker.verbs.filming import Unfilmable, shoot

    try:
        title, html = shoot(puzzle, source, case, MOST_EVENTS)
    except Unfilmable as reason:
        if reason.verdict is not None:
            return reason.verdict
        raise Misuse(str(reason)) from None
    return Film(puzzle.name, title, html)


def xray_and_show(puzzle: Puzzle, source: KernelSource, wanted: Mapping[str, Any]) -> tuple[panels.Panel, bool]:
    """What was shown, and whether the kernel compiles for any of the GPUs."""
    from checker.verbs.xray import xray_panel

    with display.working(f"Compiling {source.kernel} for four GPUs …") as card:
        panel, compiled = xray_panel(puzzle, source, wanted)
        card.show(panel.html, panel.print)
    return display.shown(panel), compiled


def bench_and_show(puzzle: Puzzle, source: KernelSource) -> panels.Panel | Verdict:
    from checker.verbs.bench import NoBench, bench_panel

    with display.working(f"Timing {source.kernel} …") as card:
        try:
            made = bench_panel(puzzle, source, workspace.find())
        except NoBench as reason:
            raise Unavailable(str(reason)) from None
        if isinstance(made, panels.Panel):
            card.show(made.html, made.print)
        else:
            _show_card(card, made)
    return display.shown(made)


def _show_card(card: display.Card, verdict: Verdict) -> None:
    def html() -> str:
        from checker.view.card import card_html

        return card_html(verdict)

    def text(console: Any) -> None:
        from checker.view.terminal import print_card

        print_card(verdict)

    card.show(html, text)


def _need(*packages: str) -> None:
    """Raises Misuse, with the way to `doctor`, where a package is not there at all."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Misuse(
            f"This needs {' and '.join(missing)}, which is not installed here. checker.doctor() says what to do."
        )
