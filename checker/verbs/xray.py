"""`xray`: compile a kernel for every GPU of the course, none of which need be present, and explain the result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from checker.compiler import AMD, EXAMINED, SHARED_MEMORY, CompileResult, SharedTile, gpu_name, is_amd, requests_for
from checker.compiler.occupancy import MOST_REGISTERS, Occupancy, occupancy
from checker.judge.phrases import stopped
from checker.phrases import count, join
from checker.puzzle import Case, Launch, Puzzle
from checker.sandbox import Sandbox
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import UsageError, case_and_options
from checker.verbs.bench import allowed_bytes, large_cases, timed_launch
from checker.view import display
from checker.view.panel import Cell, Panel

T = TypeVar("T")
MOST_BYTES = 1 << 28  # of all tensors of a case; the compiler sees only their types
BANKS, BANK = 32, 4  # shared memory has 32 banks of 4 bytes
WIDEST = 16  # bytes that one lane can load at once
UNKNOWN = "not known"

Results = Mapping[str, CompileResult]
"""By the GPU's name, for those on which the kernel compiles."""


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled for one case, by the GPU's name."""

    case: Case
    launch: Launch
    results: Mapping[str, CompileResult]

    @property
    def case_text(self) -> str:
        numbers = {**self.case.sizes, **self.case.flags, **self.launch.meta, **self.launch.options}
        return f"{join(f'{name} = {value}' for name, value in numbers.items())}, in {self.case.dtype}"

    @property
    def odd_numbers(self) -> list[str]:
        """The sizes and strides that are not multiples of 16, which the compiler takes into account."""
        request = next(iter(self.results.values())).request
        numbers = [name for name, kind in request.signature.items() if kind in ("i32", "i64")]
        return [f"{name} = {self.launch.arguments[name]}" for name in numbers if name not in request.aligned]


def xray_and_show(puzzle: Puzzle, source: KernelSource, choices: Mapping[str, Any]) -> tuple[Panel, bool]:
    """Show the X-ray of a kernel; returns the panel, and whether the kernel compiles for any GPU. Raises UsageError."""
    with display.working(f"Compiling {source.kernel} for {'seven' if choices.get('amd') else 'five'} GPUs …") as area:
        panel, compiled = xray_panel(puzzle, source, choices)
        area.show(panel)
    return display.shown(panel), compiled


def xray_panel(puzzle: Puzzle, source: KernelSource, choices: Mapping[str, Any]) -> tuple[Panel, bool]:
    """The facts of each GPU side by side, or why the kernel does not compile; and whether it compiles for any.

    `choices` may hold sizes, tile sizes, flags, the ``dtype``, ``num_warps`` and ``num_stages``; ``amd=True`` adds `AMD`'s GPUs.
    Raises UsageError.
    """
    gpus = EXAMINED | AMD if choices.get("amd") else EXAMINED
    choices = {name: value for name, value in choices.items() if name != "amd"}
    title = f"{puzzle.title}: {source.kernel}, compiled"
    case, options = case_to_compile(puzzle, choices)
    if rules.is_untouched(source):
        return Panel(title, ("There is nothing to compile yet: the stub is still empty.",)), False
    broken = rules.violations(source, puzzle)
    if broken:
        return Panel(title, tuple(f"Line {v.line}: {v.message}" for v in broken), footer=("Fix this first.",)), False
    compiled = compile_case(puzzle, source, case, options, {name for name in choices if name in case.meta}, gpus)
    results = {name: result for name, result in compiled.results.items() if result.ok}
    failures = [f"{name}: {_why(source, result)}" for name, result in compiled.results.items() if not result.ok]
    prose = (f"Compiled for {compiled.case_text}.", *failures)
    if not results:
        return Panel(title, prose), False
    heads = ("", *(gpu_name(result.request.capability) for result in results.values()))
    examined = {name: result for name, result in results.items() if name in EXAMINED}
    lists = [("What this means", sentences(examined, compiled.odd_numbers))] if examined else []
    if explained := layouts(examined):
        lists.append(("Tiles in shared memory", explained))
    footer = (
        "An SM is the part of a GPU that runs programs; a warp is 32 lanes. More warps hide more memory latency.",
    )
    return Panel(title, prose, heads, table(results), lists=lists, footer=footer), True


def _why(source: KernelSource, result: CompileResult) -> str:
    return stopped(source, result.line, result.message or "Triton cannot compile this kernel.")


def compile_case(
    puzzle: Puzzle,
    source: KernelSource,
    case: Case,
    options: Mapping[str, int],
    named: Collection[str] = (),
    gpus: Mapping[str, int] = EXAMINED,
) -> Compiled:
    """Compile one case for all `gpus`. Tile sizes that the caller `named` win over the kernel's autotune."""
    launch = timed_launch(puzzle, source, case, named)
    launch = replace(launch, options={**launch.options, **options})
    results = Sandbox.shared().compile(source, requests_for(launch, puzzle.parameters, gpus.values()))
    return Compiled(case, launch, dict(zip(gpus, results, strict=True)))


def case_to_compile(puzzle: Puzzle, choices: Mapping[str, Any]) -> tuple[Case, dict[str, int]]:
    """The case and the launch's options. Raises UsageError."""
    case, options = case_and_options(puzzle, realistic_case(puzzle), choices)
    if choices.keys() - options.keys() - {"dtype"} and allowed_bytes(puzzle, case) > MOST_BYTES:
        raise UsageError(
            "These sizes are too large to prepare here. The compiler only sees whether a size is a multiple of 16, so smaller "
            "sizes give the same code."
        )
    return case, options


def realistic_case(puzzle: Puzzle) -> Case:
    """The first large case that fits in memory, or else the smallest; without large cases, the case with the largest tile.

    The budget of a case approximates the size of its tensors.
    """
    large = large_cases(puzzle)
    if not large:
        return max(puzzle.cases, key=lambda case: math.prod(case.meta.values()))
    fitting = (case for case in large if allowed_bytes(puzzle, case) <= MOST_BYTES)
    return next(fitting, min(large, key=lambda case: allowed_bytes(puzzle, case)))


# --- the compiler's facts -----------------------------------------------------------------------------------------------


def _number(result: CompileResult, fact: str) -> int | None:
    value = result.facts.get(fact)
    return value if isinstance(value, int) else None


def _occupancy(result: CompileResult) -> Occupancy | None:
    registers, shared, warps = (_number(result, fact) for fact in ("registers", "shared_bytes", "num_warps"))
    if registers is None or shared is None or warps is None:
        return None
    return occupancy(result.request.capability, registers, shared, warps)


def _kib(amount: int) -> str:
    return f"{amount} B" if amount < 1024 else f"{amount / 1024:.3g} KiB"


# --- the table: a row per fact, a column per GPU ------------------------------------------------------------------------


def table(results: Results) -> list[list[Cell]]:
    """The rows of the table, without those that would be empty for every GPU."""
    with_dots = any(result.dots or result.dots is None for result in results.values())
    with_tma = any(_number(result, "tma_copies") for result in results.values())
    rows: list[tuple[str, Callable[[CompileResult], str | Cell]]] = [
        ("registers per thread", _registers),
        ("spilled per thread", _spilled),
        ("shared memory", _shared),
        ("programs on one SM", _programs),
        ("limited by", _limits),
        ("loads, per lane", lambda result: _width(result, "load")),
        ("stores, per lane", lambda result: _width(result, "store")),
        ("asynchronous copies", _copies),
        *([("copies by TMA", lambda result: f"{_fact(result, 'tma_copies'):,}")] if with_tma else []),
        *([("products (tl.dot)", _products)] if with_dots else []),
        ("tensor cores", _tensor_cores),
        ("tiles in shared", _tiles),
        ("prefetched in the loop", _in_flight),
    ]
    return [[Cell(name), *(_cell(describe, result) for result in results.values())] for name, describe in rows]


def _cell(describe: Callable[[CompileResult], str | Cell], result: CompileResult) -> Cell:
    if is_amd(result.request.capability) and describe not in (_registers, _spilled, _shared):
        return Cell("–", "soft")
    try:
        shown = describe(result)
    except _NotKnown:
        return Cell(UNKNOWN, "soft")
    return shown if isinstance(shown, Cell) else Cell(shown)


class _NotKnown(Exception):
    """The compiler gave no such fact."""


def _known(value: T | None) -> T:
    if value is None:
        raise _NotKnown
    return value


def _fact(result: CompileResult, name: str) -> int:
    return _known(_number(result, name))


def _registers(result: CompileResult) -> str:
    most = "" if is_amd(result.request.capability) else f" of {MOST_REGISTERS}"
    return f"{_fact(result, 'registers')}{most}"


def _spilled(result: CompileResult) -> str | Cell:
    spilled = _fact(result, "spilled_bytes")
    return Cell(f"{spilled} bytes", "warn") if spilled else "nothing"


def _shared(result: CompileResult) -> str:
    used, limit = _fact(result, "shared_bytes"), SHARED_MEMORY.get(result.request.capability)
    return _kib(used) if limit is None else f"{_kib(used).removesuffix(' KiB')} of {_kib(limit)}"


def _programs(result: CompileResult) -> str:
    held = _known(_occupancy(result))
    return f"{held.programs} ({held.warps}/{held.most_warps} warps)"


def _limits(result: CompileResult) -> str:
    held = _known(_occupancy(result))
    return "nothing (full)" if held.warps == held.most_warps else join(held.limits)


def _width(result: CompileResult, which: str) -> str:
    widest, narrowest = _fact(result, f"{which}_bits"), _number(result, f"narrowest_{which}_bits")
    low = f"{narrowest // 8} to " if narrowest is not None and narrowest < widest else ""
    return f"{low}{widest // 8} bytes"


def _copies(result: CompileResult) -> str:
    if result.request.capability < 80:
        return "not on this GPU"
    copies = _fact(result, "async_copies")
    return f"{copies} × cp.async" if copies else "none"


def _products(result: CompileResult) -> str:
    return "\n".join(dict.fromkeys(f"{dot.m}×{dot.k} @ {dot.k}×{dot.n}" for dot in _known(result.dots))) or "none"


def _tensor_cores(result: CompileResult) -> str | Cell:
    if not _known(result.tensor_cores):
        return Cell("none", "warn") if result.dots else "no tl.dot"
    return "\n".join(
        " ".join(filter(None, [f"{core.count} ×", core.name.removesuffix(".mma_async"), core.shape, core.operands]))
        for core in result.tensor_cores or ()
    )


def _in_flight(result: CompileResult) -> str:
    """Bytes per program that are loading while it works on one stage of the loop."""
    waiting = _fact(result, "bytes_in_flight")
    return f"up to {_kib(waiting)}" if waiting else "nothing: one stage"


def _tiles(result: CompileResult) -> str:
    counts = Counter[str]()
    for tile in _known(result.tiles):
        width = swizzle_bytes(tile)
        layout = UNKNOWN if width is None else f"{width}-byte swizzle" if width else "no swizzle"
        counts[layout] += tile.count * tile.stages
    return "\n".join(f"{number} × {layout}" for layout, number in counts.items()) or "none"


# --- the layout of tiles in shared memory -------------------------------------------------------------------------------


def swizzle_bytes(tile: SharedTile) -> int | None:
    """The number of bytes within which pieces are permuted from row to row: 0 for none, None for an unknown layout."""
    if tile.kind == "nvmma_shared":
        return tile.swizzle_bytes
    if tile.kind != "swizzled_shared":
        return None
    return tile.vec * tile.max_phase * tile.bits // 8 if tile.max_phase > 1 else 0


def layouts(results: Results) -> list[str]:
    """A sentence for each layout, with the GPUs and tiles that have it."""
    users: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, result in results.items():
        for tile in result.tiles or ():
            gpus, shapes = users.setdefault(_layout(tile), ({}, {}))
            stages = f" ({tile.stages} copies, one per stage of the loop)" if tile.stages > 1 else ""
            gpus[name] = None
            shapes[f"{'×'.join(map(str, tile.shape))}{stages}"] = None
    return [f"{join(gpus)}, tiles of {join(shapes)}: {layout}" for layout, (gpus, shapes) in users.items()]


def _layout(tile: SharedTile) -> str:
    row = tile.inner * tile.bits // 8
    width = swizzle_bytes(tile)
    if width is None:
        return f"a layout that we cannot describe ({tile.kind or UNKNOWN})."
    if width == 0:
        if not row:
            return "no swizzle; rows follow one another."
        banks = BANKS * BANK // math.gcd(row, BANKS * BANK)
        spread = "a single bank" if banks == 1 else f"{min(banks, BANKS)} of the {BANKS} banks"
        return f"no swizzle; rows of {row} bytes follow one another, so each column falls into {spread}."
    if tile.kind == "nvmma_shared":
        return (
            f"the {width}-byte swizzle of the tensor cores; it permutes the 16-byte pieces within {width} bytes differently in each row, "
            "and repeats after 8 rows."
        )
    piece = tile.vec * tile.bits // 8
    turn = "in each row" if tile.per_phase == 1 else f"every {tile.per_phase} rows"
    return (
        f"{width}-byte swizzle; it permutes pieces of {tile.vec} elements ({piece} bytes) differently {turn}, and repeats after "
        f"{tile.max_phase * tile.per_phase} rows (vec {tile.vec}, perPhase {tile.per_phase}, maxPhase {tile.max_phase})."
    )


# --- what the numbers mean ----------------------------------------------------------------------------------------------

Sentence = tuple[int, str]
"""A rank and a text. Low ranks come first and are dropped last."""


def sentences(results: Results, odd_numbers: Sequence[str] = ()) -> list[str]:
    """Two to five sentences. `odd_numbers` are the sizes and strides that keep loads narrow (see `Compiled`)."""
    ranked = [
        *_about_spills(results),
        *_about_tensor_cores(results),
        *_about_loads(results, odd_numbers),
        *_about_occupancy(results),
        *_about_swizzle(results),
    ]
    return [text for _, text in sorted(ranked, key=lambda sentence: sentence[0])[:5]]


def _about_spills(results: Results) -> Iterable[Sentence]:
    spilled = {name: n for name, r in results.items() if (n := _number(r, "spilled_bytes"))}
    if spilled:
        yield (
            0,
            f"On the {join(spilled)}, a thread has more values than registers, so up to {max(spilled.values())} bytes per thread spill "
            "to slow memory. With smaller tiles or more warps per program, each thread has fewer values.",
        )
    elif all(_number(r, "spilled_bytes") == 0 for r in results.values()):
        most = max(int(r.facts.get("registers", 0)) for r in results.values())
        if most:
            yield 5, f"Nothing spills: each thread needs at most {most} of its {MOST_REGISTERS} registers."


def _about_tensor_cores(results: Results) -> Iterable[Sentence]:
    cores = {name: r.tensor_cores for name, r in results.items() if r.dots and r.tensor_cores is not None}
    without = [name for name, used in cores.items() if not used]
    if "T4" in without:
        yield (
            1,
            "The T4's tensor cores are not used: for sm_75, Triton computes products with plain multiplications on the ordinary "
            "arithmetic units.",
        )
    if others := [name for name in without if name != "T4"]:
        yield (
            1,
            f"The tensor cores of the {join(others)} are not used, because they cannot multiply these operands. The usual reason is "
            'float32 with `input_precision="ieee"`.',
        )
    if tf32 := [name for name, used in cores.items() if any(core.operands == "tf32" for core in used)]:
        yield (
            2,
            f"On the {join(tf32)}, the tensor cores take float32 operands as TF32: they cut the mantissa off after 10 of its 23 bits.",
        )
    shapes = {n: [core.shape for core in used if core.name.startswith("wgmma")] for n, used in cores.items()}
    if wgmma := {name: shapes[name][0] for name in shapes if shapes[name]}:
        shape = next(iter(wgmma.values()))
        yield (
            3,
            f"The {join(wgmma)} multiplies with wgmma ({shape}): four warps together multiply 64 rows at a time, straight from shared memory.",
        )
    if tcgen05 := [name for name, used in cores.items() if any(core.name.startswith("tcgen05") for core in used)]:
        yield (
            3,
            f"The {join(tcgen05)} multiplies with tcgen05: one thread starts a product for the whole program, and the result appears in "
            "tensor memory, not in registers.",
        )
    hoppers = [name for name, used in cores.items() if used and results[name].request.capability == 90]
    if narrow := [name for name in hoppers if name not in wgmma]:
        yield (
            3,
            f"The {join(narrow)} falls back to mma.sync, as on older GPUs: its wgmma needs tiles of at least 64 rows and at least 4 warps.",
        )


def _about_loads(results: Results, odd_numbers: Sequence[str]) -> Iterable[Sentence]:
    widths = [bits // 8 for r in results.values() if (bits := _number(r, "load_bits"))]
    if not widths:
        return
    low, high = min(widths), max(widths)
    if low >= WIDEST:
        yield 4, f"A lane loads up to {WIDEST} bytes at once, which is the maximum."
        return
    why = (
        " Triton loads neighbours together only if it can prove that addresses and masks are aligned, but "
        f"{join(odd_numbers)} {'is not a multiple' if len(odd_numbers) == 1 else 'are not multiples'} of 16."
        if odd_numbers
        else ""
    )
    span = f"{low}" if low == high else f"{low} to {high}"
    yield 2, f"A lane loads {span} bytes at a time; the maximum is {WIDEST}.{why}"


def _about_occupancy(results: Results) -> Iterable[Sentence]:
    held = {name: occupied for name, r in results.items() if (occupied := _occupancy(r)) is not None}
    if not held:
        return
    name, worst = min(held.items(), key=lambda item: item[1].warps / item[1].most_warps)
    share = f"{worst.warps} of {worst.most_warps} warps"
    if worst.programs == 0:
        yield 0, f"No program fits on an SM of the {name}, which has too few {join(worst.limits)}."
    elif 2 * worst.warps < worst.most_warps:
        yield (
            2,
            f"Only {count(worst.programs, 'program')} at a time {'fits' if worst.programs == 1 else 'fit'} on an SM of the {name} ({share}), "
            f"because they run out of {join(worst.limits)}: while one waits for memory, few others have work to do.",
        )
    else:
        yield 4, f"On every GPU, an SM holds at least half of its warps (the fewest on the {name}: {share})."


def _about_swizzle(results: Results) -> Iterable[Sentence]:
    kinds = {name: {swizzle_bytes(tile) for tile in r.tiles} for name, r in results.items() if r.tiles}
    swizzled = [name for name, widths in kinds.items() if any(widths)]
    plain = [name for name, widths in kinds.items() if widths == {0}]
    if swizzled:
        yield (
            3,
            f"On the {join(swizzled)}, tiles in shared memory are swizzled, so the elements of a column fall into different banks and "
            "can be read at once.",
        )
    elif plain:
        yield 4, f"The tiles in shared memory are not swizzled ({join(plain)}), because they are read row by row."
    elif all(r.tiles == () for r in results.values()):
        scratch = max((n for r in results.values() if (n := _number(r, "shared_bytes"))), default=0)
        use = f" The {_kib(scratch)} of shared memory are for reductions across warps." if scratch else ""
        yield 4, f"No tile is in shared memory: all of them are in registers.{use}"
