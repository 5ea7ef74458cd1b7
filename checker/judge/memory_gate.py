"""The `memory` gate: does every access stay in its tensor, does every output element have one program, is no input changed."""

from __future__ import annotations

from collections.abc import Sequence

from checker.judge.outcome import Outcome
from checker.judge.phrases import at_line, count, element, in_own_lines, name_of, program
from checker.judge.verdict import Gate, GateResult
from checker.puzzle import Puzzle
from checker.simulator.trace import Finding, Trace
from checker.submission.kernel import KernelSource

GATE: Gate = "memory"
MEMORY_KINDS = (
    "out_of_bounds_store",
    "out_of_bounds_load",
    "modified_input",
    "false_promise",
    "race",
    "race_in_store",
    "missing_barrier",
    "unwritten",
    "undefined_lanes",
)
"""Findings that fail the `memory` gate, the most urgent first."""


STRIDE_OR_MASK = (
    "Is each stride in that address this tensor's own? If so, does the mask ask about the same indices as the address?"
)
"""What to look at where lanes outside a tensor are not masked off: a wrong stride leads out of it whatever the mask says."""
ZERO_TODAY = "On a GPU they hold 0 today, because the machine code that Triton builds clears the register first. Nothing promises that."
"""Of masked lanes without `other`: why a learner may have seen right numbers."""


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


def findings_of_addresses(outcome: Outcome) -> list[Finding]:
    """Those of `memory_findings` that are about addresses, and not about a promise or a barrier."""
    return [f for f in memory_findings(outcome) if f.kind not in ("false_promise", "missing_barrier")]


def _findings(puzzle: Puzzle, outcome: Outcome) -> list[Finding]:
    """What the gate speaks of: an output that a kernel has no reason to load is the business of `traffic`."""
    loaded = {tensor for tensor, allowance in puzzle.budget(outcome.case).items() if allowance.loaded}
    return [f for f in memory_findings(outcome) if f.kind != "missing_barrier" or f.tensor in loaded]


def fails(puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
    """Whether `outcome` has the most urgent finding of `like` too."""
    kinds = [finding.kind for finding in _findings(puzzle, like)]
    return bool(kinds) and any(finding.kind == kinds[0] for finding in _findings(puzzle, outcome))


def failure(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome that the gate speaks of: the first with a finding."""
    return next((o for o in outcomes if _findings(puzzle, o)), None)


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    return GateResult(
        GATE,
        "passed",
        "Every access stays inside its tensor, every output element is stored by one program, no input is changed.",
    )


def failed(
    puzzle: Puzzle,
    source: KernelSource,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    replay: Trace | None,
    apart: str,
) -> GateResult:
    findings = _findings(puzzle, failing)
    bad = sum(1 for o in outcomes if _findings(puzzle, o))
    message, advice = _message_and_advice(source, failing, findings[0])
    many = f" It happens in {bad} of {len(outcomes)} cases." if len(outcomes) > 1 else ""
    told = tuple(in_own_lines(source, f) for f in findings)
    return GateResult(
        GATE,
        "failed",
        f"{message}{many}",
        line=told[0].line,
        detail="\n".join(f.message for f in told if f.message),
        advice=f"{advice} {apart}".strip(),
        case=failing.case,
        findings=told,
    )


def _message_and_advice(source: KernelSource, outcome: Outcome, f: Finding) -> tuple[str, str]:
    grid = outcome.trace.grid if outcome.trace else None
    where = at_line(source, f.line)
    tensor = name_of(f.tensor or "a tensor")
    who = program(f.program, grid).capitalize() if f.program is not None else "A program"
    case = f" ({outcome.case.name})"
    shape = _shape(outcome, f.tensor)
    example = f", for example {element(f.tensor or tensor, f.elements[0])}" if f.elements else ""
    lanes = count(f.count, "lane") if f.count else "lanes"
    elements = count(f.count, "element") if f.count else "elements"
    match f.kind:
        case "out_of_bounds_load":
            return (
                f"{who} reads {lanes} outside {tensor}{shape}{example}{where}{case}. The values came out right all the same, but on a GPU such a load brings whatever lies there, or ends the launch.",
                STRIDE_OR_MASK
                if f.masked
                else "Mask the load: lanes whose index is not below the size must be switched off. For the last tile, write down which lanes those are.",
            )
        case "out_of_bounds_store":
            return (
                f"{who} writes {lanes} outside {tensor}{shape}{example}{where}{case}. No program may touch that memory: it is not part of {tensor}.",
                STRIDE_OR_MASK
                if f.masked
                else "Mask the store as the load is masked: only lanes that own an element may write.",
            )
        case "modified_input":
            return (
                f"{tensor} is an input, and {elements} of it changed{example}{where}{case}.",
                f"Keep results in registers and store only to the output; whoever called the kernel still needs {tensor}.",
            )
        case "false_promise":
            return (
                f"{source.with_own_lines(f.message).rstrip('.')}{case}. The compiler believes it: on a GPU such an access has a misaligned address, or takes the wrong elements.",
                "Promise only what holds for every size and stride, or leave the promise out: a kernel is right without it.",
            )
        case "race":
            return (
                f"Two programs touch the same {elements} of {tensor}, and one of them stores{example}{where}{case}. Programs run at the same time, so which one comes last is chance.",
                "Each output element must belong to exactly one program. Write down which elements two neighbouring programs store, masked lanes aside.",
            )
        case "race_in_store":
            return (
                f"Two lanes of one store write the same element of {tensor}{example}{where}{case}. The lanes of a store write at the same time, so which one comes last is chance.",
                "Within one program, each lane that is switched on must own an element. Write down the offsets of that store for a small tile: which of them are equal?",
            )
        case "missing_barrier":
            return (
                f"{who} loads from {tensor} what it has stored before, with no barrier in between{example}{where}{case}. The threads of a program do not wait for one another: one may load an element before another has stored it. The simulator runs them in step, so the values came out right.",
                "Make all threads wait with `tl.debug_barrier()` between the store and the next load of the same elements.",
            )
        case "unwritten":
            return (
                f"{elements[0].upper()}{elements[1:]} of {tensor} {'is' if f.count == 1 else 'are'} never stored{example}{case}.",
                "Together the programs must store every element once. Compare the grid times the tile with the size.",
            )
        case _:
            return (
                f"Masked-off lanes of the load{where} reach what is stored{case}, and without `other` they may hold anything. {ZERO_TODAY}",
                "Give that load an `other` that cannot change the result.",
            )


def _shape(outcome: Outcome, tensor: str | None) -> str:
    info = outcome.trace.tensors.get(tensor) if outcome.trace and tensor else None
    if info is None:
        return ""
    return (
        f", which is {' × '.join(map(str, info.shape))}"
        if len(info.shape) > 1
        else f", which has {count(info.shape[0], 'element')}"
    )
