"""The plainest case that fails the same gate: few everyday numbers in float32, so that a bug can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from checker.judge import factors
from checker.judge.launches import Prepared, prepare_if_possible, volume
from checker.judge.outcome import Candidate, Outcome
from checker.puzzle import NORMAL, Case, Family, Puzzle, Scalar

MOST_RUNS = 40
LARGEST_TILE = 4096
MOST_TILES = 256
"""A case with more tiles takes long and cannot be worked out by hand."""
FEW = 3
"""Numbers in a row: with fewer, a softmax is 1 whatever the kernel does, and with more, a row is longer than it need be."""
FAMILIES = 3
"""So many families of harder numbers are tried in rows of a few."""
DRAWS = 3
"""So many draws of ordinary numbers, because the largest has to come late in a row to expose some mistakes."""
FITS_A_HEAD = 1000.0
"""Numbers beyond this magnitude are not what people calculate with."""


def plainest_failure(
    candidate: Candidate, failing: Sequence[Outcome], fails: Callable[[Outcome], bool], most_runs: int = MOST_RUNS
) -> Outcome:
    """The plainest outcome for which `fails` holds, after at most `most_runs` simulations; at worst one of `failing`.

    Ordinary float32 numbers in packed tensors come first, a few of them, whether or not the puzzle has such a case. Only if the kernel
    is right there does a harder case stay: a few numbers of a family that fails, or else the plainest of `failing`, with whatever can
    be made plain. Then tiles and sizes shrink.
    A case in which some number is plainly wrong is not given up for one in which all look like rounding.
    """
    puzzle, columns = candidate.puzzle, _columns(candidate.puzzle, failing[0].case)
    hardness = {id(outcome): _hardness(outcome.prepared, columns) for outcome in failing}
    start = min(failing, key=lambda outcome: (not _is_plain(outcome), *hardness[id(outcome)]))
    search, tiles = _Search(candidate, start, fails, most_runs), start.prepared.config is None
    search.first(list(_everyday(puzzle, search.case, tiles)))
    if not is_everyday(search.case):
        if start.case.family != NORMAL:
            reach = hardness[id(start)][:2]
            alike = sorted((o for o in failing if hardness[id(o)][:2] == reach), key=lambda o: hardness[id(o)])
            families = [family for family in dict.fromkeys(o.case.family for o in alike) if family != NORMAL]
            search.first(list(_few_of_each(puzzle, search.case, families[:FAMILIES], tiles)))
        search.first(list(_plainer(puzzle, search.case, tiles)))
    search.shrink()
    return search.best


def is_everyday(case: Case) -> bool:
    """Whether nothing about the case is special but its sizes."""
    return (case.family, case.dtype, case.layout) == (NORMAL, "float32", "contiguous") and not any(case.flags.values())


def _is_plain(outcome: Outcome) -> bool:
    return outcome.comparison is None or outcome.right or outcome.comparison.plain


def _hardness(prepared: Prepared, columns: str) -> tuple[float, ...]:
    """How far a case is from what people calculate by hand: first its values, then what else is special, then its size."""
    case, inputs = prepared.case, [t for name, t in prepared.tensors.items() if name not in prepared.expected]
    numbers = [t.double() for t in inputs if t.is_floating_point() and t.numel()]
    beyond = any(float(t.nan_to_num(0.0, 0.0, 0.0).abs().max()) > FITS_A_HEAD for t in numbers)
    endless = any(not bool(t.isfinite().all()) for t in numbers)
    return (
        *(beyond, endless, case.family != NORMAL, case.sizes[columns] < FEW),
        *(sum(map(bool, case.flags.values())), case.dtype != "float32", case.layout != "contiguous"),
        *(_tiles(case) > MOST_TILES, volume(case)),
    )


@dataclass
class _Search:
    """The plainest failing outcome so far, and the simulations that are left."""

    candidate: Candidate
    best: Outcome
    fails: Callable[[Outcome], bool]
    runs_left: int

    @property
    def case(self) -> Case:
        return self.best.case

    def first(self, cases: Sequence[Case]) -> None:
        """Go on with the first of `cases` that fails, if any. It is mostly an early one, so each pass runs twice as many as the last."""
        puzzle, config = self.candidate.puzzle, self.best.prepared.config
        small = [case for case in dict.fromkeys(cases) if _tiles(case) <= MOST_TILES and allowed(puzzle, case)]
        left, count = [case for case in small if case != self.case][: self.runs_left], 1
        while left:
            possible = filter(None, (prepare_if_possible(puzzle, case, config) for case in left[:count]))
            for outcome in self.candidate.simulate_side_by_side(list(possible)):
                self.runs_left -= 1
                if self.fails(outcome) and (_is_plain(outcome) or not _is_plain(self.best)):
                    self.best = outcome
                    return
                if not outcome.ran:
                    return
            left, count = left[count:], 2 * count

    def shrink(self) -> None:
        """Small tiles first, then all sizes small together, then each alone. A tile that covers its whole dimension still covers it."""
        puzzle, tiles = self.candidate.puzzle, self.best.prepared.config is None
        if tiles:
            small = in_small_tiles(puzzle, self.case)
            self.first([_cut_alike(self.case, small), small, in_small_tiles(puzzle, self.case, covering=True)])
        self.first([_at_most(puzzle, self.case, n) for n in _sizes_of_all(self.case)])
        for name in self.case.sizes:
            self.first([_resized(self.case, name, n) for n in _sizes_of_one(puzzle, self.case, name)])
        if tiles:
            self.first([in_small_tiles(puzzle, self.case), in_small_tiles(puzzle, self.case, covering=True)])


def _everyday(puzzle: Puzzle, case: Case, tiles: bool) -> Iterator[Case]:
    """Ordinary numbers: a few in one row, or just more than one tile, or in every tiled dimension; then in the sizes of `case`.

    Without `tiles`, tiles stay. Of batches, heads and the like there are few, because each of them makes programs of its own.
    """
    plain = replace(case, family=NORMAL, dtype="float32", layout="contiguous", flags=_off(case), seed=0)
    columns, tile = _columns(puzzle, case), _smallest_tile(puzzle, plain, tiles)
    lengths = sorted({FEW, 2 * FEW, tile + 1, 2 * tile})
    pairs = [(n, others) for n in lengths for others in (1, 2, n)]
    at = sum(n <= 2 * FEW for n, _ in pairs)
    pairs.insert(at, (1, 2))  # fewer keys than splits, or than queries
    for seed in range(DRAWS):
        for n, others in pairs if seed == 0 else pairs[:3]:
            yield _few(puzzle, replace(plain, seed=seed), n, others, tiles)
    yield plain
    rows = {name: smallest_from(puzzle, name, FEW if name == columns else 2) for name in case.sizes}
    apart = replace(plain, sizes=rows, layout="padded")  # ordinary numbers, too: only the strides are special
    yield in_small_tiles(puzzle, apart) if tiles else apart


def _few_of_each(puzzle: Puzzle, case: Case, families: Sequence[Family], tiles: bool) -> Iterator[Case]:
    """A few numbers of each family, then just more than one tile; with several heads, which may begin with other kinds of numbers."""
    plain = replace(case, dtype="float32", layout="contiguous", flags=_off(case), seed=0)
    for n in (FEW, 2 * FEW, _smallest_tile(puzzle, plain, tiles) + 1):
        for family in families:
            yield _few(puzzle, replace(plain, family=family), n, n, tiles)


def _few(puzzle: Puzzle, case: Case, n: int, others: int, tiles: bool) -> Case:
    """The case with `n` numbers in a row, and `others` in every tiled dimension, but at most two of batches, heads and the like."""
    columns = _columns(puzzle, case)
    wanted = {
        name: n if name == columns else others if factors.tile_of(name, case.meta) else min(others, 2)
        for name in case.sizes
    }
    sizes = {name: smallest_from(puzzle, name, size) for name, size in wanted.items()}
    small = replace(case, sizes=sizes)
    return in_small_tiles(puzzle, small) if tiles else small


def _smallest_tile(puzzle: Puzzle, case: Case, tiles: bool) -> int:
    """Of a row. Without `tiles`, the case's own."""
    least = replace(case, sizes={name: smallest_from(puzzle, name, 1) for name in case.sizes})
    least = in_small_tiles(puzzle, least) if tiles else case
    return least.meta.get(factors.tile_of(_columns(puzzle, case), case.meta) or "", FEW)


def ordinary_cases(puzzle: Puzzle, case: Case, tiles: bool) -> list[Case]:
    """A dozen small cases of ordinary numbers, with some rows of several tiles."""
    return [one for one in dict.fromkeys(_everyday(puzzle, case, tiles)) if allowed(puzzle, one)][:12]


def _plainer(puzzle: Puzzle, case: Case, tiles: bool) -> Iterator[Case]:
    """The case with all that is special about it made plain except its values, then with less and less made plain.

    A row of one or two numbers is made longer first. Without `tiles`, tiles stay.
    """
    float32, columns = replace(case, dtype="float32"), _columns(puzzle, case)
    if case.sizes[columns] < FEW:
        longer = replace(_resized(float32, columns, FEW), layout="contiguous", flags=_off(case))
        yield in_small_tiles(puzzle, longer) if tiles else longer
    for layout in ("contiguous", case.layout):
        yield replace(float32, layout=layout, flags=_off(case))
        yield replace(float32, layout=layout)
        yield replace(case, layout=layout, flags=_off(case))
    yield replace(case, layout="contiguous")


def _off(case: Case) -> dict[str, Scalar]:
    return {name: type(value)(0) for name, value in case.flags.items()}


def _columns(puzzle: Puzzle, case: Case) -> str:
    """The size that a row of the puzzle has: the last that may be any number, of those that tiles cut, if any."""
    free = [name for name in case.sizes if not puzzle.domain.sizes.get(name)]
    tiled = [name for name in free if factors.tile_of(name, case.meta)]
    return (tiled or free or list(case.sizes))[-1]


def smallest_from(puzzle: Puzzle, name: str, size: int) -> int:
    """The size, or the smallest of those that the puzzle allows."""
    return min(puzzle.domain.sizes.get(name, ()), default=size)


def allowed(puzzle: Puzzle, case: Case) -> bool:
    fits = all(size in (puzzle.domain.sizes.get(name) or [size]) for name, size in case.sizes.items())
    return fits and all(holds(case) for holds in puzzle.domain.related.values())


def _tiles(case: Case) -> int:
    tiled = ((size, case.meta.get(factors.tile_of(name, case.meta) or "")) for name, size in case.sizes.items())
    return math.prod(-(-size // tile) for size, tile in tiled if tile)


def _sizes_of_all(case: Case) -> list[int]:
    tiles = {n + 1 for name, n in case.meta.items() if not isinstance(n, bool)}
    return sorted({1, 2, FEW} | tiles)


def _sizes_of_one(puzzle: Puzzle, case: Case, name: str) -> list[int]:
    size, few = case.sizes[name], FEW if name == _columns(puzzle, case) else 1
    tile = case.meta.get(factors.tile_of(name, case.meta) or "", 4)
    return sorted(n for n in {1, 2, FEW, tile - 1, tile, tile + 1, size // 2} if few <= n < size)


def _resized(case: Case, name: str, n: int) -> Case:
    return replace(case, sizes={**case.sizes, name: n})


def _at_most(puzzle: Puzzle, case: Case, n: int) -> Case:
    """No size grows: a row must not outgrow a tile that has to hold it. A row keeps a few numbers."""
    columns = _columns(puzzle, case)
    sizes = {
        name: min(size, smallest_from(puzzle, name, max(n, FEW) if name == columns else n))
        for name, size in case.sizes.items()
    }
    return replace(case, sizes=sizes)


def in_small_tiles(puzzle: Puzzle, case: Case, covering: bool = False) -> Case:
    """The case with every tile as small as the puzzle allows, but not of one lane. `covering`: or as a dimension that it covers needs."""
    for name, size in case.sizes.items():
        tile = factors.tile_of(name, case.meta)
        if tile is None or tile not in puzzle.domain.tiles:
            continue
        covered, width = covering and case.meta[tile] >= size, max(puzzle.domain.tiles[tile], 2)
        small = replace(case, meta={**case.meta, tile: width})
        while width < LARGEST_TILE and (not allowed(puzzle, small) or (covered and width < size)):
            width *= 2
            small = replace(case, meta={**case.meta, tile: width})
        case = small
    return case


def _cut_alike(case: Case, smaller: Case) -> Case:
    """`smaller`, which has smaller tiles, with as many of them as `case` has, and a remainder where `case` has one."""
    sizes = dict(case.sizes)
    for name, size in case.sizes.items():
        tile = factors.tile_of(name, case.meta)
        if tile is not None and smaller.meta[tile] < case.meta[tile]:
            full, rest = divmod(size, case.meta[tile])
            sizes[name] = min(size, full * smaller.meta[tile] + min(rest, smaller.meta[tile] - 1))
    return replace(smaller, sizes={name: max(size, 1) for name, size in sizes.items()})
