"""The compiler's facts as people read them: one row a fact, one column a GPU, and sentences that follow from the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from checker.compiler import SHARED_MEMORY, CompileResult, Dot, SharedTile, TensorCore
from checker.compiler.occupancy import MOST_REGISTERS, Occupancy, occupancy
from checker.judge.words import join
from checker.verbs.panels import Cell
from checker.view.theme import count

UNKNOWN = "not known"
WIDEST = 16  # bytes that one lane can load at once
_BANKS, _BANK = 32, 4  # shared memory answers 32 banks of 4 bytes at a time
_TYPES = {"f16": "float16", "bf16": "bfloat16", "tf32": "TF32", "f32": "float32", "f64": "float64", "s8": "int8"}

Results = Mapping[str, CompileResult]
"""By the GPU's name, only those that compiled."""


def rows(results: Results) -> list[list[Cell]]:
    """The table; a row that would be empty for every GPU is left out."""
    with_dots = any(result.dots or result.dots is None for result in results.values())
    with_tma = any(_number(result, "tma_copies") for result in results.values())
    wanted: list[tuple[str, Callable[[CompileResult], str | Cell]]] = [
        ("registers per thread", _registers),
        ("spilled per thread", _spilled),
        ("shared memory", _shared),
        ("programs on one SM", lambda r: _programs(_held(r))),
        ("what limits them", lambda r: _limits(_held(r))),
        ("loads, per lane", lambda r: _width(r, "load")),
        ("stores, per lane", lambda r: _width(r, "store")),
        ("copies past registers", _copies),
        *([("copies by TMA", lambda r: _or_unknown(_number(r, "tma_copies")))] if with_tma else []),
        *([("products (tl.dot)", _products)] if with_dots else []),
        ("tensor cores", _cores),
        ("tiles in shared", _tiles),
    ]
    return [[Cell(name), *(_cell(told(result)) for result in results.values())] for name, told in wanted]


def _cell(told: str | Cell) -> Cell:
    return told if isinstance(told, Cell) else Cell(told, "soft" if told == UNKNOWN else "")


def _number(result: CompileResult, fact: str) -> int | None:
    value = result.facts.get(fact)
    return value if isinstance(value, int) else None


def _or_unknown(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}" if value else "none"


def _registers(result: CompileResult) -> str:
    used = _number(result, "registers")
    return UNKNOWN if used is None else f"{used} of {MOST_REGISTERS}"


def _spilled(result: CompileResult) -> str | Cell:
    spilled = _number(result, "spilled_bytes")
    return Cell(f"{spilled} bytes", "warn") if spilled else "nothing" if spilled == 0 else UNKNOWN


def _shared(result: CompileResult) -> str:
    used, limit = _number(result, "shared_bytes"), SHARED_MEMORY.get(result.request.capability)
    if used is None:
        return UNKNOWN
    if limit is None:
        return kib(used)
    return f"{kib(used).removesuffix(' KiB')} of {kib(limit)}"


def kib(amount: int) -> str:
    """Bytes of on-chip memory, which are counted in 1024s."""
    return f"{amount} B" if amount < 1024 else f"{amount / 1024:.3g} KiB"


def _held(result: CompileResult) -> Occupancy | None:
    numbers = [_number(result, fact) for fact in ("registers", "shared_bytes", "num_warps")]
    registers, shared, warps = numbers
    if registers is None or shared is None or warps is None:
        return None
    return occupancy(result.request.capability, registers, shared, warps)


def _programs(held: Occupancy | None) -> str:
    return UNKNOWN if held is None else f"{held.programs} ({held.warps}/{held.most_warps} warps)"


def _limits(held: Occupancy | None) -> str:
    if held is None:
        return UNKNOWN
    return "nothing (full)" if held.warps == held.most_warps else join(held.limits)


def _width(result: CompileResult, which: str) -> str:
    widest, narrowest = _number(result, f"{which}_bits"), _number(result, f"narrowest_{which}_bits")
    if widest is None:
        return UNKNOWN
    if narrowest is not None and narrowest < widest:
        return f"{narrowest // 8} to {widest // 8} bytes"
    return f"{widest // 8} bytes"


def _copies(result: CompileResult) -> str:
    if result.request.capability < 80:
        return "not on this GPU"
    copies = _number(result, "async_copies")
    return f"{copies} × cp.async" if copies else _or_unknown(copies)


def _products(result: CompileResult) -> str:
    if result.dots is None:
        return UNKNOWN
    return "\n".join(dict.fromkeys(_product(dot) for dot in result.dots)) or "none"


def _product(dot: Dot) -> str:
    return f"{dot.m}×{dot.k} @ {dot.k}×{dot.n}"


def _cores(result: CompileResult) -> str | Cell:
    if result.tensor_cores is None:
        return UNKNOWN
    if result.tensor_cores:
        return "\n".join(f"{core.count} × {_instruction(core)}" for core in result.tensor_cores)
    return Cell("none", "warn") if result.dots else "no tl.dot"


def _instruction(core: TensorCore) -> str:
    return " ".join(filter(None, [core.name.removesuffix(".mma_async"), core.shape, core.operands]))


def _tiles(result: CompileResult) -> str:
    if result.tiles is None:
        return UNKNOWN
    if not result.tiles:
        return "none"
    kept: dict[str, int] = {}
    for tile in result.tiles:
        kept[swizzle(tile)] = kept.get(swizzle(tile), 0) + tile.count * tile.stages
    return "\n".join(f"{number} × {words}" for words, number in kept.items())


def swizzle(tile: SharedTile) -> str:
    """The layout in two words."""
    width = swizzle_bytes(tile)
    return UNKNOWN if width is None else f"{width}-byte swizzle" if width else "no swizzle"


def swizzle_bytes(tile: SharedTile) -> int | None:
    """Over how many bytes pieces of neighbouring rows change places: 0 for none, None where the layout is not known."""
    if tile.kind == "nvmma_shared":
        return tile.swizzle_bytes
    if tile.kind != "swizzled_shared":
        return None
    return tile.vec * tile.max_phase * tile.bits // 8 if tile.max_phase > 1 else 0


def layouts(results: Results) -> list[str]:
    """How the tiles lie in shared memory: one sentence for each layout, with the GPUs and the tiles that have it."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, result in results.items():
        for tile in result.tiles or ():
            gpus, shapes = found.setdefault(layout(tile), ({}, {}))
            gpus[name] = None
            shapes[_shape(tile)] = None
    return [f"{join(gpus)}, tiles of {join(shapes)}: {words}" for words, (gpus, shapes) in found.items()]


def _shape(tile: SharedTile) -> str:
    stages = f" ({tile.stages} of it, for the stages of the loop)" if tile.stages > 1 else ""
    return f"{'×'.join(map(str, tile.shape))}{stages}"


def layout(tile: SharedTile) -> str:
    """A layout in a sentence, with Triton's numbers."""
    row = tile.inner * tile.bits // 8
    width = swizzle_bytes(tile)
    if width is None:
        return f"a layout that there are no words for here ({tile.kind or UNKNOWN})."
    if width == 0:
        if not row:
            return "no swizzle; the rows lie one after another."
        banks = _BANKS * _BANK // math.gcd(row, _BANKS * _BANK)
        fall = f"what stands below one another falls on {min(banks, _BANKS)} of the {_BANKS} banks"
        return f"no swizzle; rows of {row} bytes lie one after another, so {fall}."
    if tile.kind == "nvmma_shared":
        return (
            f"the {width}-byte swizzle of the tensor cores; within {width} bytes the 16-byte pieces change places from row to row, and "
            "after 8 rows it starts anew."
        )
    piece = tile.vec * tile.bits // 8
    turn = "from row to row" if tile.per_phase == 1 else f"every {tile.per_phase} rows"
    return (
        f"{width}-byte swizzle; pieces of {tile.vec} elements ({piece} bytes) change places {turn}, and after "
        f"{tile.max_phase * tile.per_phase} rows it starts anew (vec {tile.vec}, perPhase {tile.per_phase}, maxPhase {tile.max_phase})."
    )


# --- what follows from the numbers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A sentence; those of the lowest rank are said first and dropped last."""

    rank: int
    text: str


def sentences(results: Results, odd: Sequence[str] = ()) -> list[str]:
    """Two to five sentences. `odd` are the kernel's numbers that are no multiples of 16, which keep loads narrow."""
    said = [*_about_spills(results), *_about_cores(results), *_about_loads(results, odd), *_about_occupancy(results)]
    said += _about_swizzle(results)
    return [one.text for one in sorted(said, key=lambda one: one.rank)[:5]]


def _about_spills(results: Results) -> Iterable[Said]:
    spilled = {name: n for name, r in results.items() if (n := _number(r, "spilled_bytes"))}
    if spilled:
        worst = max(spilled, key=lambda name: spilled[name])
        yield Said(
            0,
            f"On the {join(spilled)} a thread has more values than registers: up to {spilled[worst]} bytes per thread go to slow "
            f"memory and come back. Smaller tiles or more warps per program leave each thread fewer values.",
        )
    elif all(_number(r, "spilled_bytes") == 0 for r in results.values()):
        most = max(int(r.facts.get("registers", 0)) for r in results.values())
        if most:
            yield Said(
                5, f"Everything fits in registers, at most {most} of a thread's {MOST_REGISTERS}: nothing spills."
            )


def _about_cores(results: Results) -> Iterable[Said]:
    known = {name: r for name, r in results.items() if r.dots and r.tensor_cores is not None}
    without = [name for name, r in known.items() if not r.tensor_cores]
    if "T4" in without:
        yield Said(
            1,
            "No tensor core on the T4: Triton's code for sm_75 works this product out with plain multiplications, one by one, on the "
            "ordinary arithmetic units.",
        )
    if others := [name for name in without if name != "T4"]:
        yield Said(
            1,
            f"No tensor core on {join(others)} either: there is none for these operands. float32 with "
            '`input_precision="ieee"` is the usual reason.',
        )
    if tf32 := [name for name, r in known.items() if any(c.operands == "tf32" for c in r.tensor_cores or ())]:
        yield Said(
            2,
            f"On {join(tf32)} the float32 operands are rounded to TF32 (10 bits after the point instead of 23) for the tensor cores.",
        )
    if wide := {name: r for name, r in known.items() if any(c.name.startswith("wgmma") for c in r.tensor_cores or ())}:
        core = next(c for r in wide.values() for c in r.tensor_cores or () if c.name.startswith("wgmma"))
        yield Said(
            3,
            f"The {join(wide)} multiplies with wgmma ({core.shape}): four warps together take 64 rows at a time, straight from shared memory.",
        )
    narrow = [n for n, r in known.items() if r.request.capability == 90 and r.tensor_cores and n not in wide]
    if narrow:
        yield Said(
            3,
            f"The {join(narrow)} falls back to the mma.sync of older GPUs: its own wgmma needs tiles of at least 64 rows and at least 4 warps.",
        )


def _about_loads(results: Results, odd: Sequence[str]) -> Iterable[Said]:
    widths = {name: bits // 8 for name, r in results.items() if (bits := _number(r, "load_bits"))}
    if not widths:
        return
    if min(widths.values()) >= WIDEST:
        yield Said(4, f"A lane loads up to {WIDEST} bytes at once, the most there is.")
        return
    why = (
        f" Triton joins neighbours only where it knows that addresses and mask come in such steps, and {join(odd)} "
        f"{'is no multiple' if len(odd) == 1 else 'are no multiples'} of 16 here."
        if odd
        else ""
    )
    yield Said(2, f"A lane loads {span(widths.values())} bytes at a time, and {WIDEST} would be the most.{why}")


def _about_occupancy(results: Results) -> Iterable[Said]:
    held = {name: h for name, r in results.items() if (h := _held(r)) is not None}
    if not held:
        return
    name = min(held, key=lambda n: held[n].warps / held[n].most_warps)
    worst = held[name]
    share = f"{worst.warps} of {worst.most_warps} warps"
    if worst.programs == 0:
        yield Said(0, f"Not even one program fits on an SM of the {name}: it has too few {join(worst.limits)}.")
    elif 2 * worst.warps < worst.most_warps:
        yield Said(
            2,
            f"Only {count(worst.programs, 'program')} at a time {'fits' if worst.programs == 1 else 'fit'} on an SM of the {name} ({share}), "
            f"for want of {join(worst.limits)}: while one waits for memory, few others have work to do.",
        )
    else:
        yield Said(
            4,
            f"At least half of the warps that an SM can hold fit at a time on every GPU (the least: {name}, {share}).",
        )


def _about_swizzle(results: Results) -> Iterable[Said]:
    kinds = {name: {swizzle_bytes(tile) for tile in r.tiles} for name, r in results.items() if r.tiles}
    swizzled = [name for name, widths in kinds.items() if any(widths)]
    plain = [name for name, widths in kinds.items() if widths == {0}]
    if swizzled:
        yield Said(
            3,
            f"On {join(swizzled)} the tiles in shared memory are swizzled: a column's elements fall on different banks and can be "
            "read at once.",
        )
    elif plain:
        yield Said(4, f"The tiles in shared memory are not swizzled ({join(plain)}): they are read row by row.")
    elif all(r.tiles == () for r in results.values()):
        scratch = max((n for r in results.values() if (n := _number(r, "shared_bytes"))), default=0)
        use = f" The {kib(scratch)} are what the warps hand one another in reductions." if scratch else ""
        yield Said(4, f"No tile is kept in shared memory: all of them live in registers.{use}")


def span(values: Iterable[int]) -> str:
    """``4``, or ``4 to 8``."""
    low, high = min(found := list(values)), max(found)
    return f"{low}" if low == high else f"{low} to {high}"
