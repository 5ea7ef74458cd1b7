"""Name the misconception behind a failure, or say that it is unknown.

The bank's wrong kernels run on a few small cases and on the learner's failing one. Those that behave like the learner's kernel also
run on all other cases, and on further ones that the puzzle does not have. Only a single remaining belief is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from checker.judge.combined_kernel import behaviours
from checker.judge.launches import Prepared, prepare, volume
from checker.judge.likeness import (
    Behaviour,
    alike,
    alike_in_everything,
    behaviour,
    informative,
    plainly_wrong,
    same_origin_of_nan,
)
from checker.judge.matching_line import matching_line, resemblance
from checker.judge.outcome import Outcome, simulate, traced
from checker.judge.runner import Runner
from checker.judge.threads import at_most
from checker.judge.traffic_gate import bytes_moved
from checker.judge.verdict import Diagnosis, Gate
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

_TOGETHER = SimulateOptions(together=True)
PROBES = 6
"""Small cases that rule out most of the bank, for less than one large case costs."""
DRAWS, DRAWN_CASES = 3, 8
"""The smallest random cases of this many draws tell apart kernels that agree on all cases of the puzzle."""
NONE_KNOWN = Diagnosis(
    None,
    note="This is not a mistake we know: the kernel behaves like none of this puzzle's wrong kernels.",
)
ONLY_ON_GPU = Diagnosis(
    None,
    note="This is not a mistake we know: the kernel is right in the simulator, and only the GPU shows a difference.",
)


@at_most(1)
def find_misconception(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    gate: Gate,
    replay: Trace | None = None,
) -> Diagnosis:
    """Compare the learner's simulated `outcomes` with the bank's. `failing` is the one that fails `gate`."""
    at_fault = (failing, behaviour(puzzle, failing))
    compare = _Comparison(puzzle, runner, gate, plainly_wrong(at_fault[1]))
    if gate not in at_fault[1].fails:
        return NONE_KNOWN
    others = [o for o in outcomes if o is not failing and o.ran and o.trace is not None]
    seen = [(o, behaviour(puzzle, o)) for o in sorted(others, key=bytes_moved)]
    left = compare.in_few_cases(bank(puzzle.name), seen[:PROBES])
    left = compare.in_one_case(left, *at_fault)
    left = [misconception for misconception in left if compare.in_all_cases(misconception, seen[PROBES:])]
    if left:
        cases = _further_cases(puzzle, failing)
        further = [(o, behaviour(puzzle, o)) for o in simulate(puzzle, source, runner, cases, _TOGETHER) if o.ran]
        left = [misconception for misconception in left if compare.in_all_cases(misconception, further)]
        if gate == "values" and not any(informative(mine) for _, mine in (at_fault, *seen, *further)):
            trace, outputs = replay or _replayed(puzzle, source, runner, failing), failing.prepared.launch.outputs
            left = [m for m in left if same_origin_of_nan(trace, _replayed(puzzle, m.source, runner, failing), outputs)]
    chosen = _only([m for m in left if compare.in_everything[m]] or left, source)
    if chosen is None:
        return NONE_KNOWN
    line = _line(puzzle, source, runner, chosen, failing, replay)
    return Diagnosis(chosen.name, chosen.believed, chosen.instead, chosen.try_, line)


def _replayed(puzzle: Puzzle, source: KernelSource, runner: Runner, failing: Outcome) -> Trace | None:
    """A kernel's trace in the failing case, with every operation tracked to where a NaN first appears."""
    return traced(puzzle, source, runner, failing.prepared, SimulateOptions(explain_nan=True))


class _Comparison:
    """The bank's kernels next to the learner's, case by case.

    `in_everything` says whether a kernel that is alike has also touched the same lanes and moved the same bytes so far.
    """

    def __init__(self, puzzle: Puzzle, runner: Runner, gate: Gate, plainly: bool) -> None:
        self.puzzle, self.runner, self.gate, self.plainly = puzzle, runner, gate, plainly
        self.in_everything: dict[Misconception, bool] = {}

    def in_few_cases(
        self, kernels: Sequence[Misconception], learner: Sequence[tuple[Outcome, Behaviour]]
    ) -> list[Misconception]:
        """The kernels that do what the learner's did in all these cases; one job runs them all."""
        tasks = [(m, outcome, mine) for m in kernels for outcome, mine in learner]
        theirs = list(behaviours(self.puzzle, self.runner, [(m, outcome.prepared) for m, outcome, _ in tasks]))
        differ = {m for m, _, _ in tasks[len(theirs) :]}  # their runs ended early
        for task, other in zip(tasks, theirs, strict=False):
            if task[0] not in differ and not self._alike(*task, other):
                differ.add(task[0])
        return [m for m in kernels if m not in differ]

    def in_one_case(self, kernels: Sequence[Misconception], learner: Outcome, mine: Behaviour) -> list[Misconception]:
        """The kernels that fail this case the way the learner's does; one job runs them all."""
        theirs = behaviours(self.puzzle, self.runner, [(m, learner.prepared) for m in kernels])
        both = zip(kernels, theirs, strict=False)
        return [m for m, other in both if self.gate in other.fails and self._alike(m, learner, mine, other)]

    def in_all_cases(self, misconception: Misconception, learner: Sequence[tuple[Outcome, Behaviour]]) -> bool:
        """Whether a misconception's kernel does what the learner's did in all these cases; it runs until it differs."""
        tasks = [(misconception, outcome.prepared) for outcome, _ in learner]
        seen = 0
        for (outcome, mine), theirs in zip(learner, behaviours(self.puzzle, self.runner, tasks), strict=False):
            if not self._alike(misconception, outcome, mine, theirs):
                return False
            seen += 1
        return seen == len(learner)

    def _alike(self, misconception: Misconception, learner: Outcome, mine: Behaviour, theirs: Behaviour) -> bool:
        same = alike_in_everything(mine, theirs)
        self.in_everything[misconception] = same and self.in_everything.get(misconception, True)
        return alike(self.puzzle, learner, mine, theirs, self.gate, self.plainly, misconception.noise)


def _further_cases(puzzle: Puzzle, failing: Outcome) -> list[Prepared]:
    """The failing case in the puzzle's other dtypes, and small random cases of the puzzle, the same every time.

    Two kernels that agree by chance on all of the puzzle's cases differ on these.
    """
    cases = [replace(failing.case, dtype=dtype) for dtype in puzzle.tolerance if dtype != failing.case.dtype]
    draw = Random(puzzle.name)
    drawn = [case for _ in range(DRAWS) for case in puzzle.drawn(draw) if "cpu" in case.devices]
    cases += sorted(drawn, key=volume)[:DRAWN_CASES]
    return [prepare(puzzle, case) for case in cases]


def _only(left: Sequence[Misconception], source: KernelSource) -> Misconception | None:
    """The one belief that is left, or None if there is none, or two that are not declared the same.

    Among beliefs declared the same, the one whose kernel is worded most like the learner's.
    """
    if not left:
        return None
    same, waiting = {left[0].name}, [left[0]]
    while waiting:
        one = waiting.pop()
        for other in left:
            if other.name not in same and (other.name in one.same_as or one.name in other.same_as):
                same.add(other.name)
                waiting.append(other)
    if any(m.name not in same for m in left):
        return None
    return max(left, key=lambda m: resemblance(m.source, source))


def _line(
    puzzle: Puzzle, source: KernelSource, runner: Runner, chosen: Misconception, failing: Outcome, replay: Trace | None
) -> int | None:
    """The learner's line that plays the part of the misconception's wrong line, if there is just one."""
    theirs = traced(puzzle, chosen.source, runner, failing.prepared, SimulateOptions(events=True))
    for wrong in chosen.wrong_lines:
        line = matching_line(chosen.source, wrong, theirs, source, replay)
        if line is not None:
            return line
    return None
