"""Name the misconception behind a failure, or say that none is known.

The wrong kernels of the bank are run on the learner's failing case; those that behave as the learner's kernel does are run
on all other cases too. A name is given only where one belief is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.judge.behaviour import Likeness, likeness
from checker.judge.outcome import Outcome, simulate
from checker.judge.roles import same_role
from checker.judge.runner import Runner
from checker.judge.verdict import Diagnosis
from checker.judge.words import own_line
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

NONE_KNOWN = "This is no known misconception: what the kernel did matches none of the wrong kernels that this puzzle keeps."


@dataclass(frozen=True)
class _Match:
    misconception: Misconception
    level: int


def diagnose(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    gate: str,
    replay: Trace | None = None,
) -> Diagnosis:
    """Compare the learner's simulated `outcomes` with the bank's. `failing` is the one that fails `gate`."""
    if not failing.ran or failing.trace is None:
        return Diagnosis(None, NONE_KNOWN)
    others = [o for o in outcomes if o is not failing and o.ran and o.trace is not None]
    matches = []
    for misconception in bank(puzzle.name):
        level = _level(puzzle, runner, misconception, failing, others, gate)
        if level:
            matches.append(_Match(misconception, level))
    chosen = _only(matches)
    if chosen is None:
        return Diagnosis(None, NONE_KNOWN)
    text = f"Believed: {chosen.believed}\n\nInstead: {chosen.instead}"
    text += f"\n\nTry: {chosen.try_}" if chosen.try_ else ""
    line = _line(puzzle, source, runner, chosen, failing, replay)
    return Diagnosis(chosen.name, text, own_line(source, line))


def _level(
    puzzle: Puzzle, runner: Runner, misconception: Misconception, failing: Outcome, others: Sequence[Outcome], gate: str
) -> int:
    alike = Likeness()
    for batch in ([failing], others):
        seen = 0
        for theirs in simulate(puzzle, misconception.source, runner, [o.prepared for o in batch]):
            alike = alike & likeness(puzzle, batch[seen], theirs, misconception.noise)
            seen += 1
            if not alike.level(gate):
                return 0
        if seen < len(batch):
            return 0
    return alike.level(gate)


def _only(matches: Sequence[_Match]) -> Misconception | None:
    """The one belief among the best matches, or None where two that are not declared the same are left."""
    best = max((m.level for m in matches), default=0)
    names = [m.misconception for m in matches if m.level == best]
    if not names:
        return None
    first = names[0]
    for other in names[1:]:
        if other.name not in first.same_as and first.name not in other.same_as:
            return None
    return first


def _line(
    puzzle: Puzzle, source: KernelSource, runner: Runner, chosen: Misconception, failing: Outcome, replay: Trace | None
) -> int | None:
    """The learner's line that plays the part of the misconception's wrong line, where there is just one."""
    theirs = next(
        (o.trace for o in simulate(puzzle, chosen.source, runner, [failing.prepared], SimulateOptions(events=True))), None
    )
    for wrong in chosen.wrong_lines:
        line = same_role(chosen.source, wrong, theirs, source, replay)
        if line is not None:
            return line
    return None
