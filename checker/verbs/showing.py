"""The verbs for a kernel that was read: judged, filmed, compiled or timed, and shown. Heavy rooms are imported here, late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from checker import workspace
from checker.verbs import progress
from checker.verbs.naming import Unavailable, UsageError
from checker.verbs.returned import Film
from checker.view import display
from checker.view.panel import Panel

if TYPE_CHECKING:
    from checker.judge.verdict import Verdict
    from checker.puzzle import Case, Puzzle
    from checker.submission.kernel import KernelSource

WRITABLE = f"Where the folder cannot be written, work in a copy of the course, or set {workspace.HOME_VARIABLE} to a folder of yours."
MOST_EVENTS = 20_000  # a film with more moments than this can neither be watched nor kept in a notebook


def check_and_show(puzzle: Puzzle, source: KernelSource, device: str = "auto", submission: str = "") -> Verdict:
    from checker.checking import DeviceMissing, check_source

    with display.working(f"Checking {source.kernel} …") as card:
        try:
            verdict = check_source(puzzle, source, device, submission=submission or source.pieces[0].origin)
        except DeviceMissing as missing:
            raise Unavailable(str(missing)) from None
        except ValueError as error:
            raise UsageError(str(error)) from None
        after, _ = progress.record(workspace.find(), verdict, source.source)
        show_card(card, verdict)
    if after.messages:
        Panel("Your progress", after.messages, footer=("The verdict stands all the same. " + WRITABLE,)).show()
    return display.shown(verdict)


def film_of(puzzle: Puzzle, source: KernelSource, sizes: Mapping[str, Any]) -> Film | Verdict:
    """The film at the puzzle's own sizes, with `sizes` in their place where given; see `film_at`. Raises UsageError."""
    from checker.verbs.sizes import case_for

    return film_at(puzzle, source, case_for(puzzle.name, sizes, puzzle.film.case))


def film_at(puzzle: Puzzle, source: KernelSource, case: Case) -> Film | Verdict:
    """The film of one case; the verdict instead where something is wrong with the kernel. Raises UsageError."""
    from checker.verbs.filming import Unfilmable, shoot

    try:
        title, html = shoot(puzzle, source, case, MOST_EVENTS)
    except Unfilmable as reason:
        if reason.verdict is not None:
            return reason.verdict
        raise UsageError(str(reason)) from None
    return Film(puzzle.name, title, html)


def xray_and_show(puzzle: Puzzle, source: KernelSource, wanted: Mapping[str, Any]) -> tuple[Panel, bool]:
    """What was shown, and whether the kernel compiles for any of the GPUs."""
    from checker.verbs.xray import xray_panel

    with display.working(f"Compiling {source.kernel} for four GPUs …") as card:
        panel, compiled = xray_panel(puzzle, source, wanted)
        card.show(panel.html, panel.print)
    return display.shown(panel), compiled


def bench_and_show(puzzle: Puzzle, source: KernelSource) -> Panel | Verdict:
    from checker.verbs.bench import NoBench, bench_panel

    with display.working(f"Timing {source.kernel} …") as card:
        try:
            made = bench_panel(puzzle, source, workspace.find())
        except NoBench as reason:
            raise Unavailable(str(reason)) from None
        if isinstance(made, Panel):
            card.show(made.html, made.print)
        else:
            show_card(card, made)
    return display.shown(made)


def show_card(card: display.Card, verdict: Verdict) -> None:
    def html() -> str:
        from checker.view.card import card_html

        return card_html(verdict)

    def text(console: Any) -> None:
        from checker.view.terminal import print_card

        print_card(verdict)

    card.show(html, text)
