"""Look for the smallest case that fails the same gate: a bug in a 2 × 3 matrix can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.judge.launches import Prepared, named, prepare
from checker.judge.outcome import Outcome, simulate
from checker.judge.runner import Runner
from checker.puzzle import Case, Puzzle
from checker.submission.kernel import Config, KernelSource

MOST_RUNS = 20
MOST_TURNS = 256
"""Tiles that a case is cut into. One of more is no case to work out by hand, and takes long."""


def smallest_case(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    failing: Prepared,
    fails: Callable[[Outcome], bool],
) -> Case:
    """The smallest case found for which `fails` holds; that of `failing` where nothing smaller does.

    Small tiles first, then all sizes small together, then every size alone, within MOST_RUNS simulations. Tile sizes stay powers of two, and a tile that covers its whole dimension goes on covering it.
    """
    config, best = failing.config, failing.case
    search = _Search(puzzle, source, runner, config, fails)
    if config is None:
        best = search.first(_smaller_tiles(best, source)[:1]) or best
    best = search.first([_resized(best, dict.fromkeys(best.sizes, n)) for n in _together(best)]) or best
    for name in best.sizes:
        best = search.first([_resized(best, {name: n}) for n in _alone(best, name)]) or best
    if config is None:
        best = search.first(_smaller_tiles(best, source)) or best
    return best


class _Search:
    """Runs candidates within the budget of one search."""

    def __init__(
        self,
        puzzle: Puzzle,
        source: KernelSource,
        runner: Runner,
        config: Config | None,
        fails: Callable[[Outcome], bool],
    ) -> None:
        self.puzzle, self.source, self.runner, self.config, self.fails = puzzle, source, runner, config, fails
        self.left = MOST_RUNS

    def first(self, cases: Sequence[Case]) -> Case | None:
        """The first of `cases` that fails; a case that the puzzle cannot make at such sizes is left out."""
        prepared: list[Prepared] = []
        for case in [case for case in cases if _turns(case) <= MOST_TURNS][: self.left]:
            try:
                prepared.append(prepare(self.puzzle, case, self.config))
            except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
                continue
        for outcome in simulate(self.puzzle, self.source, self.runner, prepared):
            self.left -= 1
            if self.fails(outcome):
                return outcome.case
            if not outcome.ran:
                return None
        return None


def _turns(case: Case) -> int:
    tiled = ((size, case.meta.get(f"BLOCK_{name}")) for name, size in case.sizes.items())
    return math.prod(-(-size // tile) for size, tile in tiled if tile)


def _together(case: Case) -> list[int]:
    largest = max(case.sizes.values(), default=0)
    tiles = {n + 1 for name, n in case.meta.items() if name.startswith("BLOCK_")}
    return sorted(n for n in {1, 2, 3} | tiles if n < largest)


def _alone(case: Case, name: str) -> list[int]:
    size = case.sizes[name]
    tile = case.meta.get(f"BLOCK_{name}", 4)
    return sorted(n for n in {1, 2, 3, tile - 1, tile, tile + 1, size // 2} if 0 < n < size)


def _resized(case: Case, sizes: dict[str, int]) -> Case:
    return named(replace(case, sizes={**case.sizes, **sizes}))


def _smaller_tiles(case: Case, source: KernelSource) -> list[Case]:
    """All tiles as small as they may be, then half-way: at least 4 lanes, or 16 where the tile meets a `tl.dot`."""
    floor = 16 if "tl.dot" in source.source else 4
    found = []
    for least in (floor, 2 * floor):
        meta = {}
        for name, value in case.meta.items():
            size = case.sizes.get(name.removeprefix("BLOCK_"))
            if not name.startswith("BLOCK_") or size is None or isinstance(value, bool):
                meta[name] = value
                continue
            tile = min(least, value)
            while value >= size > tile:
                tile *= 2
            meta[name] = tile
        if meta != dict(case.meta):
            found.append(named(replace(case, meta=meta)))
    return found
