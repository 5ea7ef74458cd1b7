"""Run prepared cases through a runner and put beside each what the comparison says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checker.judge.compare import Comparison, compare
from checker.judge.prepare import Damage, Poison, Prepared, damages, prepare
from checker.judge.runner import Runner, RunResult
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import Config, KernelSource


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


def plan(puzzle: Puzzle, cases: Sequence[Case], configs: Sequence[Config]) -> list[tuple[Case, Config | None]]:
    """Which case runs with which configuration: the first configuration on all, every other on two.

    The two are the smallest and the largest case, so that a configuration whose tile is wrong for one of them is seen.
    """
    if not configs:
        return [(case, None) for case in cases]
    ordered = sorted(cases, key=lambda case: _volume(case))
    two = [ordered[0], ordered[-1]] if len(ordered) > 1 else ordered
    planned: list[tuple[Case, Config | None]] = [(case, configs[0]) for case in cases]
    return planned + [(case, config) for config in configs[1:] for case in two]


def _volume(case: Case) -> int:
    volume = 1
    for size in case.sizes.values():
        volume *= max(size, 1)
    return volume


def prepare_all(
    puzzle: Puzzle, planned: Sequence[tuple[Case, Config | None]], poison: Poison = "nan"
) -> list[Prepared]:
    return [prepare(puzzle, case, config, poison) for case, config in planned]


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
        yield judged(puzzle, one, result)


def judged(puzzle: Puzzle, prepared: Prepared, result: RunResult) -> Outcome:
    if result.status != "passed":
        return Outcome(prepared, result, None)
    return Outcome(
        prepared,
        result,
        compare(puzzle, prepared, result.tensors, result.trace),
        tuple(damages(prepared, result.tensors)),
    )
