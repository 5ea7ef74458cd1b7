"""The table of an X-ray: one row a fact, one column a GPU."""

from __future__ import annotations

from collections.abc import Callable

from checker.compiler import SHARED_MEMORY, CompileResult, Dot, TensorCore
from checker.compiler.occupancy import MOST_REGISTERS, Occupancy
from checker.judge.phrases import join
from checker.verbs.panels import Cell
from checker.verbs.xray_facts import UNKNOWN, Results, held, kib, number
from checker.verbs.xray_layouts import swizzle


def rows(results: Results) -> list[list[Cell]]:
    """The table; a row that would be empty for every GPU is left out."""
    with_dots = any(result.dots or result.dots is None for result in results.values())
    with_tma = any(number(result, "tma_copies") for result in results.values())
    wanted: list[tuple[str, Callable[[CompileResult], str | Cell]]] = [
        ("registers per thread", _registers),
        ("spilled per thread", _spilled),
        ("shared memory", _shared),
        ("programs on one SM", lambda r: _programs(held(r))),
        ("what limits them", lambda r: _limits(held(r))),
        ("loads, per lane", lambda r: _width(r, "load")),
        ("stores, per lane", lambda r: _width(r, "store")),
        ("copies past registers", _copies),
        *([("copies by TMA", lambda r: _or_unknown(number(r, "tma_copies")))] if with_tma else []),
        *([("products (tl.dot)", _products)] if with_dots else []),
        ("tensor cores", _cores),
        ("tiles in shared", _tiles),
    ]
    return [[Cell(name), *(_cell(told(result)) for result in results.values())] for name, told in wanted]


def _cell(told: str | Cell) -> Cell:
    return told if isinstance(told, Cell) else Cell(told, "soft" if told == UNKNOWN else "")


def _or_unknown(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}" if value else "none"


def _registers(result: CompileResult) -> str:
    used = number(result, "registers")
    return UNKNOWN if used is None else f"{used} of {MOST_REGISTERS}"


def _spilled(result: CompileResult) -> str | Cell:
    spilled = number(result, "spilled_bytes")
    return Cell(f"{spilled} bytes", "warn") if spilled else "nothing" if spilled == 0 else UNKNOWN


def _shared(result: CompileResult) -> str:
    used, limit = number(result, "shared_bytes"), SHARED_MEMORY.get(result.request.capability)
    if used is None:
        return UNKNOWN
    if limit is None:
        return kib(used)
    return f"{kib(used).removesuffix(' KiB')} of {kib(limit)}"


def _programs(held: Occupancy | None) -> str:
    return UNKNOWN if held is None else f"{held.programs} ({held.warps}/{held.most_warps} warps)"


def _limits(held: Occupancy | None) -> str:
    if held is None:
        return UNKNOWN
    return "nothing (full)" if held.warps == held.most_warps else join(held.limits)


def _width(result: CompileResult, which: str) -> str:
    widest, narrowest = number(result, f"{which}_bits"), number(result, f"narrowest_{which}_bits")
    if widest is None:
        return UNKNOWN
    if narrowest is not None and narrowest < widest:
        return f"{narrowest // 8} to {widest // 8} bytes"
    return f"{widest // 8} bytes"


def _copies(result: CompileResult) -> str:
    if result.request.capability < 80:
        return "not on this GPU"
    copies = number(result, "async_copies")
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
