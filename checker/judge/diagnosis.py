"""Name the misconception behind a failure, or say that none is known.

The wrong kernels of the bank are run on the learner's failing case; those that behave as the learner's kernel does are run
on all other cases too. A name is given only where one belief is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checker.judge.combined_kernel import run_misconceptions
from checker.judge.likeness import level, likeness
from checker.judge.matching_line import matching_line, resemblance
from checker.judge.memory_gate import memory_findings
from checker.judge.outcome import Outcome, simulate
from checker.judge.runner import Runner
from checker.judge.traffic_gate import overdrawn
from checker.judge.verdict import Diagnosis
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

NONE_KNOWN = Diagnosis(
    None,
    note="This is no known misconception: what the kernel did matches none of the wrong kernels that this puzzle keeps.",
)
ONLY_ON_GPU = Diagnosis(
    None,
    note="This is no known misconception: in the simulator the kernel does everything right, and only the GPU shows a difference.",
)


def find_misconception(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    gate: str,
    replay: Trace | None = None,
) -> Diagnosis:
    """Compare the learner's simulated `outcomes` with the bank's. `failing` is the one that fails `gate`."""
    if not failing.ran or failing.trace is None or not _fails(puzzle, failing, gate):
        return NONE_KNOWN
    others = [o for o in outcomes if o is not failing and o.ran and o.trace is not None]
    known = bank(puzzle.name)
    levels = {
        misconception: _level_in_all(puzzle, runner, misconception, first, others, gate)
        for misconception, first in _alike(puzzle, runner, known, failing, gate).items()
    }
    chosen = _only(levels, source)
    if chosen is None:
        return NONE_KNOWN
    line = _line(puzzle, source, runner, chosen, failing, replay)
    return Diagnosis(chosen.name, chosen.believed, chosen.instead, chosen.try_, source.own_line(line))


def _alike(
    puzzle: Puzzle, runner: Runner, known: Sequence[Misconception], failing: Outcome, gate: str
) -> dict[Misconception, frozenset[str]]:
    """The wrong kernels that do on the failing case what the learner's kernel does."""
    found = {}
    outcomes = run_misconceptions(puzzle, runner, [(m, failing.prepared) for m in known])
    for misconception, theirs in zip(known, outcomes, strict=False):
        alike = likeness(puzzle, failing, theirs, misconception.noise)
        if _fails(puzzle, theirs, gate) and level(alike, gate):
            found[misconception] = alike
    return found


def _level_in_all(
    puzzle: Puzzle,
    runner: Runner,
    misconception: Misconception,
    alike: frozenset[str],
    others: Sequence[Outcome],
    gate: str,
) -> int:
    """How alike the two kernels are over all other cases too; 0 as soon as one tells them apart."""
    seen = 0
    for theirs in run_misconceptions(puzzle, runner, [(misconception, o.prepared) for o in others]):
        alike = alike & likeness(puzzle, others[seen], theirs, misconception.noise)
        seen += 1
        if not level(alike, gate):
            return 0
    return level(alike, gate) if seen == len(others) else 0


def _fails(puzzle: Puzzle, outcome: Outcome, gate: str) -> bool:
    """Whether a kernel fails the case at this gate: one that is right there explains nothing and needs no explaining."""
    if gate == "values":
        return not outcome.right
    return bool(memory_findings(outcome)) if gate == "memory" else bool(overdrawn(puzzle, outcome))


def _only(levels: Mapping[Misconception, int], source: KernelSource) -> Misconception | None:
    """The one belief among those most alike, or None where two that are not declared the same are left.

    Of beliefs declared the same, the one whose kernel is worded most like the learner's.
    """
    best = max(levels.values(), default=0)
    left = [misconception for misconception, level in levels.items() if level == best]
    if best == 0:
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
    """The learner's line that plays the part of the misconception's wrong line, where there is just one."""
    theirs = next(
        (o.trace for o in simulate(puzzle, chosen.source, runner, [failing.prepared], SimulateOptions(events=True))),
        None,
    )
    for wrong in chosen.wrong_lines:
        line = matching_line(chosen.source, wrong, theirs, source, replay)
        if line is not None:
            return line
    return None
