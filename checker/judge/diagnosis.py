"""Name the misconception behind a failure, or say that it is unknown.

The bank's wrong kernels run on the learner's failing case. Those that behave like the learner's kernel also run on the other cases,
first where it fails, and on additional ones outside the puzzle. A belief is named only if it is the last one left. If none is left,
pairs of beliefs are tried the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import islice
from random import Random

from checker.judge.combined_kernel import Task, bank_runs
from checker.judge.launches import Prepared, prepare, prepare_if_possible, volume
from checker.judge.likeness import (
    Behaviour,
    alike,
    alike_in_everything,
    behaviour,
    informative,
    plainly_wrong,
    same_origin_of_nan,
)
from checker.judge.masks import mask_at_fault
from checker.judge.matching_line import matching_line, resemblance
from checker.judge.outcome import Candidate, Outcome
from checker.judge.plainest_case import is_everyday, ordinary_cases
from checker.judge.traffic_gate import bytes_moved
from checker.judge.two_mistakes import Pair, likely_pairs
from checker.judge.verdict import Diagnosis
from checker.misconceptions import Misconception, bank, solution
from checker.puzzle import Gate, Puzzle
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource

DRAWS, DRAWN_CASES = 2, 4
"""This many draws, and this many of their smallest cases, tell apart kernels that agree on all cases of the puzzle."""
NONE_KNOWN = Diagnosis(None)
AND_MORE = "This explains the failure with ordinary numbers. In harder cases something else is wrong, too: fix this first, then check again."
FAILING_CASES, PASSING_CASES = 8, 4
"""This many cases, besides the further ones, decide between pairs of mistakes, which take longer to run than single ones."""
ENOUGH = 3
"""In so many ordinary cases a kernel has to be wrong before one of its mistakes is named alone."""
ONLY_ON_GPU = Diagnosis(None, note="The kernel is right in the simulator, and only the GPU shows a difference.")


def find_misconception(candidate: Candidate, outcomes: Sequence[Outcome], failing: Outcome, gate: Gate) -> Diagnosis:
    """Compare the learner's simulated `outcomes` with the bank's. `failing`, in full, is the one that fails `gate` on the card.

    One mistake that explains everything comes first, then two, then one that explains what happens to ordinary numbers. If several do
    explain everything, ordinary numbers may tell them apart, and no pair is tried: a second mistake that shows nowhere fits all of them.
    """
    puzzle = candidate.puzzle
    at_fault = (failing, behaviour(puzzle, failing))
    if gate not in at_fault[1].fails:
        return NONE_KNOWN
    evidence = _Evidence(candidate, outcomes, at_fault, gate)
    left = evidence.left(bank(puzzle.name))
    misconception, ordinary = _only(left, candidate.source), None
    if misconception is None and gate == "values" and is_everyday(failing.case):
        ordinary = _in_ordinary_cases(candidate, evidence.compare, at_fault, left or bank(puzzle.name))
    if left:
        misconception = misconception or ordinary
        return NONE_KNOWN if misconception is None else _diagnosis(candidate, misconception, failing)
    pair = evidence.pair(ordinary)
    if pair:
        shown = sorted(pair, key=lambda m: ordinary is None or not m.same_behaviour(ordinary))
        first, *second = (_diagnosis(candidate, m, failing) for m in shown)
        return replace(first, second=second[0] if second else None)
    return NONE_KNOWN if ordinary is None else replace(_diagnosis(candidate, ordinary, failing), note=AND_MORE)


def _diagnosis(candidate: Candidate, misconception: Misconception, failing: Outcome) -> Diagnosis:
    line = _line(candidate, misconception, failing)
    return Diagnosis(misconception.name, misconception.believed, misconception.instead, misconception.try_, line)


class _Evidence:
    """What the learner's kernel did in all cases: first where it fails, then in the others, then in cases outside the puzzle."""

    def __init__(self, candidate: Candidate, outcomes: Sequence[Outcome], at_fault: _Case, gate: Gate) -> None:
        self.candidate, self.gate, self.failing = candidate, gate, at_fault[0]
        puzzle = candidate.puzzle
        ran = [o for o in outcomes if o is not self.failing and o.ran and o.trace is not None]
        others = [(o, behaviour(puzzle, o)) for o in ran]
        first = next((mine for _, mine in others if gate in mine.fails), at_fault[1])
        self.compare = _Comparison(candidate, gate, plainly_wrong(at_fault[1]) or plainly_wrong(first))
        self.known = sorted([at_fault, *others], key=self._order)
        self._remember(others)

    def _order(self, case: _Case) -> tuple[bool, int, bool, int]:
        """Cases that fail come first, then small ones; of similar size, the puzzle's own: the next kernel has them, too."""
        outcome, mine = case
        size = bytes_moved(outcome)
        return self.gate not in mine.fails, size.bit_length() // 4, outcome is self.failing, size

    def _remember(self, cases: Sequence[_Case]) -> None:
        """A kernel of the bank itself, which a test or `mutants` judges, need not run again in these cases, only in the one on the card."""
        for one in bank(self.candidate.puzzle.name):
            if one.source.source == self.candidate.source.source:
                for outcome, mine in cases:
                    bank_runs(self.candidate.puzzle).remember(one, outcome.prepared, mine)

    @cached_property
    def further(self) -> Sequence[_Case]:
        cases = _further_cases(self.candidate.puzzle, self.failing)
        outcomes = self.candidate.simulate(cases, SimulateOptions(together=True))
        further = [(o, behaviour(self.candidate.puzzle, o)) for o in outcomes if o.ran]
        self._remember(further)
        return further

    @property
    def informative(self) -> bool:
        """Whether the wrong values tell something about their cause."""
        return self.gate != "values" or any(informative(mine) for _, mine in (*self.known, *self.further))

    def left(self, kernels: Sequence[Misconception]) -> Sequence[Misconception]:
        """The beliefs that explain everything."""
        return self._left(kernels, self.known)

    def pair(self, ordinary: Misconception | None) -> Pair | tuple[Misconception] | None:
        """The two beliefs that together explain everything. One of them is `ordinary` if that explains ordinary cases.

        A few cases decide, first one that the ordinary belief alone does not explain; all do if several pairs explain those, or one of
        the beliefs alone. If no pair explains more than that one, it is named without a second.
        """
        if not self.informative:
            return None
        known = [m for m in bank(self.candidate.puzzle.name) if ordinary is None or m.same_behaviour(ordinary)]
        fails = [case for case in self.known if self.gate in case[1].fails]
        passes = [case for case in self.known if self.gate not in case[1].fails]
        unexplained = (case for case in self.known if ordinary and not self.compare.agreeing([ordinary], [case]))
        cases = [*islice(unexplained, 1), *fails[:FAILING_CASES], *passes[:PASSING_CASES]]
        pairs = likely_pairs(self.candidate.source, known)
        left = self.compare.agreeing(list(pairs), cases)
        members = dict.fromkeys(m for kernel in left for m in pairs[kernel])
        alone = self._left(self.compare.agreeing(list(members), cases), [])
        kernel = _only(self._left(left, self.known if alone or len(left) > 1 else []), self.candidate.source)
        if kernel is not None:
            return pairs[kernel]
        one = _only(alone, self.candidate.source)
        return None if one is None else (one,)

    def _left(self, kernels: Sequence[Misconception], cases: Sequence[_Case]) -> Sequence[Misconception]:
        left = self.compare.failing_too(self.compare.agreeing(kernels, cases), self.failing)
        if not left:
            return []
        left = list(self.compare.agreeing(left, self.further))
        if not self.informative:
            outputs = self.failing.prepared.launch.outputs
            traces = {m: _nan_trace(replace(self.candidate, source=m.source), self.failing) for m in left}
            left = [m for m in left if same_origin_of_nan(self.failing.trace, traces[m], outputs)]
        return [m for m in left if self.compare.in_everything[m]] or left


def _in_ordinary_cases(
    candidate: Candidate, compare: _Comparison, at_fault: _Case, kernels: Sequence[Misconception]
) -> Misconception | None:
    """The one belief among `kernels` that explains what the kernel does with ordinary numbers, whatever harder cases show."""
    puzzle, prepared = candidate.puzzle, at_fault[0].prepared
    cases = ordinary_cases(puzzle, prepared.case, prepared.config is None)
    possible = filter(None, (prepare_if_possible(puzzle, case, prepared.config) for case in cases))
    outcomes = list(candidate.simulate_side_by_side(list(possible)))
    learner = [at_fault, *((o, behaviour(puzzle, o)) for o in outcomes if o.ran and o.trace is not None)]
    if sum("values" in mine.fails for _, mine in learner) < ENOUGH or not any(informative(m) for _, m in learner):
        return None
    left = compare.failing_too(compare.agreeing(kernels, learner), at_fault[0])
    return _only([m for m in left if compare.in_everything[m]] or left, candidate.source)


def _nan_trace(candidate: Candidate, failing: Outcome) -> Trace | None:
    """A kernel's trace in the failing case, with every operation tracked to the place where a NaN first appears."""
    return candidate.trace(failing.prepared, SimulateOptions(explain_nan=True))


_Case = tuple[Outcome, Behaviour]


class _Comparison:
    """The bank's kernels next to the learner's, case by case.

    `in_everything` says whether a kernel that is alike has also touched the same lanes and moved the same bytes so far.
    """

    def __init__(self, candidate: Candidate, gate: Gate, plainly: bool) -> None:
        self.puzzle, self.runner, self.gate, self.plainly = candidate.puzzle, candidate.runner, gate, plainly
        self.in_everything: dict[Misconception, bool] = {}

    def agreeing(self, kernels: Sequence[Misconception], learner: Sequence[_Case]) -> Sequence[Misconception]:
        """The kernels that do in all these cases what the learner's did.

        Runs that are remembered rule out some. The first case rules out most others, so one job runs all kernels in it, the next
        one those that are left in one more case, and then in twice as many cases each time.
        """
        kernels = [m for m in kernels if all(self._agrees_as_remembered(m, *case) for case in learner)]
        start, count = 0, 1
        while kernels and start < len(learner):
            kernels = self._agreeing_in_each(kernels, learner[start : start + count])
            start, count = start + count, max(start, 1)
        return kernels

    def _agrees_as_remembered(self, misconception: Misconception, outcome: Outcome, mine: Behaviour) -> bool:
        theirs = bank_runs(self.puzzle).remembered(misconception, outcome.prepared)
        return theirs is None or self._alike(misconception, outcome, mine, theirs)

    def _agreeing_in_each(self, kernels: Sequence[Misconception], learner: Sequence[_Case]) -> Sequence[Misconception]:
        tasks = [(m, outcome, mine) for m in kernels for outcome, mine in learner]
        theirs = list(self._behaviours([(m, outcome.prepared) for m, outcome, _ in tasks]))
        differ = {m for m, _, _ in tasks[len(theirs) :]}  # their runs ended early
        for (m, outcome, mine), other in zip(tasks, theirs, strict=False):
            if m not in differ and not self._alike(m, outcome, mine, other):
                differ.add(m)
        return [m for m in kernels if m not in differ]

    def failing_too(self, kernels: Sequence[Misconception], failing: Outcome) -> list[Misconception]:
        """The kernels that fail the learner's gate in the case that the card shows."""
        theirs = self._behaviours([(m, failing.prepared) for m in kernels])
        return [m for m, other in zip(kernels, theirs, strict=False) if self.gate in other.fails]

    def _behaviours(self, tasks: Sequence[Task]) -> Iterator[Behaviour]:
        return bank_runs(self.puzzle).behaviours(self.runner, tasks)

    def _alike(self, misconception: Misconception, learner: Outcome, mine: Behaviour, theirs: Behaviour) -> bool:
        same = alike_in_everything(mine, theirs)
        self.in_everything[misconception] = same and self.in_everything.get(misconception, True)
        return alike(self.puzzle, learner, mine, theirs, self.gate, self.plainly, misconception.noise)


def _further_cases(puzzle: Puzzle, failing: Outcome) -> list[Prepared]:
    """The failing case in the puzzle's other dtypes, and small random cases of the puzzle, the same every time.

    Two kernels that agree by chance on all of the puzzle's cases differ on these.
    """
    prepared = []
    for dtype in puzzle.tolerance:
        if dtype != failing.case.dtype:
            with suppress(ValueError):  # float16 cannot hold the numbers of every case
                prepared.append(prepare(puzzle, replace(failing.case, dtype=dtype)))
    draw = Random(puzzle.name)
    drawn = [case for _ in range(DRAWS) for case in puzzle.drawn(draw) if "cpu" in case.devices]
    return prepared + [prepare(puzzle, case) for case in sorted(drawn, key=volume)[:DRAWN_CASES]]


def _only(left: Sequence[Misconception], source: KernelSource) -> Misconception | None:
    """The one belief that is left, or None if there is none, or two that are not declared the same.

    Of beliefs declared the same, the one whose kernel has wording most like the learner's.
    """
    if not left:
        return None
    names, waiting = {left[0].name}, [left[0]]
    while waiting:
        one = waiting.pop()
        for other in left:
            if other.name not in names and one.same_behaviour(other):
                names.add(other.name)
                waiting.append(other)
    if any(m.name not in names for m in left):
        return None
    return max(left, key=lambda m: resemblance(m.source, source))


def _line(candidate: Candidate, misconception: Misconception, failing: Outcome) -> int | None:
    """The learner's line that plays the part of the misconception's wrong line, if there is just one."""
    bank_kernel, right = replace(candidate, source=misconception.source), solution(misconception.puzzle)
    theirs = bank_kernel.trace(failing.prepared, SimulateOptions(events=True))
    for n in misconception.wrong_lines:
        line = matching_line(bank_kernel.source, n, theirs, candidate.source, failing.trace)
        if line is not None:
            return mask_at_fault(misconception.source.source, n, right, candidate.source.source, line) or line
    return None
