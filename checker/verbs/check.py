"""`check`: judge a kernel, show its card, count the attempt."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from checker import workspace
from checker.checking import DeviceMissing, check_source
from checker.judge.verdict import Verdict
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.verbs import progress_file
from checker.verbs.arguments import Stopped, UnavailableHere, UsageError, kernel_named
from checker.verbs.departure import with_departure
from checker.verbs.edited import refuse_edited, with_note
from checker.verbs.film import folded
from checker.verbs.parts import CheckedParts, check_parts
from checker.view import display
from checker.view.panel import Panel


def check(kernel: Any, device: str = "auto", only: str = "", amd: bool = False) -> Verdict | CheckedParts:
    """Judge a kernel; with `only`, just the parts of its puzzle up to that one. Raises UsageError."""
    if only and amd:
        raise UsageError("`amd` compiles a whole kernel: leave out `only`, or `amd`.")
    puzzle, source = kernel_named(kernel, "check")
    refuse_edited(source)
    if amd and puzzle.launcher is not None:
        raise UsageError("`amd` compiles kernels. Check the kernels that it launches with it.")
    return check_parts(puzzle, source, only) if only else check_and_show(puzzle, source, device, amd=amd)


def check_and_show(
    puzzle: Puzzle,
    source: KernelSource,
    device: str = "auto",
    seed: int | None = None,
    thorough: bool = False,
    started: float | None = None,
    amd: bool = False,
) -> Verdict:
    """Judge a kernel and show its card; a `seed` draws other cases, and `amd` also compiles it for AMD's GPUs. Raises UsageError, and Stopped when it is interrupted.

    The learner has waited since `started`, a time of `time.perf_counter`.
    """
    started = time.perf_counter() if started is None else started
    with display.working(f"Checking {source.kernel} …") as area:
        try:
            judged = check_source(
                puzzle, source, device, submission=source.origin, seed=seed, thorough=thorough, amd=amd
            )
            judged = with_departure(judged, source)
        except DeviceMissing as missing:
            raise UnavailableHere(str(missing)) from None
        except ValueError as error:
            raise UsageError(str(error)) from None
        except KeyboardInterrupt:
            raise Stopped from None
        # what the learner waited, the imports and the worker's start included
        verdict = replace(judged, seconds=time.perf_counter() - started)
        progress = progress_file.record(workspace.find(), verdict, source.source)
        card = with_note(display.verdict_card(verdict), source)
        area.show(card)
        # the film takes a while, so show the verdict first
        try:
            if display.in_notebook() and (film := folded(verdict, source)):
                area.show(display.Output(lambda: card.html() + film, card.print))
        except KeyboardInterrupt:
            raise Stopped("Stopped. The verdict counts, but there is no film of it.") from None
    if seed is None:
        _report_to_class(verdict, progress)
    if progress.messages:
        footer = f"The verdict still counts. {workspace.UNWRITABLE}"
        Panel("Your progress", progress.messages, footer=(footer,)).show()
    return display.shown(verdict)


def _report_to_class(verdict: Verdict, progress: progress_file.Progress) -> None:
    """Report to the board and show the instructor's messages, but only after `join`."""
    if verdict.status in ("not_attempted", "skipped") or not (workspace.find().ours / "workshop").is_dir():
        return
    from checker.verbs.workshop import after_check

    after_check(verdict, progress.of(verdict.puzzle))
