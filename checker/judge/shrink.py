"""Look for the smallest case that fails the same gate: a bug in a 2 × 3 matrix can be worked out by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.judge.outcome import Outcome, prepare, simulate
from checker.judge.prepare import Prepared
from checker.judge.runner import Runner
from checker.puzzle import Case, Puzzle
from checker.submission.kernel import Config, KernelSource

MOST_RUNS = 20
SECONDS = 0.5
_SMALL = (1, 2, 3, 4, 5, 7)


def shrink(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    failing: Case,
    config: Config | None,
    fails: Callable[[Outcome], bool],
) -> Case:
    """The smallest case found for which `fails` holds; `failing` itself where nothing smaller does.

    Tries every size alone first, then all of them together, then smaller tiles, within MOST_RUNS simulations and about
    SECONDS. Tile sizes stay powers of two, and a tile that covers its whole dimension goes on covering it.
    """
    deadline, runs = time.monotonic() + SECONDS, MOST_RUNS
    best = failing
    alone: dict[str, int] = {}
    each = max(runs // (2 * max(len(failing.sizes), 1)), 2)
    for name, size in failing.sizes.items():
        candidates = [_resized(failing, {name: n}) for n in _candidates(size)[:each]]
        runs -= len(candidates)
        found = _first_failing(puzzle, source, runner, candidates, config, fails)
        if found is not None:
            alone[name] = found.sizes[name]
            best = found if _volume(found) < _volume(best) else best
        if time.monotonic() > deadline:
            return best
    together = [_resized(failing, alone)] if len(alone) > 1 else []
    together += [_resized(failing, {k: v for k, v in alone.items() if k != left_out}) for left_out in alone if len(alone) > 2]
    found = _first_failing(puzzle, source, runner, together[:runs], config, fails)
    best = found if found is not None and _volume(found) < _volume(best) else best
    if config is None and time.monotonic() < deadline:
        smaller = [case for case in _smaller_tiles(best, source) if case != best]
        best = _first_failing(puzzle, source, runner, smaller[: max(runs - len(together), 0)], config, fails) or best
    return best


def _candidates(size: int) -> list[int]:
    tried = [n for n in _SMALL if n < size]
    tried += [n for n in (size // 4, size // 2, size - 1) if n > _SMALL[-1]]
    return sorted(set(tried))


def _resized(case: Case, sizes: dict[str, int]) -> Case:
    return _named(replace(case, sizes={**case.sizes, **sizes}))


def _named(case: Case) -> Case:
    parts = [f"{k} = {v}" for k, v in {**case.sizes, **case.meta}.items()] + [case.dtype]
    parts += [f"{case.family} values"] if case.family != "normal" else []
    parts += [case.layout] if case.layout != "contiguous" else []
    parts += [f"{k} = {v}" for k, v in case.flags.items()]
    return replace(case, name=", ".join(parts))


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
        found.append(_named(replace(case, meta=meta)))
    return found


def _volume(case: Case) -> int:
    volume = 1
    for size in case.sizes.values():
        volume *= max(size, 1)
    return volume


def _first_failing(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    cases: Sequence[Case],
    config: Config | None,
    fails: Callable[[Outcome], bool],
) -> Case | None:
    """The first of `cases` that fails; a case that the puzzle cannot make at such sizes is left out."""
    prepared: list[Prepared] = []
    for case in cases:
        try:
            prepared.append(prepare(puzzle, case, config))
        except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
            continue
    for outcome in simulate(puzzle, source, runner, prepared):
        if fails(outcome):
            return outcome.case
        if not outcome.ran:
            return None
    return None
