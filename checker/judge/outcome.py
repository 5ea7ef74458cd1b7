"""Run prepared cases through a runner and put beside each what the comparison says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checker.judge.comparison import Comparison, compare
from checker.judge.launches import Damage, Prepared, damages
from checker.judge.one_thread import one_thread
from checker.judge.runner import Runner, RunResult
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource


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
        with one_thread():
            outcome = judged(puzzle, one, result)
        yield outcome


NEAR = 0.5
"""From this share of the allowance on, values of launches that ran side by side are not relied on."""


def simulate_cases(puzzle: Puzzle, source: KernelSource, runner: Runner, prepared: Sequence[Prepared]) -> list[Outcome]:
    """The same for many cases at once. Launches run side by side where nothing is found in them, and what is told of is not of such."""
    outcomes = list(simulate(puzzle, source, runner, prepared, SimulateOptions(together=True)))
    again = [i for i, outcome in enumerate(outcomes) if not _settled(outcome)]
    for i, exact in zip(again, simulate(puzzle, source, runner, [prepared[i] for i in again]), strict=False):
        outcomes[i] = exact
        if not exact.ran:
            return outcomes[: i + 1]
    return outcomes


def _settled(outcome: Outcome) -> bool:
    """Whether running it by itself would change nothing."""
    if outcome.trace is None or not outcome.trace.in_lockstep:
        return True
    return outcome.comparison is not None and outcome.comparison.worst <= NEAR and not outcome.damage


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
