"""Covering arrays: few rows in which every value of every factor meets every value of every other one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from checker.puzzle import Case

Row = dict[str, Any]


def covering(factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Rows ``{factor: value}`` that hold every pair of values of two factors at least once, the same rows every time.

    A pair that no allowed row holds is left out. Of values that add as many pairs, the one used least comes first. Greedy, one
    row after another, as in Cohen, Dalal, Fredman & Patton 1997 (AETG). `allowed` is asked early about rows that are not complete,
    and its KeyError means that it cannot say yet.
    """
    missing = {
        frozenset({(one, x), (other, y)}): None
        for one, other in combinations(factors, 2)
        for x in factors[one]
        for y in factors[other]
    }
    left = Counter(at for pair in missing for at in pair)
    rows: list[Row] = []
    while missing:
        wanted = next(iter(missing))
        start = dict(sorted(wanted, key=lambda at: list(factors).index(at[0])))
        used = Counter(at for row in rows for at in row.items())
        row = _completed(start, factors, missing, left, used, allowed)
        done = [wanted] if row is None else [frozenset(pair) for pair in combinations(row.items(), 2)]
        for pair in done:
            if pair in missing:
                del missing[pair]
                left.subtract(pair)
        if row is None:
            continue
        rows.append({name: row[name] for name in factors})
    return rows


def smallest_first(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Each case once. A verdict speaks of the first that fails, and its diagnosis runs other kernels there, too."""
    once = {case.name: case for case in cases}
    return tuple(sorted(once.values(), key=lambda case: math.prod(case.sizes.values())))


def _completed(
    row: Row,
    factors: Mapping[str, Sequence[Any]],
    missing: Mapping[frozenset[Any], None],
    left: Counter[Any],
    used: Counter[Any],
    allowed: Callable[[Row], bool],
) -> Row | None:
    """`row` with a value for every factor, each time the one with most missing pairs; None where no such row is allowed."""
    name = next((name for name in factors if name not in row), None)
    try:
        if not allowed(row):
            return None
    except KeyError:
        if name is None:
            raise
    if name is None:
        return row

    def gained(value: Any) -> tuple[int, int, int]:
        now = sum(frozenset({(name, value), at}) in missing for at in row.items())
        return now, left[name, value], -used[name, value]

    for value in sorted(factors[name], key=gained, reverse=True):
        done = _completed({**row, name: value}, factors, missing, left, used, allowed)
        if done is not None:
            return done
    return None
