"""What makes a case fail: change one factor at a time, run the kernel again, and name the change that turns it right.

The number of runs is bounded, so the result does not depend on how busy the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from checker.judge import factors
from checker.judge.launches import Prepared, prepare_if_possible
from checker.judge.outcome import Candidate, Outcome, in_spite_of_stops
from checker.puzzle import NORMAL, Case

MOST_RUNS = 24
MOST_RAISED = 2048
"""No size is raised above this: the reference keeps all scores, which for 40,000 queries and keys take 12 GB."""


@dataclass(frozen=True)
class Change:
    """A case with one factor changed. `fails` completes the sentence "It fails …", and `right` says what it is now.

    The first change of a `factor` that turns the case right is reported. A factor may have changes of several kinds.
    """

    case: Case
    factor: str
    fails: str
    right: str
    kind: str = ""


def what_turns_it_right(
    candidate: Candidate, failing: Prepared, fails: Callable[[Outcome], bool], others: Sequence[Case] = ()
) -> str:
    """``It fails in float16; in float32 it is right.`` Empty if no single change does it. At most MOST_RUNS simulations.

    `others` are all cases that fail like this one. A change is not tried if one of them is already as plain in this respect: with a
    float32 case among them, float16 is not the cause.
    """
    tiles = failing.config is None
    possible_in = [{(change.factor, change.kind) for change in changes(case, tiles)} for case in others]
    for possible in possible_in:
        possible |= {("family", "parts")} if ("family", "") in possible else set()
    tasks = []
    for change in changes(failing.case, tiles):
        if all((change.factor, change.kind) in possible for possible in possible_in):
            prepared = prepare_if_possible(candidate.puzzle, change.case, failing.config)
            if prepared is not None:
                tasks.append((change, prepared))

    def run(rest: Sequence[tuple[Change, Prepared]]) -> Iterator[Outcome]:
        return candidate.simulate_side_by_side([prepared for _, prepared in rest])

    cures: dict[str, Change] = {}
    for (change, _), outcome in in_spite_of_stops(tasks[:MOST_RUNS], run):
        if outcome.ran and not fails(outcome):
            cures.setdefault(change.factor, change)
    if not cures:
        return ""
    first, *rest = cures.values()
    also = " and ".join(change.right for change in rest[:2])
    return f"It fails {first.fails}; {first.right} it is right{f', also {also}' if also else ''}."


def changes(case: Case, tiles: bool = True) -> Iterator[Change]:
    """The case with one factor at a time made as plain as possible, the most telling first. Without `tiles`, tiles stay."""
    for part, family in case.family.without.items():
        fails = f"with parts of a row {part}"
        yield Change(replace(case, family=family), "family", fails, "without them", "parts")
    if case.family != NORMAL:
        yield _plain(case, "family", NORMAL, f"with {case.family.words}", f"with {NORMAL.words}")
    if case.dtype != "float32":
        yield _plain(case, "dtype", "float32", f"in {case.dtype}", "in float32")
    if case.layout != "contiguous":
        layout = factors.LAYOUTS.get(case.layout, f"the {case.layout} layout")
        yield _plain(case, "layout", "contiguous", f"with {layout}", "with a contiguous layout")
    for name, value in case.flags.items():
        if value:
            plain = type(value)(0)
            on, off = factors.FLAGS.get(name, (f"with {name} = {value}", f"with {name} = {plain}"))
            yield Change(replace(case, flags={**case.flags, name: plain}), name, on, off)
    yield from _equal_sizes(case)
    yield from _fewer_tiles(case)
    if tiles:
        yield from _equal_tiles(case)


def _plain(case: Case, factor: str, value: Any, fails: str, right: str) -> Change:
    return Change(replace(case, **{factor: value}), factor, fails, right)


def _equal_sizes(case: Case) -> Iterator[Change]:
    """Two sizes of one kind, such as queries and keys, made equal."""
    for one, other in combinations(case.sizes, 2):
        a, b = case.sizes[one], case.sizes[other]
        if one.split("_")[0] != other.split("_")[0] or a == b:
            continue
        larger, smaller = (one, other) if a > b else (other, one)
        more, fewer = (factors.SIZES.get(name, name) for name in (larger, smaller))
        for changed, size in ((larger, min(a, b)), (smaller, max(a, b))):
            if changed == larger or size <= MOST_RAISED:
                right = f"with as many {more} as {fewer} ({larger} = {smaller} = {size})"
                fails = f"with more {more} ({larger}) than {fewer} ({smaller})"
                yield Change(_resized(case, changed, size), _pair(one, other), fails, right)


def _pair(one: str, other: str) -> str:
    return " ".join(sorted((one, other)))


def _fewer_tiles(case: Case) -> Iterator[Change]:
    """A size rounded to a multiple of its tile, then to a single tile."""
    for name, size in case.sizes.items():
        block = f"BLOCK_{name}"
        tile = case.meta.get(block)
        if tile is None:
            continue
        full = max(size // tile, 1) * tile
        if size % tile:
            fails = f"with {name} = {size}, which is no multiple of {block} = {tile}"
            yield Change(_resized(case, name, full), name, fails, f"with {name} = {full}", "remainder")
        if size > tile:
            fails = f"with {name} = {size}, more than one tile of {block} = {tile}"
            yield Change(_resized(case, name, tile), name, fails, f"with {name} = {tile}", "tiles")


def _equal_tiles(case: Case) -> Iterator[Change]:
    for one, other in combinations([name for name in case.meta if name.startswith("BLOCK_")], 2):
        a, b = case.meta[one], case.meta[other]
        if a != b:
            changed = replace(case, meta={**case.meta, one: max(a, b), other: max(a, b)})
            fails = f"with {one} = {a} and {other} = {b}"
            yield Change(changed, _pair(one, other), fails, f"with both {max(a, b)}")


def _resized(case: Case, name: str, size: int) -> Case:
    return replace(case, sizes={**case.sizes, name: size})
