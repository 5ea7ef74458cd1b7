"""Index arithmetic that holds in small launches and wraps around in huge ones.

Nobody allocates a matrix of 2³¹ rows. The simulator runs a small case and follows beside it the integers that a launch would have
whose sizes and strides are as large as the domain allows (`checker.simulator.twins`). A number that does not fit in its type on the
way to an address, a mask or a decision fails the `memory` gate.
"""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cachetools import LRUCache, cached

from checker.judge import factors
from checker.judge.diagnosis import NONE_KNOWN
from checker.judge.finding_words import in_words
from checker.judge.launches import Prepared, bind, prepare_all
from checker.judge.memory_gate import GATE
from checker.judge.outcome import Candidate
from checker.judge.values_gate import unfinished
from checker.judge.verdict import Diagnosis, GateResult
from checker.misconceptions import bank
from checker.puzzle import LARGEST_SIZE, NORMAL, Larger, Launch, Puzzle

MISCONCEPTION = "offset_in_32_bits"
"""The belief behind offsets that wrap, in the bank of every puzzle with strides."""
MOST_PROGRAMS = (2**31 - 1, 65_535, 65_535)
"""Along each axis of a grid (CUDA C++ Programming Guide, technical specifications)."""
_MOST_REMEMBERED = 256
_TILES = 3
"""As many tiles show how numbers grow from one to the next."""
_STEPS = (3 * 2**18, 128)
"""float32 holds every 128th integer below 2³¹, and rounds those just above one of them down. A size just above a multiple of the first
step is also just above a multiple of a size without a tile, which is 3 times a power of two: float32 rounds the quotient down, too."""


@dataclass(frozen=True)
class _Growth:
    """Makes the sizes of a case larger, as far as the domain, the grid and 32 bits a size allow."""

    puzzle: Puzzle
    near: Prepared

    def launch(self, sizes: Mapping[str, int]) -> Launch | None:
        """The launch with these sizes; None if it cannot be made, were there memory for it."""
        case = replace(self.near.case, sizes=sizes)
        if not all(holds(case) for holds in self.puzzle.domain.related.values()):
            return None
        try:
            launch = bind(self.puzzle, case, self.near.tensors, self.near.config)
        except ValueError:
            return None
        numbers = [n for n in launch.arguments.values() if isinstance(n, int)]
        possible = all(n <= most for n, most in zip(launch.grid, MOST_PROGRAMS, strict=False))
        return launch if possible and all(n <= LARGEST_SIZE for n in numbers) else None

    def larger(self, sizes: Mapping[str, int], name: str) -> dict[str, int]:
        """`sizes` with this one as large as possible: alone, or together with another that it depends on."""
        meta = self.near.launch.meta
        tiles = [n for n in meta.values() if isinstance(n, int)]
        if tile_name := factors.tile_of(name, self.near.case.meta):
            tile = self.near.case.meta[tile_name]
            # the last program has an odd number, which float32 rounds, too
            first = _in_last_tile(tile) + (tile if 2 * tile < _STEPS[-1] else 0)
            steps = [math.lcm(step, *(n for n in tiles if n > 0)) for step in _STEPS]
            possible = [n for step in steps for n in self._tries({**sizes, name: first}, name, step)]
        else:
            possible = [*self._tries(sizes, name, sizes[name], doubled=True)]
        for other in self.puzzle.domain.sizes:
            if other != name and not self.puzzle.domain.sizes[other]:
                possible += self._tries(sizes, name, sizes[name], other)
        return max([dict(sizes), *possible], key=lambda s: s[name].bit_length())  # the first of those nearly as large

    def _tries(
        self, sizes: Mapping[str, int], name: str, step: int, other: str = "", *, doubled: bool = False
    ) -> Iterator[dict[str, int]]:
        """The largest that can be launched; if `doubled`, of those that are `step` times a power of two."""

        def grown(count: int) -> dict[str, int]:
            together = {other: sizes[other] * (count + 1)} if other else {}
            return {**sizes, name: sizes[name] + count * step, **together}

        def too_large(count: int) -> bool:
            return grown(count).get(other, 0) > LARGEST_SIZE or self.launch(grown(count)) is None

        most = (LARGEST_SIZE - sizes[name]) // step
        count = bisect_left(range(1, most + 1), True, key=too_large)
        if count:
            yield grown((1 << (count + 1).bit_length() - 1) - 1 if doubled else count)


@dataclass(frozen=True)
class Huge:
    """A small launch with a huge one to follow, whose sizes are `sizes`."""

    near: Prepared
    sizes: Mapping[str, int]

    def failed(self, candidate: Candidate) -> GateResult | None:
        """The memory gate's result for a kernel that is right in every case, or None if it is right here, too."""
        outcome = next(candidate.simulate([self.near]))
        if not outcome.ran or outcome.trace is None:
            return unfinished(GATE, candidate.source, outcome)
        findings = [f for f in outcome.trace.findings if f.kind == "wrap"]
        if not findings:
            return None
        first = min(findings, key=lambda f: f.line or 0)
        words = in_words(first, candidate.source, None)
        message = " ".join(filter(None, (f"In a launch too large to make, {words.what}.", words.why, self.tried())))
        return GateResult(
            GATE, "failed", message, line=first.line, advice=words.advice, case=self.near.case, findings=(first,)
        )

    def tried(self) -> str:
        assert self.near.launch.larger is not None
        numbers = self.near.launch.larger.numbers
        sizes = [
            f"{name} = {number:,}"
            for name, number in {**self.sizes, **numbers}.items()
            if not name.startswith("stride")
        ]
        strides = {number for name, number in numbers.items() if name.startswith("stride")}
        apart = "".join(f", and strides of {number:,}" for number in strides)
        return f"Followed for {', '.join(sizes)}{apart}, from a launch of {factors.described(self.near.case)}."


def diagnosis(candidate: Candidate, result: GateResult) -> Diagnosis:
    """The belief that 32 bits hold every offset, if that is the type that is too narrow."""
    belief = next((m for m in bank(candidate.puzzle.name) if m.name == MISCONCEPTION), None)
    if belief is None or not any(finding.type == "int32" for finding in result.findings):
        return NONE_KNOWN
    return Diagnosis(belief.name, belief.believed, belief.instead, belief.try_, result.line)


def huge_launches(puzzle: Puzzle, prepared: Sequence[Prepared]) -> list[Huge]:
    """Two of them: without flags and with all, with sizes as large as possible from the first one on and from the last.

    In the second, the first size is 1, because sizes that share an axis of the grid are large at each other's expense.
    """
    free = [name for name, choices in puzzle.domain.sizes.items() if not choices]
    launches = []
    for flags, names in (
        (False, free),
        (True, [*free[::-1], *free]),
    ):  # what is left over goes to the sizes that can use it
        near = _near(puzzle, prepared, free, flags)
        sizes = _grown(puzzle, near, tuple(names))
        launch = _Growth(puzzle, near).launch(sizes)
        assert launch is not None, near.case.name
        launches.append(
            Huge(replace(near, launch=replace(near.launch, larger=_larger(puzzle, near, sizes, launch))), sizes)
        )
    return launches


@cached(
    LRUCache(_MOST_REMEMBERED),
    key=lambda puzzle, near, names: (puzzle.make, near.case, repr(near.config), names),
    lock=threading.Lock(),
)
def _grown(puzzle: Puzzle, near: Prepared, names: tuple[str, ...]) -> Mapping[str, int]:
    """The sizes of a case, these made as large as possible one after another. Remembered for the next check: it takes 0.1 s."""
    growth, sizes = _Growth(puzzle, near), dict(near.case.sizes)
    for name in names:
        sizes = growth.larger(sizes, name)
    return sizes


def _near(puzzle: Puzzle, prepared: Sequence[Prepared], free: Sequence[str], flags: bool) -> Prepared:
    """A small case of ordinary numbers, with flags or without: three tiles of each size, the last one not full, if the domain allows."""

    def unfit(one: Prepared) -> tuple[int, ...]:
        wrong = sum(
            bool(value) != flags for name, value in one.case.flags.items() if name.isupper() and name != "RAGGED"
        )
        narrow = sum(tile < 8 for tile in one.case.meta.values())
        return int(one.case.flags.get("RAGGED", 0)), wrong, narrow, math.prod(one.case.meta.values())

    base = min(prepared, key=unfit)
    case = replace(base.case, family=NORMAL, layout="contiguous")
    for name in free:
        tile = case.meta.get(factors.tile_of(name, case.meta) or "", 0)
        size = 2 * tile + _in_last_tile(tile) if tile else 1 if flags and name == free[0] else _TILES
        tried = replace(case, sizes={**case.sizes, name: size})
        if all(holds(tried) for holds in puzzle.domain.related.values()):
            case = tried
    return prepare_all(puzzle, [(case, base.config)])[0]


def _in_last_tile(tile: int) -> int:
    """How many elements the last tile holds: three where there is room, so that a mask can mistake one for another."""
    return max(1, min(3, tile - 1))


def _larger(puzzle: Puzzle, near: Prepared, sizes: Mapping[str, int], launch: Launch) -> Larger:
    """Strides are as large as they can be while a tile's own offsets fit in 32 bits."""
    widest = max([16, *(n for n in launch.meta.values() if isinstance(n, int))])
    apart = 2**29 // widest // 16 * 16
    numbers = {
        name: apart if name.startswith("stride") else number
        for name, number in launch.arguments.items()
        if isinstance(number, int) and not isinstance(number, bool)
    }
    x, y, z = (*launch.grid, 1, 1)[:3]
    counts = {small: sizes[name] for name, small in sorted(near.case.sizes.items(), key=lambda s: sizes[s[0]])}
    indices = {f"{name}_ptr": LARGEST_SIZE - 2**20 for name in puzzle.domain.indices}
    return Larger((x, y, z), numbers, counts, indices)
