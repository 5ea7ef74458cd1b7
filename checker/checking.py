"""One kernel, one verdict: the rules, then the sandbox under the judge. What every verb and the grader go through."""

from __future__ import annotations

import traceback
from typing import Literal, cast

from checker.judge import judge
from checker.judge.runner import Runner
from checker.judge.verdict import GATES, GateResult, Verdict
from checker.puzzle import Puzzle
from checker.submission import rules
from checker.submission.kernel import KernelSource

Device = Literal["cpu", "cuda"]
DEVICES = ("auto", "cpu", "cuda")


class DeviceMissing(RuntimeError):
    """A GPU was asked for by name and this machine has none that torch can use."""


def resolve_device(asked: str) -> Device:
    """The device that ``auto``, ``cpu`` or ``cuda`` means on this machine. Raises DeviceMissing, ValueError."""
    if asked not in DEVICES:
        raise ValueError(f"device is one of {', '.join(DEVICES)}, not {asked!r}")
    if asked == "cpu":
        return "cpu"
    from checker import gpu

    if gpu.available():
        return "cuda"
    if asked == "cuda":
        raise DeviceMissing(
            "device cuda was asked for, but torch can use no NVIDIA GPU here: `python -m checker doctor` says why"
        )
    return "cpu"


def check_source(
    puzzle: Puzzle,
    source: KernelSource,
    device: str = "auto",
    *,
    submission: str = "",
    diagnose: bool = True,
    runner: Runner | None = None,
) -> Verdict:
    """Judge one kernel; never raises for anything that a kernel does.

    `runner` defaults to the shared warm sandbox. Whatever breaks in the machinery is a verdict with status ``infra_error``.
    Raises DeviceMissing and ValueError for a `device` that cannot be had.
    """
    where = resolve_device(device)
    try:
        if runner is None:
            from checker.sandbox import Sandbox

            runner = cast(Runner, Sandbox.shared())
        return judge(
            puzzle,
            source,
            runner,
            device=where,
            diagnose=diagnose,
            submission=submission,
            violations=rules.violations(source, puzzle),
        )
    except Exception as error:  # the learner must not pay for a defect of ours
        return infra_verdict(puzzle, submission, where, error)


def infra_verdict(puzzle: Puzzle, submission: str, device: str, error: Exception) -> Verdict:
    """The verdict when the machinery itself broke: nothing is said about the kernel."""
    message = (
        f"The checker could not do its work ({type(error).__name__}: {error}). This says nothing about your kernel. "
        "Run it again; if it stays, `doctor` looks for what is missing on this machine."
    )
    detail = "".join(traceback.format_exception(error))
    gates = tuple(
        GateResult(gate, "infra_error", message, detail=detail) if i == 0 else GateResult(gate, "skipped", "")
        for i, gate in enumerate(GATES)
    )
    return Verdict(puzzle.name, submission, "infra_error", device, 0.0, 0.0, float(puzzle.points), gates)
