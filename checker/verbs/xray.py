"""What the compiler makes of a kernel on every GPU of the course, none of which has to be present."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from checker.compiler import TARGETS, CompileRequest, CompileResult, requests_for
from checker.judge.phrases import join
from checker.puzzle import DTYPES, Case, Launch, Puzzle
from checker.sandbox import Sandbox
from checker.submission import rules
from checker.submission.kernel import KernelSource
from checker.verbs import xray_layouts, xray_rows, xray_words
from checker.verbs.naming import UsageError
from checker.verbs.panels import Panel
from checker.verbs.sizes import case_for

MOST_BYTES = 1 << 28  # of all tensors of a case: only their types reach the compiler
OPTIONS = {"num_warps": (1, 2, 4, 8, 16, 32), "num_stages": (1, 2, 3, 4, 5, 6, 7, 8)}


@dataclass(frozen=True)
class XRay:
    """What a kernel became on each GPU, by the GPU's name, and for which case."""

    case: Case
    launch: Launch
    requests: Mapping[str, CompileRequest]
    results: Mapping[str, CompileResult]

    @property
    def compiled(self) -> dict[str, CompileResult]:
        return {name: result for name, result in self.results.items() if result.ok}

    @property
    def odd(self) -> list[str]:
        """The kernel's whole numbers (sizes, strides) that are no multiples of 16, which the compiler is told."""
        request = next(iter(self.requests.values()))
        numbers = [name for name, kind in request.signature.items() if kind in ("i32", "i64")]
        return [f"{name} = {self.launch.arguments[name]}" for name in numbers if name not in request.aligned]


def xray_panel(puzzle: Puzzle, source: KernelSource, wanted: Mapping[str, Any] | None = None) -> tuple[Panel, bool]:
    """The facts of each GPU side by side, or what keeps the kernel from being compiled; and whether it compiles for any.

    `wanted` are sizes, tile sizes and flags of the case, its ``dtype``, and the launch's ``num_warps`` and ``num_stages``.
    Raises UsageError for what is none of these.
    """
    title = f"{puzzle.title}: {source.kernel} as it is compiled"
    case, options = chosen(puzzle, wanted or {})
    if rules.is_untouched(source):
        return Panel(title, ("There is nothing to compile yet: the stub has not been filled in.",)), False
    broken = rules.violations(source, puzzle)
    if broken:
        return Panel(title, tuple(f"Line {v.line}: {v.message}" for v in broken), footer=("Mend this first.",)), False
    seen = xray(puzzle, source, case, options, {name for name in wanted or {} if name in case.meta})
    failures = [f"{name}: {_why(source, result)}" for name, result in seen.results.items() if not result.ok]
    prose = (f"Compiled for {_case_words(seen)}.", *failures)
    if not seen.compiled:
        return Panel(title, prose), False
    heads = ("", *(f"{name} (sm_{TARGETS[name]})" for name in seen.compiled))
    lists = [("What this says", xray_words.sentences(seen.compiled, seen.odd))]
    if explained := xray_layouts.layouts(seen.compiled):
        lists.append(("How tiles lie in shared memory", explained))
    footer = (
        "An SM is the part of a GPU that runs programs; a warp is 32 lanes. More warps hide more waiting for memory.",
    )
    return Panel(title, prose, heads, xray_rows.rows(seen.compiled), lists=lists, footer=footer), True


def xray(
    puzzle: Puzzle,
    source: KernelSource,
    case: Case,
    options: Mapping[str, int],
    own: set[str] = frozenset(),  # type: ignore[assignment]
) -> XRay:
    """Compile one case for every GPU. `own` are the tile sizes that were asked for: they win over the learner's autotune."""
    config = source.configs[0] if source.configs else None
    tuned = {name: value for name, value in (config.meta if config else {}).items() if name not in own}
    launch = puzzle.launch(case, puzzle.make(case), {**case.meta, **tuned})
    launch = replace(launch, options={**launch.options, **(config.options if config else {}), **options})
    requests = dict(zip(TARGETS, requests_for(launch, puzzle.parameters, TARGETS.values()), strict=True))
    results = Sandbox.shared().compile(source, list(requests.values()))
    return XRay(case, launch, requests, dict(zip(TARGETS, results, strict=True)))


def chosen(puzzle: Puzzle, wanted: Mapping[str, Any]) -> tuple[Case, dict[str, int]]:
    """The case and the launch options that were asked for. Raises UsageError."""
    case, options = realistic(puzzle), {name: wanted[name] for name in OPTIONS if name in wanted}
    for name, value in options.items():
        if type(value) is not int or value not in OPTIONS[name]:
            raise UsageError(f"{name} is one of {', '.join(map(str, OPTIONS[name]))}, not {value!r}.")
    if "dtype" in wanted:
        known = [name for name in DTYPES if name in puzzle.tolerance]
        if wanted["dtype"] not in known:
            raise UsageError(f"dtype is one of {', '.join(known)}, not {wanted['dtype']!r}.")
        case = replace(case, dtype=wanted["dtype"])
    sizes = {name: value for name, value in wanted.items() if name not in OPTIONS and name != "dtype"}
    case = case_for(puzzle.name, sizes, case)
    if sizes and _bytes(puzzle, case) > MOST_BYTES:
        raise UsageError(
            "These sizes are too large to prepare here. The compiler only sees whether a size is a multiple of 16: smaller ones of "
            "the same kind give the same code."
        )
    return case, options


def realistic(puzzle: Puzzle) -> Case:
    """The first case that is meant for a GPU only and not too large to prepare here, or else the smallest of them.

    A puzzle without such cases gives the one with the largest tile.
    """
    large = [c for c in puzzle.cases if "cpu" not in c.devices]
    if not large:
        return max(puzzle.cases, key=lambda c: math.prod(c.meta.values()))
    return next((c for c in large if _bytes(puzzle, c) <= MOST_BYTES), min(large, key=lambda c: _bytes(puzzle, c)))


def _bytes(puzzle: Puzzle, case: Case) -> int:
    """What the case's kernel may move at the least: near enough to the size of its tensors."""
    return sum(allowed.loaded + allowed.stored for allowed in puzzle.budget(case).values())


def _case_words(seen: XRay) -> str:
    case, launch = seen.case, seen.launch
    numbers = {**case.sizes, **case.flags, **launch.meta, **launch.options}
    return f"{join(f'{name} = {value}' for name, value in numbers.items())}, in {case.dtype}"


def _why(source: KernelSource, result: CompileResult) -> str:
    where = f"line {source.locate(result.line)[1]}: " if result.line is not None else ""
    return f"{where}{result.message or 'Triton cannot compile this kernel.'}"
