"""Shoots a film: one launch at a small size in the simulator, with every event and the state beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from checker.checking import check_source
from checker.judge.prepare import prepare
from checker.judge.runner import RunResult
from checker.puzzle import Case, Puzzle
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.sizes import refuse_what_no_gpu_takes, told_as_misuse

if TYPE_CHECKING:
    import torch

    from checker.judge.verdict import Verdict

LARGEST = 1 << 20  # elements of one tensor, and programs of a grid: past that nobody could watch it


class Unfilmable(Exception):
    """The kernel cannot be filmed. `verdict` says what is wrong with it, where something is."""

    def __init__(self, message: str, verdict: Verdict | None = None) -> None:
        super().__init__(message)
        self.verdict = verdict


def shoot(puzzle: Puzzle, source: KernelSource, case: Case, most_events: int) -> tuple[str, str]:
    """The film's title and its HTML. Raises Unfilmable, and UsageError for sizes that the kernel cannot have."""
    if rules.is_untouched(source) or rules.violations(source, puzzle):
        verdict = check_source(puzzle, source, "cpu", diagnose=False)  # stops at the source gate
        raise Unfilmable("The kernel cannot be run yet.", verdict)
    for name, value in {**case.sizes, **case.meta}.items():
        if value > LARGEST:
            raise Unfilmable(
                f"{name} = {value} is too large for a film. It shows every step: a few dozen elements are enough."
            )
    with told_as_misuse():
        ready = prepare(puzzle, case)
    tensors = {name: v for name, v in ready.launch.arguments.items() if not isinstance(v, int | float)}
    if any(t.numel() > LARGEST for t in tensors.values()):
        raise Unfilmable("These sizes are too large for a film. It shows every step: a few dozen elements are enough.")
    result = next(iter(Sandbox.shared().simulate(source, [ready.launch], SimulateOptions(events=True, state=True))))
    if result.status != "passed" or result.trace is None:
        raise _failed(puzzle, source, result)
    refuse_what_no_gpu_takes(puzzle, source, case, ready.launch, result.trace)
    if len(result.trace.events) > most_events:
        raise Unfilmable(
            f"This film would have {len(result.trace.events):,} moments; {most_events:,} are the most. Choose smaller sizes."
        )
    from checker.films import film_html

    title = f"{puzzle.title}: {source.kernel}, {case.name}"
    # inputs as they were (the job worked on copies), outputs as the kernel left them
    values = {name: result.tensors[name] if name in puzzle.outputs else _tensor(t) for name, t in tensors.items()}
    html = film_html(result.trace, puzzle, source, case=case, budget=puzzle.budget(case), title=title, values=values)
    return title, html


def _tensor(value: object) -> torch.Tensor:
    return cast("torch.Tensor", value)


def _failed(puzzle: Puzzle, source: KernelSource, result: RunResult) -> Unfilmable:
    """Why there is no film: the verdict, where the check fails too; else what the run itself said."""
    verdict = check_source(puzzle, source, "cpu", diagnose=False)
    line = f" (line {source.locate(result.line)[1]})" if result.line is not None else ""
    message = f"The kernel did not run to its end{line}: {result.message or result.status.replace('_', ' ')}"
    return Unfilmable(message, None if verdict.passed else verdict)
