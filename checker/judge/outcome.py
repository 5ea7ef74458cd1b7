"""Cases after their launches: what the runner returned, and how it compares with the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from checker.judge.comparison import Comparison, compare
from checker.judge.launches import Damage, Prepared, damages
from checker.judge.runner import Runner, RunResult
from checker.judge.threads import at_most
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

_Task = TypeVar("_Task")
NEAR = 2.0
"""Launches that run side by side may differ in their last bits: within this factor of the allowance their values are not relied on."""


@dataclass(frozen=True)
class Outcome:
    """One case after its launch. `comparison` is None if the kernel did not run to its end."""

    prepared: Prepared
    result: RunResult
    comparison: Comparison | None
    damage: tuple[Damage, ...] = ()

    @property
    def case(self) -> Case:
        return self.prepared.case

    @property
    def trace(self) -> Trace | None:
        return self.result.trace

    @property
    def ran(self) -> bool:
        return self.result.status == "passed"

    @property
    def right(self) -> bool:
        """The values are right, even if something else is not."""
        return self.comparison is not None and self.comparison.mismatch is None

    @property
    def has_nan(self) -> bool:
        """Whether an output holds a NaN. The kernel must have run."""
        return any(bool(self.result.tensors[name].isnan().any()) for name in self.prepared.launch.outputs)

    @property
    def side_by_side(self) -> bool:
        return self.trace is not None and self.trace.in_lockstep


def simulate(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    prepared: Sequence[Prepared],
    options: SimulateOptions | None = None,
) -> Iterator[Outcome]:
    """Simulate `prepared` in one pass, in order, up to the first launch that does not run to its end."""
    results = runner.simulate(source, [p.launch for p in prepared], options or SimulateOptions())
    for one, result in zip(prepared, results, strict=False):
        with at_most(1):
            outcome = judged(puzzle, one, result)
        yield outcome


def judged(puzzle: Puzzle, prepared: Prepared, result: RunResult) -> Outcome:
    """Compare a launch's result with the reference."""
    if result.status != "passed":
        return Outcome(prepared, result, None)
    comparison = compare(puzzle, prepared, result.tensors, result.trace)
    return Outcome(prepared, result, comparison, tuple(damages(prepared, result.tensors)))


def traced(
    puzzle: Puzzle, source: KernelSource, runner: Runner, prepared: Prepared, options: SimulateOptions
) -> Trace | None:
    """The trace of one launch."""
    return next((outcome.trace for outcome in simulate(puzzle, source, runner, [prepared], options)), None)


def in_spite_of_stops(
    tasks: Sequence[_Task], run: Callable[[Sequence[_Task]], Iterator[Outcome]]
) -> Iterator[tuple[_Task, Outcome]]:
    """Each task with its outcome, in order. If `run` ends early, it is called again for the remaining tasks."""
    while tasks:
        done = 0
        for task, outcome in zip(tasks, run(tasks), strict=False):
            done += 1
            yield task, outcome
        if not done:
            return
        tasks = tasks[done:]


def simulate_cases(puzzle: Puzzle, source: KernelSource, runner: Runner, prepared: Sequence[Prepared]) -> list[Outcome]:
    """As `simulate`, for many cases at once: launches without findings run side by side.

    A launch whose values come near the allowance runs again by itself. So does the first wrong one, with everything that its card
    needs (see `in_full`).
    """
    outcomes = list(simulate(puzzle, source, runner, prepared, SimulateOptions(together=True)))
    first = next((i for i, outcome in enumerate(outcomes) if not outcome.right), None)
    again = [i for i, outcome in enumerate(outcomes) if not settled(outcome) or (outcome.side_by_side and i == first)]
    if first is not None and outcomes[first].ran:
        full = in_full(puzzle, source, runner, outcomes[first])
        if full is not None:
            outcomes[first] = full
            again = [i for i in again if i != first]
    for i, exact in zip(again, simulate(puzzle, source, runner, [prepared[i] for i in again]), strict=False):
        outcomes[i] = exact
        if not exact.ran:
            return outcomes[: i + 1]
    return outcomes


def in_full(puzzle: Puzzle, source: KernelSource, runner: Runner, failing: Outcome) -> Outcome | None:
    """A failing case once more, with its events and, after a NaN, with every operation tracked. None if that takes too much."""
    options = SimulateOptions(events=True, explain_nan=not failing.right and failing.has_nan)
    full = next(simulate(puzzle, source, runner, [failing.prepared], options), None)
    return full if full is not None and full.ran else None


def settled(outcome: Outcome) -> bool:
    """Whether running it by itself would change nothing: its values are clearly right or clearly wrong, and nothing else is amiss."""
    if not outcome.side_by_side:
        return True
    if outcome.comparison is None or outcome.damage:
        return False
    return not 1 / NEAR < outcome.comparison.worst < NEAR
