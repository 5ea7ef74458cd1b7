"""What makes a case fail: change one factor at a time, run the kernel again, and name the change that turns it right.

The number of runs is bounded, so the result does not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from checker.course import factors
from checker.judge.launches import Prepared, prepare_if_possible
from checker.judge.outcome import Outcome, in_spite_of_stops, simulate
from checker.judge.runner import Runner
from checker.puzzle import NORMAL, Case, Family, Puzzle
from checker.submission.kernel import KernelSource

MOST_RUNS = 24
MOST_RAISED = 2048
"""No size is raised above this: the reference keeps all scores, which for 40,000 queries and keys take 12 GB."""


@dataclass(frozen=True)
class Change:
    """A case with one factor changed. `fails` completes the sentence "It fails …", and `right` says what it is now.

    The first change of a `factor` that turns the case right is reported. `already` says whether another case is as plain in this
    respect: if such a case fails, this factor is not the cause.
    """

    case: Case
    factor: str
    fails: str
    right: str
    already: Callable[[Case], bool]


def what_turns_it_right(
    puzzle: Puzzle,
    source: KernelSource,
    runner: Runner,
    failing: Prepared,
    fails: Callable[[Outcome], bool],
    others: Sequence[Case] = (),
) -> str:
    """``It fails in float16; in float32 it is right.`` Empty if no single change does it. At most MOST_RUNS simulations.

    `others` are all cases that fail like this one: with a float32 case among them, float32 is not tried.
    """
    cures: dict[str, Change] = {}
    for change, outcome in _outcomes(puzzle, source, runner, failing, others):
        if outcome.ran and not fails(outcome):
            cures.setdefault(change.factor, change)
    if not cures:
        return ""
    first, *rest = cures.values()
    also = " and ".join(change.right for change in rest[:2])
    more = f", also {also}" if also else ""
    return f"It fails {first.fails}; {first.right} it is right{more}."


def _outcomes(
    puzzle: Puzzle, source: KernelSource, runner: Runner, failing: Prepared, others: Sequence[Case]
) -> Iterator[tuple[Change, Outcome]]:
    """Every change that the puzzle allows, with its outcome. A run that does not reach its end does not stop the next."""
    possible = []
    for change in changes(failing.case, tiles=failing.config is None):
        if any(change.already(case) for case in others):
            continue
        prepared = prepare_if_possible(puzzle, change.case, failing.config)
        if prepared is not None:
            possible.append((change, prepared))

    def run(rest: Sequence[tuple[Change, Prepared]]) -> Iterator[Outcome]:
        return simulate(puzzle, source, runner, [prepared for _, prepared in rest])

    for (change, _), outcome in in_spite_of_stops(possible[:MOST_RUNS], run):
        yield change, outcome


def changes(case: Case, tiles: bool = True) -> Iterator[Change]:
    """The case with one factor at a time made as plain as possible, the most telling first. Without `tiles`, tiles stay."""
    for kind, family in case.family.without.items():
        yield Change(
            replace(case, family=family),
            "family",
            f"with parts of a row {kind}",
            "without them",
            lambda other: not other.family.without,
        )
    if case.family != NORMAL:
        yield _plain(case, "family", NORMAL, f"with {case.family.words}", f"with {NORMAL.words}")
    if case.dtype != "float32":
        yield _plain(case, "dtype", "float32", f"in {case.dtype}", "in float32")
    if case.layout != "contiguous":
        lies = factors.LAYOUTS.get(case.layout, f"the {case.layout} layout")
        yield _plain(case, "layout", "contiguous", f"with {lies}", "with a contiguous layout")
    for name, value in case.flags.items():
        if value:
            plain = type(value)(0)
            changed = replace(case, flags={**case.flags, name: plain})
            on, off = factors.FLAGS.get(name, (f"with {name} = {value}", f"with {name} = {plain}"))
            yield Change(changed, name, on, off, lambda other, name=name: not other.flags.get(name))  # type: ignore[misc]
    yield from _as_many(case)
    yield from _fewer_tiles(case)
    if tiles:
        yield from _equal_tiles(case)


def _plain(case: Case, factor: str, value: str | Family, fails: str, right: str) -> Change:
    changed = replace(case, **{factor: value})  # type: ignore[arg-type]
    return Change(changed, factor, fails, right, lambda other: getattr(other, factor) == value)


def _as_many(case: Case) -> Iterator[Change]:
    """Two sizes of one kind, such as queries and keys, made equal."""
    for one, other in combinations(case.sizes, 2):
        a, b = case.sizes[one], case.sizes[other]
        if one.split("_")[0] != other.split("_")[0] or a == b:
            continue
        larger, smaller = (one, other) if a > b else (other, one)
        words = [f"{factors.SIZES[name]} ({name})" if name in factors.SIZES else name for name in (larger, smaller)]
        fails = f"with more {words[0]} than {words[1]}"
        as_many = lambda c, one=one, other=other: c.sizes[one] == c.sizes[other]  # noqa: E731
        for changed, size in ((larger, min(a, b)), (smaller, max(a, b))):
            if changed == smaller and size > MOST_RAISED:
                continue
            right = f"with as many ({larger} = {smaller} = {size})"
            yield Change(_resized(case, changed, size), f"{one} {other}", fails, right, as_many)


def _fewer_tiles(case: Case) -> Iterator[Change]:
    """A size rounded to a multiple of its tile, then to a single tile."""
    for name, size in case.sizes.items():
        block = f"BLOCK_{name}"
        tile = case.meta.get(block)
        if tile is None:
            continue
        full = max(size // tile, 1) * tile
        no_rest = lambda c, name=name, block=block: c.sizes[name] % c.meta.get(block, 1) == 0  # noqa: E731
        one_tile = lambda c, name=name, block=block: c.sizes[name] <= c.meta.get(block, 0)  # noqa: E731
        if size % tile:
            fails = f"with {name} = {size}, which is no multiple of {block} = {tile}"
            yield Change(_resized(case, name, full), name, fails, f"with {name} = {full}", no_rest)
        if size > tile:
            fails = f"with {name} = {size}, more than one tile of {block} = {tile}"
            yield Change(_resized(case, name, tile), name, fails, f"with {name} = {tile}", one_tile)


def _equal_tiles(case: Case) -> Iterator[Change]:
    for one, other in combinations([name for name in case.meta if name.startswith("BLOCK_")], 2):
        a, b = case.meta[one], case.meta[other]
        if a != b:
            changed = replace(case, meta={**case.meta, one: max(a, b), other: max(a, b)})
            equal = lambda c, one=one, other=other: c.meta[one] == c.meta[other]  # noqa: E731
            fails = f"with {one} = {a} and {other} = {b}"
            yield Change(changed, f"{one} {other}", fails, f"with both {max(a, b)}", equal)


def _resized(case: Case, name: str, size: int) -> Case:
    return replace(case, sizes={**case.sizes, name: size})
