"""`check`: judge a kernel, show its card, keep count."""

from __future__ import annotations

from typing import Any

from checker import workspace
from checker.checking import DeviceMissing, check_source
from checker.judge.verdict import Verdict
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.verbs import progress_file
from checker.verbs.arguments import UnavailableHere, UsageError, kernel_named
from checker.verbs.film import folded
from checker.view import display
from checker.view.panel import Panel


def check(kernel: Any, device: str = "auto") -> Verdict:
    """Judge a kernel. Raises UsageError."""
    return check_and_show(*kernel_named(kernel, "check"), device)


def check_and_show(puzzle: Puzzle, source: KernelSource, device: str = "auto", seed: int | None = None) -> Verdict:
    """Judge a kernel that was read, with cases drawn with a seed where one is given. Raises UsageError."""
    with display.working(f"Checking {source.kernel} …") as area:
        try:
            verdict = check_source(puzzle, source, device, submission=source.pieces[0].origin, seed=seed)
        except DeviceMissing as missing:
            raise UnavailableHere(str(missing)) from None
        except ValueError as error:
            raise UsageError(str(error)) from None
        progress, _ = progress_file.record(workspace.find(), verdict, source.source)
        card = display.verdict_card(verdict)
        area.show(card)
        # the film comes after the verdict, which nobody should have to wait for
        if display.in_notebook() and (film := folded(verdict, source)):
            area.show(display.Output(lambda: card.html() + film, card.print))
    if progress.messages:
        footer = f"The verdict stands all the same. {workspace.UNWRITABLE}"
        Panel("Your progress", progress.messages, footer=(footer,)).show()
    return display.shown(verdict)
