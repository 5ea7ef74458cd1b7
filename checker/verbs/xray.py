"""What the compiler makes of a kernel on every GPU of the course: registers, shared memory, instructions, spills."""

from __future__ import annotations

import math
from collections.abc import Mapping

from checker.compiler import TARGETS, CompileResult, requests_for
from checker.judge.prepare import prepare
from checker.puzzle import Case, Launch, Puzzle
from checker.sandbox import Sandbox
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs.panels import Cell, Panel

_EACH = frozenset({"seconds"})  # of the compile, not of the kernel


def xray_panel(puzzle: Puzzle, source: KernelSource) -> tuple[Panel, bool]:
    """The facts of each GPU side by side, or what keeps the kernel from being compiled; and whether it compiles for any."""
    title = f"{puzzle.title}: {source.kernel} as it is compiled"
    if rules.is_untouched(source):
        return Panel(title, ("There is nothing to compile yet: the stub has not been filled in.",)), False
    broken = rules.violations(source, puzzle)
    if broken:
        return Panel(title, tuple(f"Line {v.line}: {v.message}" for v in broken), footer=("Mend this first.",)), False
    launch = prepare(puzzle, widest(puzzle), source.configs[0] if source.configs else None).launch
    results = {name: _compiled(puzzle, source, launch, capability) for name, capability in TARGETS.items()}
    said = ", ".join(f"{k} = {v}" for k, v in {**launch.meta, **launch.options}.items())
    failures = [f"{name}: {_why(source, result)}" for name, result in results.items() if not result.ok]
    heads, rows = _table(results)
    return Panel(title, (f"Compiled with {said}.", *failures), heads, rows), any(
        result.ok for result in results.values()
    )


def widest(puzzle: Puzzle) -> Case:
    """The case with the largest tile, of those that are small enough to prepare anywhere."""
    return max((c for c in puzzle.cases if "cpu" in c.devices), key=lambda c: math.prod(c.meta.values()))


def _compiled(puzzle: Puzzle, source: KernelSource, launch: Launch, capability: int) -> CompileResult:
    (request,) = requests_for(launch, puzzle.parameters, (capability,))
    return next(iter(Sandbox.shared().compile(source, [request])))


def _why(source: KernelSource, result: CompileResult) -> str:
    where = f"line {source.locate(result.line)[1]}: " if result.line is not None else ""
    return f"{where}{result.message or 'Triton cannot compile this kernel.'}"


def _table(results: Mapping[str, CompileResult]) -> tuple[tuple[str, ...], list[list[Cell]]]:
    """One row per fact that any of the compiles tells, one column per GPU."""
    names: dict[str, None] = {}
    for result in results.values():
        names |= dict.fromkeys(key for key in result.facts if key not in _EACH)
    heads = ("", *(f"{name} (sm_{TARGETS[name]})" for name in results))
    rows = [[Cell(key.replace("_", " ")), *(_fact(result, key) for result in results.values())] for key in names]
    return heads, rows


def _fact(result: CompileResult, key: str) -> Cell:
    value = result.facts.get(key, "")
    spilled = "spill" in key and isinstance(value, int) and value > 0
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return Cell(text if result.ok else "-", "warn" if spilled else "", number=isinstance(value, int))
