"""The space of a puzzle's cases: factors that are combined in pairs, or drawn at random."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

from checker.authoring.covering import Row, completed, covering, scattered
from checker.puzzle import Case

TRIES = 100
"""Random rows to try with one value of `Space.once` before another takes its place."""


@dataclass(frozen=True)
class Space:
    """All combinations of the values of some factors. Fixed cases cover all pairs of values, drawn cases are random combinations.

    - ``case(row)`` makes the case of one combination, a mapping from factors to values. `allowed` leaves combinations out.
      It also gets incomplete rows, and raises KeyError if it cannot decide yet.
    - `wider` replaces the values of some factors when cases are drawn.
    - Each of `largest` adds a drawn case with these values, larger than any fixed one.
    - `once` holds further values of some factors: each is in one fixed case, not paired with all others. A few drawn cases have
      one, too.
    """

    factors: Mapping[str, Sequence[Any]]
    case: Callable[[Row], Case]
    allowed: Callable[[Row], bool] = lambda row: True
    wider: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    largest: Sequence[Mapping[str, Any]] = ()
    once: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def pairs(self) -> tuple[Case, ...]:
        """Few cases that contain every pair of values of two factors, and each value of `once`, the smallest first."""
        return self._pairs

    @cached_property
    def _pairs(self) -> tuple[Case, ...]:
        rows = covering(self.factors, self.allowed)
        rows += scattered(self.factors, self.once, rows, self.allowed)
        return smallest_first(self.case(row) for row in rows)

    def draw(self, random: Random, count: int = 5, further: int = 4) -> tuple[Case, ...]:
        """Random cases with seeds of their own: `count`, then `further` with a value of `once`, and one for each of `largest`."""
        levels = [{name: value} for name, values in self.once.items() for value in values]
        drawn = {**self.factors, **self.wider}
        rows = [self._row(random, [{}], drawn) for _ in range(count)]
        rows += [self._row(random, levels, drawn, self.factors, self.once) for _ in range(further if levels else 0)]
        rows += [self._row(random, [{}], drawn) | dict(values) for values in self.largest]
        return tuple(replace(self.case(row), seed=random.getrandbits(32)) for row in rows)

    def _row(self, random: Random, starts: Sequence[Row], *pools: Mapping[str, Sequence[Any]]) -> Row:
        """An allowed row that completes one of `starts` with values of `pools`. If none turns up, it tries another start."""
        while True:
            start = random.choice(starts)
            for _ in range(TRIES):
                found = {name: [random.choice(pool[name]) for pool in pools if name in pool] for name in self.factors}
                tried = {name: random.sample(values, len(values)) for name, values in found.items()}
                row = completed(start, tried, self.allowed)
                if row is not None:
                    return row


def smallest_first(cases: Iterable[Case]) -> tuple[Case, ...]:
    """Each case once, by size: a verdict names the first that fails, and the diagnosis runs more kernels on it."""
    return tuple(sorted(dict.fromkeys(cases), key=lambda case: math.prod(case.sizes.values())))


@functools.cache
def prime_below(n: int, block: int = 1) -> int:
    """The largest prime below n > 2. If `block` is above 4, its remainder on division by `block` is neither 1 nor `block` - 1."""
    edges = (1, block - 1) if block > 4 else ()
    return next(
        p for p in range(n - 1, 1, -1) if p % block not in edges and all(p % i for i in range(2, math.isqrt(p) + 1))
    )


def length(full: int, block: int, remainder: str | float, *, off_edges: bool = True) -> int:
    """A length in tiles of `block`, which hold `full` together, with the last tile as full as `remainder` says.

    "none" fills it, "half" fills half of it, "one" and "all but one" count its elements, "prime" is a prime length (with `off_edges`
    none that leaves one element or all but one). "short" is less than one tile, "alone" a single element. A number below 1 is the
    share that is missing.
    """
    if not isinstance(remainder, str):
        return full - int(remainder * block)
    lengths = {
        "none": full,
        "half": full - block // 2,
        "one": full - block + 1,
        "all but one": full - 1,
        "short": block // 2 + 1,
        "alone": 1,
    }
    return lengths.get(remainder) or prime_below(full - 1, block if off_edges else 1)


ANY_REMAINDER = tuple(i / 64 for i in range(64))
"""For `Space.wider`: shares of the last tile that are missing."""
ROUND = ("half",)
"""For `Space.once`, with tiles of at least 32: 16 divides a length and its tile does not, so no mask may depend on `N % 16`."""
