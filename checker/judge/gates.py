"""The gates that read outcomes: `values`, `memory`, `traffic`. Pure: they run nothing, they decide and explain.

Each takes a `replay`: the trace of the failing case run once more with its events (and, after a NaN, with every operation
followed), from which the lines come. Without one the message only lacks its lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from checker.judge import words
from checker.judge.outcome import Outcome
from checker.judge.verdict import GateResult, Mismatch, Status
from checker.puzzle import Puzzle
from checker.simulator.trace import Event, Finding, Trace, Traffic
from checker.submission.kernel import KernelSource

UNFINISHED: dict[str, tuple[str, str]] = {
    "runtime_error": ("The kernel stopped with an error", "Mend that line first: nothing after it has run."),
    "timeout": (
        "The kernel did not end within its time",
        "Look at what each loop tests: it must change at every turn, and by more than 0.",
    ),
    "resource_limit": ("The kernel needed more memory than a check may use", "Look at the shape of the largest tile."),
    "protocol_error": ("The process that ran the kernel answered in a way it should not", "Run the check again."),
    "infra_error": (
        "The checker could not run the kernel, which says nothing about your code",
        "Run the check again; if it stays, `doctor` looks for what is missing on this machine.",
    ),
}


# --- values -----------------------------------------------------------------------------------------------------------


def values_failure(outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome that fails `values`: a kernel that did not end comes first, then the first wrong case."""
    wrong = next((o for o in outcomes if o.ran and not o.right), None)
    stopped = next((o for o in outcomes if not o.ran), None)
    if stopped is not None and wrong is not None and stopped.result.status in ("infra_error", "protocol_error"):
        return wrong
    return stopped or wrong


def values_gate(source: KernelSource, outcomes: Sequence[Outcome], replay: Trace | None = None) -> GateResult:
    failing = values_failure(outcomes)
    if failing is None:
        worst = max((o.comparison.worst for o in outcomes if o.comparison), default=0.0)
        share = f"; the largest error is {worst:.0%} of what is allowed" if outcomes else ""
        return GateResult("values", "passed", f"Right in all {words.count(len(outcomes), 'case')}{share}.")
    if not failing.ran:
        return unfinished("values", source, failing)
    assert failing.comparison is not None
    assert failing.comparison.mismatch is not None
    mismatch = located(source, failing.comparison.mismatch, replay)
    findings = tuple(_own(source, f) for f in _findings(failing, replay))
    return GateResult(
        "values",
        "failed",
        _values_message(source, outcomes, failing, mismatch, replay),
        line=_values_line(source, mismatch, failing, replay),
        advice=_values_advice(source, outcomes, failing, mismatch, replay),
        case=failing.case,
        mismatch=mismatch,
        findings=findings,
    )


def unfinished(gate: str, source: KernelSource, outcome: Outcome) -> GateResult:
    """A launch that ended with a status other than ``passed``: its status becomes the gate's."""
    result = outcome.result
    start, advice = UNFINISHED.get(result.status, UNFINISHED["infra_error"])
    where = words.line_words(source, result.line)
    said = words.in_own_lines(source, result.message).rstrip(".")
    if said and result.status == "timeout":
        start, said = said, ""
    at = f", at {where}" if where and where not in said.lower() else ""
    message = f"{start}{at} ({outcome.case.name}). {said}{'.' if said else ''}".rstrip()
    status: Status = result.status
    return GateResult(
        gate,  # type: ignore[arg-type]
        status,
        message,
        line=words.own_line(source, result.line),
        detail=result.detail,
        advice=advice,
        case=outcome.case,
    )


def located(source: KernelSource, mismatch: Mismatch, replay: Trace | None) -> Mismatch:
    """The mismatch with the learner's line of the store that wrote its first element."""
    if replay is None or mismatch.writer is None:
        return mismatch
    written = replay.writer_lines.get(mismatch.output)
    if written is not None:
        at = int(np.asarray(written).reshape(mismatch.shape)[mismatch.first])
        return replace(mismatch, line=words.own_line(source, at or None))
    stores = [e for e in replay.events if e.kind in ("store", "atomic") and e.tensor == mismatch.output]
    mine = [e for e in stores if e.program == mismatch.writer and _touches(e, mismatch.first, mismatch.shape)]
    lines = {e.line for e in stores}
    line = mine[-1].line if mine else lines.pop() if len(lines) == 1 else None
    return replace(mismatch, line=words.own_line(source, line))


def _touches(event: Event, index: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    tile = event.tile
    if tile is None or tile.active is None or len(tile.active) != len(index):
        return False
    if tile.elements is not None:
        return int(np.ravel_multi_index(index, shape)) in tile.elements if index else True
    return all(start <= i < stop for i, (start, stop) in zip(index, tile.active, strict=True))


def _findings(outcome: Outcome, replay: Trace | None) -> list[Finding]:
    found = list(outcome.trace.findings) if outcome.trace else []
    if replay is not None:
        found += [f for f in replay.findings if f.kind == "nan_born"]
    return found


def _own(source: KernelSource, finding: Finding) -> Finding:
    return replace(
        finding, line=words.own_line(source, finding.line), message=words.in_own_lines(source, finding.message)
    )


def _first(findings: Sequence[Finding], kind: str) -> Finding | None:
    return next((f for f in findings if f.kind == kind), None)


def _values_line(source: KernelSource, mismatch: Mismatch, failing: Outcome, replay: Trace | None) -> int | None:
    findings = _findings(failing, replay)
    for kind in ("undefined_lanes", "nan_born") if _first_is_nan(mismatch) else ("undefined_lanes",):
        cause = _first(findings, kind)
        if cause is not None and cause.line is not None:
            return words.own_line(source, cause.line)
    return mismatch.line


def _first_is_nan(mismatch: Mismatch) -> bool:
    return math.isnan(_at_first(mismatch)[0])


def _at_first(mismatch: Mismatch) -> tuple[float, float]:
    """What was got and what was expected, at the first wrong element."""
    at = tuple(i - start for i, (start, _) in zip(mismatch.first, mismatch.window, strict=True))
    return float(mismatch.got[at]), float(mismatch.expected[at])


def _values_message(
    source: KernelSource, outcomes: Sequence[Outcome], failing: Outcome, mismatch: Mismatch, replay: Trace | None
) -> str:
    got, expected = _at_first(mismatch)
    name = words.element(mismatch.output, mismatch.first)
    parts = [f"{name} is {_told(got, expected)}, but should be {_told(expected, got)} ({mismatch.case.name})."]
    bad = sum(1 for o in outcomes if o.ran and not o.right)
    many = f" in this case, and {bad} of {len(outcomes)} cases fail" if len(outcomes) > 1 else ""
    parts.append(
        f"{mismatch.wrong:,} of {words.count(mismatch.total, 'element')} {'is' if mismatch.wrong == 1 else 'are'} wrong{many}."
    )
    if mismatch.writer is not None and failing.trace is not None:
        where = f", at line {mismatch.line}" if mismatch.line else ""
        parts.append(f"{words.program(mismatch.writer, failing.trace.grid).capitalize()} stored it{where}.")
    elif mismatch.writers is not None:
        parts.append("No program stored it: it still holds what was there before the launch.")
    parts.append(_cause(source, failing, mismatch, replay))
    return " ".join(part for part in parts if part)


def _told(value: float, other: float) -> str:
    """Enough figures that the two can be told apart."""
    short = words.number(value)
    return short if short != words.number(other) else f"{value:.9g}"


def _cause(source: KernelSource, failing: Outcome, mismatch: Mismatch, replay: Trace | None) -> str:
    findings = _findings(failing, replay)
    undefined = _first(findings, "undefined_lanes")
    if undefined is not None:
        where = words.line_words(source, undefined.line)
        return f"Masked-off lanes of the load{f' at {where}' if where else ''} reached the result, and without `other` they hold anything at all."
    born = _first(findings, "nan_born")
    if born is not None and _first_is_nan(mismatch):
        where = words.line_words(source, born.line)
        what = f"`{born.operation}`" if born.operation else "an operation"
        return f"The first NaN was made{f' at {where}' if where else ''}, by {what}."
    return ""


def _values_advice(
    source: KernelSource, outcomes: Sequence[Outcome], failing: Outcome, mismatch: Mismatch, replay: Trace | None
) -> str:
    findings = _findings(failing, replay)
    got, _ = _at_first(mismatch)
    bad = [o.case for o in outcomes if o.ran and not o.right]
    contrast = words.contrast(bad, [o.case for o in outcomes if o.right])
    outside = _first(findings, "out_of_bounds_load") or _first(findings, "out_of_bounds_store")
    if _first(findings, "undefined_lanes"):
        return (
            "Give that load an `other`: a value that changes neither the answer nor anything computed on the way to it."
        )
    if mismatch.writer is None and mismatch.writers is not None:
        return "Write down, for a small case, which elements each program stores. Together they must be all of them."
    if outside is not None:
        where = words.line_words(source, outside.line)
        return f"Lanes {f'of {where} ' if where else ''}also fall outside {words.name_of(outside.tensor or 'the tensor')}. Check that pointer and its mask first. {contrast}".strip()
    if math.isnan(got):
        return f"NaN is what 0 / 0, inf - inf and inf / inf give. Ask which of them can happen there, and with what values. {contrast}".strip()
    if math.isinf(got):
        return f"Something grew past the largest number of its type. Ask what bounds it from above. {contrast}".strip()
    if contrast:
        return contrast
    return "Work the first row of the window out by hand for the smallest failing case, or watch `film` go through it: where does your program first hold something else?"


# --- memory -----------------------------------------------------------------------------------------------------------

MEMORY_KINDS = (
    "out_of_bounds_store",
    "out_of_bounds_load",
    "modified_input",
    "race",
    "unwritten",
    "undefined_lanes",
)
"""Findings that fail the `memory` gate, the most urgent first."""


def memory_findings(outcome: Outcome) -> list[Finding]:
    """What fails the memory gate in one case, the most urgent first."""
    found = [f for f in (outcome.trace.findings if outcome.trace else []) if f.kind in MEMORY_KINDS]
    found += [
        Finding(
            "modified_input" if d.inside else "out_of_bounds_store",
            "",
            tensor=d.tensor,
            count=d.count,
            elements=(d.index,) if d.index else (),
        )
        for d in outcome.damage
        if not any(f.tensor == d.tensor and f.kind in ("modified_input", "out_of_bounds_store") for f in found)
    ]
    return sorted(found, key=lambda f: MEMORY_KINDS.index(f.kind))


def memory_failure(outcomes: Sequence[Outcome]) -> Outcome | None:
    return next((o for o in outcomes if memory_findings(o)), None)


def memory_gate(source: KernelSource, outcomes: Sequence[Outcome]) -> GateResult:
    failing = memory_failure(outcomes)
    if failing is None:
        return GateResult(
            "memory",
            "passed",
            "Every access stays inside its tensor, every output element is stored by one program, no input is changed.",
        )
    findings = memory_findings(failing)
    first = findings[0]
    bad = sum(1 for o in outcomes if memory_findings(o))
    message, advice = _memory_words(source, failing, first)
    many = f" It happens in {bad} of {len(outcomes)} cases." if len(outcomes) > 1 else ""
    return GateResult(
        "memory",
        "failed",
        f"{message}{many}",
        line=words.own_line(source, first.line),
        detail="\n".join(words.in_own_lines(source, f.message) for f in findings if f.message),
        advice=advice,
        case=failing.case,
        findings=tuple(_own(source, f) for f in findings),
    )


def _memory_words(source: KernelSource, outcome: Outcome, f: Finding) -> tuple[str, str]:
    grid = outcome.trace.grid if outcome.trace else None
    where = words.line_words(source, f.line)
    at = f", at {where}" if where else ""
    tensor = words.name_of(f.tensor or "a tensor")
    who = words.program(f.program, grid).capitalize() if f.program is not None else "A program"
    case = f" ({outcome.case.name})"
    shape = _shape(outcome, f.tensor)
    example = f", for example {words.element(f.tensor or tensor, f.elements[0])}" if f.elements else ""
    lanes = words.count(f.count, "lane") if f.count else "lanes"
    elements = words.count(f.count, "element") if f.count else "elements"
    match f.kind:
        case "out_of_bounds_load":
            return (
                f"{who} reads {lanes} outside {tensor}{shape}{example}{at}{case}. The values came out right all the same, but on a GPU such a load brings whatever lies there, or ends the launch.",
                "Mask the load: lanes whose index is not below the size must be switched off. For the last tile, write down which lanes those are.",
            )
        case "out_of_bounds_store":
            return (
                f"{who} writes {lanes} outside {tensor}{shape}{example}{at}{case}. That memory belongs to someone else.",
                "Mask the store as the load is masked: only lanes that own an element may write.",
            )
        case "modified_input":
            return (
                f"{tensor} is an input, and {elements} of it changed{example}{at}{case}.",
                f"Keep results in registers and store only to the output; whoever called the kernel still needs {tensor}.",
            )
        case "race":
            return (
                f"Two programs touch the same {elements} of {tensor}, and one of them stores{example}{at}{case}. Programs run at the same time, so which one comes last is chance.",
                "Each output element must belong to exactly one program. Write down which elements two neighbouring programs store, masked lanes aside.",
            )
        case "unwritten":
            return (
                f"{elements[0].upper()}{elements[1:]} of {tensor} {'is' if f.count == 1 else 'are'} never stored{example}{case}.",
                "Together the programs must store every element once. Compare the grid times the tile with the size.",
            )
        case _:
            return (
                f"Masked-off lanes of the load{at} reach what is stored{case}, and without `other` they hold anything at all.",
                "Give that load an `other` that cannot change the answer.",
            )


def _shape(outcome: Outcome, tensor: str | None) -> str:
    info = outcome.trace.tensors.get(tensor) if outcome.trace and tensor else None
    if info is None:
        return ""
    return (
        f", which is {' × '.join(map(str, info.shape))}"
        if len(info.shape) > 1
        else f", which has {words.count(info.shape[0], 'element')}"
    )


# --- traffic ----------------------------------------------------------------------------------------------------------


def overdrawn(puzzle: Puzzle, outcome: Outcome) -> list[tuple[str, str, int, int]]:
    """``(tensor, "loaded" | "stored", bytes moved, bytes allowed)`` for all that passes its allowance in one case."""
    if outcome.trace is None:
        return []
    budget, found = puzzle.budget(outcome.case), []
    for name, traffic in outcome.trace.traffic.items():
        allowance = budget.get(name)
        for verb, moved, allowed in (
            ("loaded", traffic.loaded, allowance.loaded if allowance else 0),
            ("stored", traffic.stored, allowance.stored if allowance else 0),
        ):
            if moved > allowed:
                found.append((name, verb, moved, allowed))
    return found


def traffic_failure(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The failing case with the most bytes: ratios are clearest there."""
    failing = [o for o in outcomes if overdrawn(puzzle, o)]
    return max(failing, key=lambda o: sum(moved for _, _, moved, _ in overdrawn(puzzle, o)), default=None)


def traffic_gate(
    puzzle: Puzzle, source: KernelSource, outcomes: Sequence[Outcome], replay: Trace | None = None
) -> GateResult:
    failing = traffic_failure(puzzle, outcomes)
    if failing is None:
        shown = max(outcomes, key=_moved, default=None)
        table = _table(puzzle, shown) if shown else {}
        return GateResult(
            "traffic", "passed", _passes(puzzle, shown), case=shown.case if shown else None, traffic=table
        )
    name, verb, moved, allowed = overdrawn(puzzle, failing)[0]
    lines = _lines_moving(replay, name, verb)
    where = f", by {words.join(words.line_words(source, line) for line in lines)}" if lines else ""
    return GateResult(
        "traffic",
        "failed",
        f"{_times(failing, name, verb, moved, allowed)}{where} ({failing.case.name}: {moved:,} bytes, allowed {allowed:,}). {_because(puzzle, failing, name)}".strip(),
        line=words.own_line(source, lines[-1]) if lines else None,
        advice="A tile that was loaded stays in the program's registers: name it once and use it again."
        if verb == "loaded"
        else "Store each result once, when it is final.",
        case=failing.case,
        traffic=_table(puzzle, failing),
    )


def _times(outcome: Outcome, name: str, verb: str, moved: int, allowed: int) -> str:
    full = _tensor_bytes(outcome, name)
    tensor = words.name_of(name)
    if full == 0:
        return f"{tensor} was {verb} more than this rung allows"
    rung = "this rung allows none" if allowed == 0 else f"this rung allows {allowed / full:.3g}"
    return f"{tensor} was {verb} {moved / full:.3g} times over; {rung}"


def _because(puzzle: Puzzle, outcome: Outcome, name: str) -> str:
    allowance = puzzle.budget(outcome.case).get(name)
    if allowance is None or not allowance.because:
        return ""
    because = allowance.because
    if because.split()[0] in map(words.name_of, puzzle.parameters):
        return f"{because}."  # a tensor's name stays as it is written
    return f"{because[0].upper()}{because[1:]}."


def _tensor_bytes(outcome: Outcome, name: str) -> int:
    tensor = outcome.prepared.launch.arguments[name]
    return tensor.numel() * tensor.element_size()  # type: ignore[union-attr]


def _lines_moving(replay: Trace | None, name: str, verb: str) -> list[int]:
    kinds = ("load", "atomic") if verb == "loaded" else ("store", "atomic")
    events = replay.events if replay else []
    return sorted({e.line for e in events if e.tensor == name and e.kind in kinds and e.bytes})


def _moved(outcome: Outcome) -> int:
    return sum(t.loaded + t.stored for t in outcome.trace.traffic.values()) if outcome.trace else 0


def _table(puzzle: Puzzle, outcome: Outcome) -> dict[str, tuple[Traffic, int, int]]:
    budget = puzzle.budget(outcome.case)
    return {
        name: (t, budget[name].loaded if name in budget else 0, budget[name].stored if name in budget else 0)
        for name, t in (outcome.trace.traffic.items() if outcome.trace else ())
    }


def _passes(puzzle: Puzzle, outcome: Outcome | None) -> str:
    if outcome is None or outcome.trace is None:
        return "Nothing was moved that the rung does not allow."
    parts = []
    for name, traffic in outcome.trace.traffic.items():
        full = _tensor_bytes(outcome, name)
        for verb, moved in (("loaded", traffic.loaded), ("stored", traffic.stored)):
            if moved and full:
                times = moved / full
                parts.append(
                    f"{words.name_of(name)} {verb} {'once' if abs(times - 1) < 0.005 else f'{times:.3g} times'}"
                )
    return f"{words.join(parts)}: within what this rung allows." if parts else "Nothing was moved."
