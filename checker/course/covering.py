"""Covering arrays: few rows that contain every pair of values of any two factors."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from checker.puzzle import Case

Row = dict[str, Any]


def covering(factors: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Rows ``{factor: value}`` in which every pair of values of two factors occurs at least once. Deterministic.

    Pairs that no allowed row can contain are left out. Rows are built greedily, one after another, as in Cohen, Dalal, Fredman &
    Patton 1997 (AETG); among values that cover equally many new pairs, the least used wins. `allowed` also gets incomplete rows,
    and raises KeyError where it cannot decide yet.
    """
    missing = {
        frozenset({(first, x), (second, y)}): None
        for first, second in combinations(factors, 2)
        for x in factors[first]
        for y in factors[second]
    }
    left = Counter(item for pair in missing for item in pair)
    rows: list[Row] = []
    while missing:
        wanted = next(iter(missing))
        start = dict(sorted(wanted, key=lambda item: list(factors).index(item[0])))
        used = Counter(item for row in rows for item in row.items())
        row = _completed(start, factors, missing, left, used, allowed)
        done = [wanted] if row is None else [frozenset(pair) for pair in combinations(row.items(), 2)]
        for pair in done:
            if pair in missing:
                del missing[pair]
                left.subtract(pair)
        if row is not None:
            rows.append({name: row[name] for name in factors})
    return rows


def each_once(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases in their order, one for each name."""
    return tuple({case.name: case for case in cases}.values())


def smallest_first(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Each case once, by size: a verdict names the first that fails, and the diagnosis runs more kernels on it."""
    return tuple(sorted(each_once(cases), key=lambda case: math.prod(case.sizes.values())))


@functools.cache
def prime_below(n: int, block: int = 1) -> int:
    """The largest prime below n > 2. If `block` is above 4, its remainder on division by `block` is neither 1 nor `block` - 1."""
    edges = (1, block - 1) if block > 4 else ()
    return next(
        p for p in range(n - 1, 1, -1) if p % block not in edges and all(p % i for i in range(2, math.isqrt(p) + 1))
    )


def length(full: int, block: int, remainder: str, *, off_edges: bool = True) -> int:
    """A length in tiles of `block`, which hold `full` together, with the last tile as full as `remainder` says.

    "none" fills it, "one" and "all but one" count its elements, "prime" is a prime length (with `off_edges` none that leaves one
    element or all but one). "short" is less than one tile, "alone" a single element.
    """
    lengths = {"none": full, "one": full - block + 1, "all but one": full - 1, "short": block // 2 + 1, "alone": 1}
    return lengths.get(remainder) or prime_below(full - 1, block if off_edges else 1)


def _completed(
    row: Row,
    factors: Mapping[str, Sequence[Any]],
    missing: Mapping[frozenset[Any], None],
    left: Counter[Any],
    used: Counter[Any],
    allowed: Callable[[Row], bool],
) -> Row | None:
    """`row` completed with the values that cover most missing pairs; None where no such row is allowed."""
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
        now = sum(frozenset({(name, value), item}) in missing for item in row.items())
        return now, left[name, value], -used[name, value]

    for value in sorted(factors[name], key=gained, reverse=True):
        done = _completed({**row, name: value}, factors, missing, left, used, allowed)
        if done is not None:
            return done
    return None
