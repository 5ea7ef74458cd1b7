"""The smallest case that fails the same gate: a bug in a 2 × 3 matrix can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.judge.launches import Prepared, prepare_if_possible
from checker.judge.outcome import Candidate, Outcome
from checker.puzzle import Case

MOST_RUNS = 20
MOST_TILES = 256
"""A case with more tiles takes long and cannot be worked out by hand."""


def smallest_case(candidate: Candidate, failing: Prepared, fails: Callable[[Outcome], bool]) -> Case:
    """The smallest case for which `fails` holds, at worst the case of `failing`, after at most MOST_RUNS simulations.

    Small tiles come first, then all sizes small together, then each size alone. Tile sizes stay powers of two, and a tile that covers
    its whole dimension still covers it.
    """
    config, best, runs_left = failing.config, failing.case, MOST_RUNS

    def first(cases: Sequence[Case]) -> Case:
        """The first of `cases` that fails, or `best`."""
        nonlocal runs_left
        few = [case for case in cases if _tiles(case) <= MOST_TILES][:runs_left]
        possible = [prepare_if_possible(candidate.puzzle, case, config) for case in few]
        for outcome in candidate.simulate_side_by_side([prepared for prepared in possible if prepared]):
            runs_left -= 1
            if fails(outcome):
                return outcome.case
        return best

    floor = 16 if "tl.dot" in candidate.source.source else 4
    if config is None:
        best = first(_with_small_tiles(best, floor)[:1])
    best = first([_at_most(best, n) for n in _sizes_of_all(best)])
    for name in best.sizes:
        best = first([_resized(best, {name: n}) for n in _sizes_of_one(best, name)])
    if config is None:
        best = first(_with_small_tiles(best, floor))
    return best


def _tiles(case: Case) -> int:
    tiled = ((size, case.meta.get(f"BLOCK_{name}")) for name, size in case.sizes.items())
    return math.prod(-(-size // tile) for size, tile in tiled if tile)


def _sizes_of_all(case: Case) -> list[int]:
    largest = max(case.sizes.values(), default=0)
    tiles = {n + 1 for name, n in case.meta.items() if name.startswith("BLOCK_")}
    return sorted(n for n in {1, 2, 3} | tiles if n < largest)


def _sizes_of_one(case: Case, name: str) -> list[int]:
    size = case.sizes[name]
    tile = case.meta.get(f"BLOCK_{name}", 4)
    return sorted(n for n in {1, 2, 3, tile - 1, tile, tile + 1, size // 2} if 0 < n < size)


def _resized(case: Case, sizes: dict[str, int]) -> Case:
    return replace(case, sizes={**case.sizes, **sizes})


def _at_most(case: Case, n: int) -> Case:
    """No size grows: a row must not outgrow a tile that has to hold it."""
    return _resized(case, {name: min(size, n) for name, size in case.sizes.items()})


def _with_small_tiles(case: Case, floor: int) -> list[Case]:
    """The case with all tiles as small as possible but with at least `floor` lanes, then with at least twice as many."""
    cases = []
    for least in (floor, 2 * floor):
        meta = dict(case.meta)
        for name, value in case.meta.items():
            size = case.sizes.get(name.removeprefix("BLOCK_"))
            if name.startswith("BLOCK_") and size is not None and not isinstance(value, bool):
                tile = min(least, value)
                while value >= size > tile:
                    tile *= 2
                meta[name] = tile
        if meta != dict(case.meta):
            cases.append(replace(case, meta=meta))
    return cases
