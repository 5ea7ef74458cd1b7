"""A kernel under judgement, and what its launches came to: the runner's result, compared with the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from checker.judge.comparison import Comparison, compare
from checker.judge.launches import Damage, Prepared, damages
from checker.judge.runner import Runner, RunResult
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

_Task = TypeVar("_Task")
NEAR = 2.0
"""Launches that run side by side may differ in their last bits, so values within this factor of the allowance are not trusted."""


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
        """Whether the values are right, even if something else is not."""
        return self.comparison is not None and self.comparison.mismatch is None

    @property
    def side_by_side(self) -> bool:
        return self.trace is not None and self.trace.in_lockstep

    @property
    def settled(self) -> bool:
        """Whether another run, alone, would change nothing: the values are clearly right or wrong, and nothing else is amiss."""
        if not self.side_by_side:
            return True
        if self.comparison is None or self.damage:
            return False
        return not 1 / NEAR < self.comparison.worst < NEAR


def judged(puzzle: Puzzle, prepared: Prepared, result: RunResult) -> Outcome:
    """Compare a launch's result with the reference."""
    if result.status != "passed":
        return Outcome(prepared, result, None)
    comparison = compare(puzzle, prepared, result.tensors, result.trace)
    return Outcome(prepared, result, comparison, tuple(damages(prepared, result.tensors)))


@dataclass(frozen=True)
class Candidate:
    """A kernel, the puzzle that it is meant to solve, and what runs it."""

    puzzle: Puzzle
    source: KernelSource
    runner: Runner

    def simulate(self, prepared: Sequence[Prepared], options: SimulateOptions | None = None) -> Iterator[Outcome]:
        """Simulate `prepared` in one pass, in order, up to the first launch that does not run to its end."""
        results = self.runner.simulate(self.source, [p.launch for p in prepared], options or SimulateOptions())
        for one, result in zip(prepared, results, strict=False):
            yield judged(self.puzzle, one, result)

    def simulate_side_by_side(self, prepared: Sequence[Prepared]) -> Iterator[Outcome]:
        """As `simulate`, with launches side by side. One whose values come near the allowance runs again, alone."""
        for outcome in self.simulate(prepared, SimulateOptions(together=True)):
            yield outcome if outcome.settled else next(self.simulate([outcome.prepared]), outcome)

    def simulate_cases(self, prepared: Sequence[Prepared]) -> list[Outcome]:
        """As `simulate`, for many cases at once: launches without findings run side by side.

        A launch whose values come near the allowance runs again, alone.
        """
        outcomes = list(self.simulate(prepared, SimulateOptions(together=True)))
        order = [i for i, outcome in enumerate(outcomes) if not outcome.settled]
        for i, exact in zip(order, self.simulate([prepared[i] for i in order]), strict=False):
            outcomes[i] = exact
            if not exact.ran:
                return outcomes[: i + 1]
        return outcomes

    def in_full(self, failing: Outcome) -> Outcome:
        """A failing case once more, with its events and, after a NaN or an infinity, with every operation tracked.

        It stays as it is if it does not run to its end, or if that takes too much.
        """
        if not failing.ran:
            return failing
        outputs = [failing.result.tensors[name] for name in failing.prepared.launch.outputs if not failing.right]
        has_nan = any(bool(output.isnan().any()) for output in outputs)
        has_inf = not has_nan and any(bool(output.isposinf().any()) for output in outputs)
        options = SimulateOptions(events=True, explain_nan=has_nan or has_inf, explain_inf=has_inf)
        full = next(self.simulate([failing.prepared], options), failing)
        return full if full.ran else failing

    def trace(self, prepared: Prepared, options: SimulateOptions) -> Trace | None:
        """The trace of one launch."""
        return next((outcome.trace for outcome in self.simulate([prepared], options)), None)


@dataclass(frozen=True)
class Failure:
    """The `outcome` that a gate reports, `in_full`, and the `outcomes` of all cases of the puzzle.

    `experiment` says which change of the case turns it right.
    """

    outcome: Outcome
    outcomes: Sequence[Outcome]
    experiment: str = ""


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
