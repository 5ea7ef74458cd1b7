"""Further cases for conditions that no case reached: sizes and scales taken from the kernel's own numbers, and random cases.

They are tried where much depends on a verdict: in a graded run, and in `check --thorough`. A kernel that is wrong in one of them is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from random import Random

from checker.judge import factors
from checker.judge.conditions import OneSided
from checker.judge.launches import Prepared, plan, prepare_if_possible
from checker.judge.outcome import Candidate, Outcome
from checker.judge.plainest_case import FEW, allowed, in_small_tiles, smallest_from
from checker.judge.simulated_gates import has_fault
from checker.judge.verdict import Unreached
from checker.misconceptions import SOLUTIONS, solution
from checker.puzzle import NORMAL, Case, Puzzle
from checker.submission.kernel import Piece

MOST, AIMED = 16, 12
"""Cases for one condition, and how many of them take a number from it. The others are random."""
DRAWS = 6
MOST_TURNS, MOST_LANES, MOST_LANES_IN_ALL = 2**7, 2**17, 2**25
"""Tiles along one size, and lanes of one tile and of all: what can be simulated in a second."""


def run_aimed(candidate: Candidate, marks: Sequence[OneSided], seed: int) -> list[tuple[OneSided, Outcome]]:
    """Up to `MOST` cases for each condition, each with its outcome.

    Cases that take too much time or memory are left out, and those in which the course's solution would fail, too.
    """
    outcomes = []
    for mark, prepared in _prepared(candidate, marks, seed):
        # one case at a time: those that run together share what is known about their conditions
        outcomes += [(mark, outcome) for outcome in candidate.simulate_cases([prepared])]
    return [(mark, outcome) for mark, outcome in outcomes if _is_fair(candidate, outcome)]


def in_words(mark: OneSided, aimed: Sequence[tuple[OneSided, Outcome]]) -> Unreached:
    """What the card says about a condition: in how many of the cases that were aimed at it it was reached."""
    traces = [outcome.trace for one, outcome in aimed if one is mark and outcome.trace is not None]
    return replace(mark.in_words, aimed=len(traces), reached=sum(map(mark.is_reached, traces)))


def _prepared(candidate: Candidate, marks: Sequence[OneSided], seed: int) -> Iterator[tuple[OneSided, Prepared]]:
    puzzle, random = candidate.puzzle, Random(seed)
    drawn = [case for _ in range(DRAWS) for case in puzzle.drawn(random) if "cpu" in case.devices]
    plain = [replace(case, family=NORMAL, dtype="float32", layout="contiguous") for case in drawn[:1]]
    bases = [*plain, *sorted(drawn, key=lambda case: case.family != NORMAL)[:DRAWS]]
    for mark in marks:
        aimed = islice(dict.fromkeys(_aimed(puzzle, mark, bases)), AIMED) if bases else ()
        cases = list(dict.fromkeys([*aimed, *filter(_is_affordable, drawn)]))[:MOST]
        for case, config in plan(cases, candidate.source.configs[:1]):
            one = prepare_if_possible(puzzle, case, config)
            if one is not None:
                yield mark, one


def _aimed(puzzle: Puzzle, mark: OneSided, bases: Sequence[Case]) -> Iterator[Case]:
    """Cases with one size or flag near a number of the condition, the sizes that it mentions first; all other sizes are small."""
    names = sorted(bases[0].sizes, key=lambda name: name not in mark.names)
    for turn in range(6):
        turned = [*bases[turn % len(bases) :], *bases[: turn % len(bases)]]
        fewer = (FEW, 2, 1) if turn % 2 == 0 else (1, 2, FEW)
        for name, number in product(names, mark.all_numbers):
            possible = (_sized(puzzle, base, name, number, turn, few) for few in fewer for base in turned)
            yield from islice((case for case in possible if allowed(puzzle, case) and _is_affordable(case)), 1)
        for name, number in product(bases[0].flags, mark.all_numbers):
            used = [case.flags[name] for case in (*puzzle.cases, *bases) if case.flags.get(name)]
            flag = number * (1 + (turn - 1) / 256)
            if any(isinstance(value, float) for value in used) and min(used) <= flag <= max(used):
                yield replace(turned[0], flags={**turned[0].flags, name: flag})


def _sized(puzzle: Puzzle, case: Case, name: str, number: float, turn: int, few: int) -> Case:
    """The case with a size of `number`, give or take one or two, or so many tiles. Its tiles are as small as they can be."""
    sizes = {other: smallest_from(puzzle, other, few) for other in case.sizes}
    case = in_small_tiles(puzzle, replace(case, sizes=sizes))
    tile = factors.tile_of(name, case.meta)
    width = case.meta[tile] if tile else 1
    size = max(1, int(number) + (0, 1, 2, -1)[turn] if turn < 4 else int(number) * width + (turn - 4) * (width + 1))
    case = replace(case, sizes={**sizes, name: size})
    while tile and width < MOST_LANES and (not allowed(puzzle, case) or size // width > MOST_TURNS):
        width *= 2
        case = replace(case, meta={**case.meta, tile: width})
    return case


def _is_affordable(case: Case) -> bool:
    tiles = {name: case.meta[tile] for name in case.sizes if (tile := factors.tile_of(name, case.meta))}
    lanes = math.prod(-(-size // tiles.get(name, size)) * tiles.get(name, size) for name, size in case.sizes.items())
    return lanes <= MOST_LANES_IN_ALL and math.prod(case.meta.values()) <= MOST_LANES


def _is_fair(candidate: Candidate, outcome: Outcome) -> bool:
    """Whether the outcome counts: in a case that a kernel fails, the solution has to be right."""
    if outcome.result.status not in ("passed", "runtime_error") or not has_fault(candidate.puzzle, [outcome]):
        return outcome.ran
    if not SOLUTIONS.is_dir():
        return False
    text = solution(candidate.puzzle.name)
    source = replace(candidate.source, source=text, pieces=(Piece(1, text.count("\n"), "", 1),), configs=())
    case = prepare_if_possible(candidate.puzzle, outcome.case, None)
    if case is None:
        return False
    right = replace(candidate, source=source).simulate_cases([case])
    return not has_fault(candidate.puzzle, right)
