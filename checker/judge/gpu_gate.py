"""The `gpu` gate: large cases and enough of the small ones, on a real GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from checker.compiler import requests_for
from checker.judge.factors import described
from checker.judge.launches import (
    Damage,
    Factor,
    Planned,
    Prepared,
    covering,
    in_tiles,
    plan_on_gpu,
    prepare,
    prepare_all,
    volume,
    with_finite_poison,
)
from checker.judge.memory_gate import memory_findings
from checker.judge.outcome import Candidate, Outcome, judged
from checker.judge.phrases import element, number
from checker.judge.runner import FEW_THREADS, at_most
from checker.judge.values_gate import unfinished
from checker.judge.verdict import GateResult, Mismatch
from checker.phrases import count, short
from checker.puzzle import Case, Launch, Puzzle
from checker.submission.kernel import Config, KernelSource

NOT_RUN = "not run: no GPU here, or none was requested. Everything else was checked in the simulator."

NOT_VISIBLE = "not visible"
WIDEST = 128
"""Wider tiles can take half a minute to compile, and the simulator has tried them. Where long rows need them, large cases have them."""
_COMPILER = (
    "If it is neither, suspect the compiler: on an H200, Triton 3.6.0 computed `tl.dot(a, state.to(tl.bfloat16))` wrong for a running "
    "tile of 64 rows and 32 columns. In float32 it was right."
)
_CLEAN_IN_THE_SIMULATOR = (
    "In the simulator every address of the same case was inside its tensor. On a GPU programs run at the same time: does an address "
    "depend on what another program stores, or on what another lane of the same store writes? " + _COMPILER
)


def worth_launching(
    puzzle: Puzzle,
    cases: Sequence[Case],
    configs: Sequence[Config],
    prepared: Sequence[Prepared],
    compiled: Sequence[Case] = (),
) -> list[Planned]:
    """The large cases, a small one of each dtype, and small ones for each constant, layout and tile up to WIDEST that none of these has.

    The simulator has already run the small cases (`prepared`), and each new shape of arguments has to be compiled. So any other case is
    included only if it needs no further compilation than these and `compiled`. `plan_on_gpu` adds the other configurations.
    """
    launches = {(one.case.name, repr(one.config)): one.launch for one in prepared}
    first = configs[0] if configs else None

    def launch(case: Case) -> Launch:
        tiled = in_tiles(case, first) if first else case
        return launches[tiled.name, repr(first)]

    def shape(case: Case) -> str:
        return repr(requests_for(launch(case), puzzle.parameters, (0,)))

    small, large = [case for case in cases if "cpu" in case.devices], [c for c in cases if "cpu" not in c.devices]
    constants = {name for case in small for name in launch(case).meta}

    def factors(case: Case) -> set[Factor]:
        """What a compiler or a GPU may treat differently: a scale or a length is a number to both."""
        flags = {(case.dtype, name, value) for name, value in case.flags.items() if name in constants}
        tiles = {(name, size) for name, size in case.meta.items() if not isinstance(size, int) or size <= WIDEST}
        return {*tiles, ("layout", case.layout), (case.dtype,), *flags}

    of_each_dtype = covering(small, lambda case: {(case.dtype,)}, [case for case in small if case in compiled])
    shapes = {shape(case) for case in covering(small, factors, [*of_each_dtype, *large])}
    return plan_on_gpu([case for case in cases if case in large or shape(case) in shapes], configs)


def gpu_gate(candidate: Candidate, planned: Sequence[Planned]) -> GateResult:
    """Launch every case in `planned`, small ones twice, with two poisons in the outputs, so that no leftovers can look right."""
    ran = 0
    for outcome in _outcomes(candidate, planned):
        ran += 1
        if not outcome.ran:
            return _stopped(candidate.source, outcome)
        if outcome.comparison is not None and outcome.comparison.mismatch is not None:
            return _wrong(outcome, outcome.comparison.mismatch)
        if outcome.damage:
            return _damaged(outcome, outcome.damage[0])
    largest = max((case for case, _ in planned), key=volume).name if planned else "no case"
    message = f"Right in all {count(ran, 'launch', 'launches')} on the GPU, up to {largest}."
    return GateResult("gpu", "passed", message)


def seen_on_gpu(candidate: Candidate, *, large: bool = True, first: Case | None = None) -> str:
    """What the hardware alone shows of a kernel, whatever the simulator says.

    ``wrong values``, ``modified input``, ``guard band`` (memory around a tensor changed), ``error: …`` with the failed launch's
    message, or ``not visible``. `large` also tries the cases that only a GPU runs. `first` is the case most likely to show
    something. Raises RuntimeError if a launch could not be made, which says nothing about the kernel.
    """
    cases = [case for case in candidate.puzzle.cases if "gpu" in case.devices and (large or "cpu" in case.devices)]
    cases.sort(key=lambda case: case != first)
    for outcome in _outcomes(candidate, plan_on_gpu(cases, candidate.source.configs)):
        if outcome.result.status in ("infra_error", "protocol_error"):
            raise RuntimeError(outcome.result.message)
        if not outcome.ran:
            return f"error: {outcome.result.message}"
        if not outcome.right:
            return "wrong values"
        if outcome.damage:
            return "modified input" if any(damage.inside for damage in outcome.damage) else "guard band"
    return NOT_VISIBLE


def _outcomes(candidate: Candidate, planned: Sequence[Planned]) -> Iterator[Outcome]:
    waiting: deque[Prepared] = deque()

    def launches() -> Iterator[Launch]:
        for prepared in _prepared(candidate.puzzle, planned):
            waiting.append(prepared)
            yield prepared.launch

    requested = launches()
    for result in candidate.runner.launch(candidate.source, requested):
        if not waiting:  # a runner that cannot launch at all says so before it takes a launch
            next(requested)
        prepared = waiting.popleft()
        with _threads(prepared.case):
            outcome = judged(candidate.puzzle, prepared, result)
        yield outcome


def _prepared(puzzle: Puzzle, planned: Sequence[Planned]) -> Iterator[Prepared]:
    """Small cases twice, with two poisons; then the large ones, each only when it is needed, because they fill the memory."""
    shared = prepare_all(puzzle, [(case, config) for case, config in planned if {"cpu", "gpu"} <= case.devices])
    yield from shared
    for one in shared:
        with at_most(1):
            again = with_finite_poison(puzzle, one)
        yield again
    for case, config in planned:
        if case.devices == {"gpu"}:
            with _threads(case):
                prepared = prepare(puzzle, case, config)
            yield prepared


def _threads(case: Case) -> AbstractContextManager[None]:
    return at_most(1 if "cpu" in case.devices else FEW_THREADS)


def _stopped(source: KernelSource, outcome: Outcome) -> GateResult:
    result = unfinished("gpu", source, outcome)
    simulated = "cpu" in outcome.case.devices  # and the memory gate passed
    if simulated and result.status == "runtime_error" and "illegal address" in result.message:
        return replace(result, advice=_CLEAN_IN_THE_SIMULATOR)
    return result


def _wrong(outcome: Outcome, mismatch: Mismatch) -> GateResult:
    got, expected = map(number, mismatch.first_values)
    message = (
        f"On the GPU {element(mismatch.output, mismatch.first)} is {got}, but should be {expected} ({described(outcome.case)}). "
        f"{mismatch.wrong:,} of {count(mismatch.total, 'element')} are wrong"
    )
    if "cpu" in outcome.case.devices:
        message += ", while the simulator got the same case right."
        advice = (
            "On a GPU programs run at the same time, and so do the lanes of a program: none may depend on what another one stores. "
            + _COMPILER
        )
    else:
        message += "; only the GPU runs cases this large."
        advice = "Only large cases expose offsets past 2³¹ (make the program id int64 first), faults in long loops, and sums kept in 16 bits."
    return _failed(outcome, message, advice, mismatch)


def _damaged(outcome: Outcome, damage: Damage) -> GateResult:
    tensor, elements = short(damage.tensor), count(damage.count, "element")
    if damage.inside and damage.index is not None:
        what = f"{tensor} is an input, and {element(damage.tensor, damage.index)} changed"
    elif damage.offset < 0:
        what = f"{elements} around {tensor} changed, the first {-damage.offset:,} before its start"
    elif damage.offset >= damage.span:
        what = f"{elements} after {tensor} changed, the first {damage.offset - damage.span + 1:,} past its end"
    else:
        what = f"{elements} between the rows of {tensor} changed"
    message = f"On the GPU {what} ({described(outcome.case)}). That memory is not the kernel's to write."
    return _failed(outcome, message, "Mask every store: only lanes that own an element may write.")


def _failed(outcome: Outcome, message: str, advice: str, mismatch: Mismatch | None = None) -> GateResult:
    findings = tuple(memory_findings(outcome))
    return GateResult("gpu", "failed", message, advice=advice, case=outcome.case, mismatch=mismatch, findings=findings)
