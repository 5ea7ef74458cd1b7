"""What makes a case fail: one factor of it is changed at a time, and the kernel runs again. What turns it right is named.

Only what was tried is said. The number of runs is bounded, so the words do not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from checker.course import factors, families
from checker.judge.launches import Prepared, prepare
from checker.judge.outcome import Outcome, simulate
from checker.judge.runner import Runner
from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource

MOST_RUNS = 24


@dataclass(frozen=True)
class Change:
    """A case with one factor changed. It was ``fails``, as the end of a sentence that begins with "It fails", and is ``right`` now.

    Of changes of one `factor` the first that turns the case right is told.
    """

    case: Case
    factor: str
    fails: str
    right: str


def what_turns_it_right(
    puzzle: Puzzle, source: KernelSource, runner: Runner, failing: Prepared, fails: Callable[[Outcome], bool]
) -> str:
    """``It fails in float16; in float32 it is right.`` Empty where no single change does it. At most MOST_RUNS simulations."""
    told: dict[str, Change] = {}
    for change, outcome in _outcomes(puzzle, source, runner, failing):
        if outcome.ran and not fails(outcome):
            told.setdefault(change.factor, change)
    if not told:
        return ""
    first, *others = told.values()
    more = "".join(f", and so it is {change.right}" for change in others[:2])
    return f"It fails {first.fails}; {first.right} it is right{more}."


def _outcomes(
    puzzle: Puzzle, source: KernelSource, runner: Runner, failing: Prepared
) -> Iterator[tuple[Change, Outcome]]:
    """Every change that the puzzle can make, with what came of it; one that does not run to its end does not keep the next from running."""
    left = []
    for change in changes(failing.case, tiles=failing.config is None):
        try:
            left.append((change, prepare(puzzle, change.case, failing.config)))
        except (ValueError, IndexError, RuntimeError, ZeroDivisionError):
            continue
    left = left[:MOST_RUNS]
    while left:
        done = 0
        outcomes = simulate(puzzle, source, runner, [prepared for _, prepared in left])
        for (change, _), outcome in zip(left, outcomes, strict=False):
            done += 1
            yield change, outcome
        if not done:
            return
        left = left[done:]


def changes(case: Case, tiles: bool = True) -> Iterator[Change]:
    """The case with one factor at a time made as plain as it can be, the most telling first. Without `tiles` those stay."""
    for family, kind in families.with_a_kind_left_out(case.family).items():
        yield Change(replace(case, family=family), "family", f"with parts of a row {kind}", "without them")
    if case.family != "normal":
        rows = families.IN_WORDS.get(case.family, f"{case.family.replace('_', ' ')} values")
        yield Change(replace(case, family="normal"), "family", f"with {rows}", "with ordinary values")
    if case.dtype != "float32":
        yield Change(replace(case, dtype="float32"), "dtype", f"in {case.dtype}", "in float32")
    if case.layout != "contiguous":
        lies = factors.LAYOUTS.get(case.layout, f"the {case.layout} layout")
        yield Change(replace(case, layout="contiguous"), "layout", f"with {lies}", "with a contiguous layout")
    for name, value in case.flags.items():
        if value:
            plain = type(value)(0)
            changed = replace(case, flags={**case.flags, name: plain})
            on, off = factors.FLAGS.get(name, (f"with {name} = {value}", f"with {name} = {plain}"))
            yield Change(changed, name, on, off)
    yield from _as_many(case)
    yield from _fewer_tiles(case)
    if tiles:
        yield from _equal_tiles(case)


def _as_many(case: Case) -> Iterator[Change]:
    """Two sizes of one sort, such as queries and keys, made equal."""
    for one, other in combinations(case.sizes, 2):
        a, b = case.sizes[one], case.sizes[other]
        if one.split("_")[0] != other.split("_")[0] or a == b:
            continue
        larger, smaller = (one, other) if a > b else (other, one)
        words = [f"{factors.SIZES[name]} ({name})" if name in factors.SIZES else name for name in (larger, smaller)]
        fails = f"with more {words[0]} than {words[1]}"
        for changed, size in ((larger, min(a, b)), (smaller, max(a, b))):
            right = f"with as many ({larger} = {smaller} = {size})"
            yield Change(_resized(case, changed, size), f"{one} {other}", fails, right)


def _fewer_tiles(case: Case) -> Iterator[Change]:
    """A size made a multiple of its tile, then a single tile."""
    for name, size in case.sizes.items():
        block = f"BLOCK_{name}"
        tile = case.meta.get(block)
        if tile is None:
            continue
        if size % tile:
            full = max(size // tile, 1) * tile
            fails = f"with {name} = {size}, which is no multiple of {block} = {tile}"
            yield Change(_resized(case, name, full), name, fails, f"with {name} = {full}")
        if size > tile:
            fails = f"with {name} = {size}, more than one tile of {block} = {tile}"
            yield Change(_resized(case, name, tile), name, fails, f"with {name} = {tile}")


def _equal_tiles(case: Case) -> Iterator[Change]:
    for one, other in combinations([name for name in case.meta if name.startswith("BLOCK_")], 2):
        a, b = case.meta[one], case.meta[other]
        if a != b:
            changed = replace(case, meta={**case.meta, one: max(a, b), other: max(a, b)})
            yield Change(changed, f"{one} {other}", f"with {one} = {a} and {other} = {b}", f"with both {max(a, b)}")


def _resized(case: Case, name: str, size: int) -> Case:
    return replace(case, sizes={**case.sizes, name: size})
