"""Run prepared cases through a runner and put beside each what the comparison says."""

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


@dataclass(frozen=True)
class Outcome:
    """One case after its launch. `comparison` is None where the kernel did not run to its end."""

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
        """The values are right, whatever else is not."""
        return self.comparison is not None and self.comparison.mismatch is None

    @property
    def has_nan(self) -> bool:
        """Whether an output holds a NaN. Only of a kernel that ran."""
        return any(bool(self.result.tensors[name].isnan().any()) for name in self.prepared.launch.outputs)


def simulate(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    prepared: Sequence[Prepared],
    options: SimulateOptions | None = None,
) -> Iterator[Outcome]:
    """Simulate `prepared` in one pass, in order; ends after the first launch that did not run to its end."""
    results = runner.simulate(source, [p.launch for p in prepared], options or SimulateOptions())
    for one, result in zip(prepared, results, strict=False):
        with at_most(1):
            outcome = judged(puzzle, one, result)
        yield outcome


def traced(
    puzzle: Puzzle, source: KernelSource, runner: Runner, prepared: Prepared, options: SimulateOptions
) -> Trace | None:
    """The trace of one launch."""
    return next((outcome.trace for outcome in simulate(puzzle, source, runner, [prepared], options)), None)


def in_spite_of_stops(
    tasks: Sequence[_Task], run: Callable[[Sequence[_Task]], Iterator[Outcome]]
) -> Iterator[tuple[_Task, Outcome]]:
    """Each task with its outcome, in order. Where `run` ends early, it is called again for the tasks that are left."""
    while tasks:
        done = 0
        for task, outcome in zip(tasks, run(tasks), strict=False):
            done += 1
            yield task, outcome
        if not done:
            return
        tasks = tasks[done:]


NEAR = 2.0
"""Values that are run side by side may be off in their last bits: within this factor of the allowance they are not relied on."""


def simulate_cases(puzzle: Puzzle, source: KernelSource, runner: Runner, prepared: Sequence[Prepared]) -> list[Outcome]:
    """The same for many cases at once. Launches run side by side where nothing is found in them.

    One runs again by itself where its values come near the allowance, and so does the first that is wrong: a card shows its numbers.
    """
    outcomes = list(simulate(puzzle, source, runner, prepared, SimulateOptions(together=True)))
    first = next((i for i, outcome in enumerate(outcomes) if not outcome.right), None)
    again = [i for i, outcome in enumerate(outcomes) if not settled(outcome) or (_side_by_side(outcome) and i == first)]
    for i, exact in zip(again, simulate(puzzle, source, runner, [prepared[i] for i in again]), strict=False):
        outcomes[i] = exact
        if not exact.ran:
            return outcomes[: i + 1]
    return outcomes


def _side_by_side(outcome: Outcome) -> bool:
    return outcome.trace is not None and outcome.trace.in_lockstep


def settled(outcome: Outcome) -> bool:
    """Whether running it by itself would change nothing: its values are right, or wrong, beyond doubt, and nothing else is the matter."""
    if not _side_by_side(outcome):
        return True
    if outcome.comparison is None or outcome.damage:
        return False
    return not 1 / NEAR < outcome.comparison.worst < NEAR


def judged(puzzle: Puzzle, prepared: Prepared, result: RunResult) -> Outcome:
    """What a launch that was `prepared` came to."""
    if result.status != "passed":
        return Outcome(prepared, result, None)
    return Outcome(
        prepared,
        result,
        compare(puzzle, prepared, result.tensors, result.trace),
        tuple(damages(prepared, result.tensors)),
    )
