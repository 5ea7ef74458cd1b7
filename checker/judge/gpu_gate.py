"""The `gpu` gate: large cases and enough of the small ones, on a real GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from checker.compiler import requests_for
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
from checker.judge.outcome import Outcome, judged
from checker.judge.phrases import element, number
from checker.judge.runner import Runner
from checker.judge.threads import FEW, at_most
from checker.judge.values_gate import unfinished
from checker.judge.verdict import GateResult
from checker.phrases import count, short
from checker.puzzle import Case, Launch, Puzzle
from checker.submission.kernel import Config, KernelSource

NOT_RUN = "not run: no GPU here, or none was requested. Everything else was checked in the simulator."

NOT_VISIBLE = "not visible"
_COMPILER = (
    "If it is neither, suspect the compiler: on an H200, Triton 3.6.0 got the product `tl.dot(a, state.to(tl.bfloat16))` wrong, whose "
    "operand is a running tile rounded to 16 bits, when the tile had 64 rows and 32 columns. In float32 it was right."
)
_CLEAN_IN_THE_SIMULATOR = (
    "In the simulator every address of the same case was inside its tensor. On a GPU programs run at the same time, so does "
    "an address depend on what another program stores, or on what another lane of the same store writes? " + _COMPILER
)


def worth_launching(
    puzzle: Puzzle,
    cases: Sequence[Case],
    configs: Sequence[Config],
    prepared: Sequence[Prepared],
    compiled: Sequence[Case] = (),
) -> list[Planned]:
    """The large cases for a GPU, and enough small ones for every dtype to meet every flag, and for every layout and tile to occur.

    Each shape of arguments is compiled anew, and the simulator has already run the small cases (`prepared`). Further cases come
    along if they need no new compilation beyond these and `compiled`. `plan_on_gpu` decides about configurations after the first.
    """
    launches = {(one.case.name, repr(one.config)): one.launch for one in prepared}
    first = configs[0] if configs else None

    def shape(case: Case) -> str:
        tiled = in_tiles(case, first) if first else case
        return repr(requests_for(launches[tiled.name, repr(first)], puzzle.parameters, (0,)))

    small = [case for case in cases if "cpu" in case.devices]
    shapes = {shape(case) for case in covering(small, _factors, [case for case in small if case in compiled])}
    selected = [case for case in cases if "cpu" not in case.devices or shape(case) in shapes]
    return plan_on_gpu(puzzle, selected, configs)


def _factors(case: Case) -> set[Factor]:
    flags = {(case.dtype, name, value) for name, value in case.flags.items()}
    return {*case.meta.items(), ("layout", case.layout), (case.dtype,), *flags}


def gpu_gate(puzzle: Puzzle, source: KernelSource, runner: Runner, planned: Sequence[Planned]) -> GateResult:
    """Launch every case in `planned`, small ones twice, with two poisons in the outputs, so that no leftovers can look right."""
    ran = 0
    for outcome in _outcomes(puzzle, source, runner, planned):
        ran += 1
        if not outcome.ran:
            return _stopped(source, outcome)
        if not outcome.right:
            return _wrong(outcome)
        if outcome.damage:
            return _damaged(outcome, outcome.damage[0])
    largest = max((case for case, _ in planned), key=volume).name if planned else "no case"
    message = f"Right in all {count(ran, 'launch', 'launches')} on the GPU, up to {largest}."
    return GateResult("gpu", "passed", message)


def _outcomes(puzzle: Puzzle, source: KernelSource, runner: Runner, planned: Sequence[Planned]) -> Iterator[Outcome]:
    waiting: deque[Prepared] = deque()

    def launches() -> Iterator[Launch]:
        for prepared in _prepared(puzzle, planned):
            waiting.append(prepared)
            yield prepared.launch

    requested = launches()
    for result in runner.launch(source, requested):
        if not waiting:  # a runner that cannot launch at all says so before it takes a launch
            next(requested)
        prepared = waiting.popleft()
        with _threads(prepared.case):
            outcome = judged(puzzle, prepared, result)
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
    return at_most(1 if "cpu" in case.devices else FEW)


def seen_on_gpu(puzzle: Puzzle, source: KernelSource, runner: Runner, *, large: bool = True) -> str:
    """What the hardware alone shows of a kernel, whatever the simulator says.

    ``wrong values``, ``modified input``, ``guard band`` (memory around a tensor changed), ``error: …`` with the failed launch's
    message, or ``not visible``. `large` also tries the cases that only a GPU runs. Raises RuntimeError if a launch could not be
    made, which says nothing about the kernel.
    """
    cases = [case for case in puzzle.cases if "gpu" in case.devices and (large or "cpu" in case.devices)]
    for outcome in _outcomes(puzzle, source, runner, plan_on_gpu(puzzle, cases, source.configs)):
        if outcome.result.status in ("infra_error", "protocol_error"):
            raise RuntimeError(outcome.result.message)
        if not outcome.ran:
            return f"error: {outcome.result.message}"
        if not outcome.right:
            return "wrong values"
        if outcome.damage:
            return "modified input" if any(damage.inside for damage in outcome.damage) else "guard band"
    return NOT_VISIBLE


def _stopped(source: KernelSource, outcome: Outcome) -> GateResult:
    result = unfinished("gpu", source, outcome)
    unseen = "cpu" in outcome.case.devices  # the simulator ran this case, and memory passed
    if unseen and result.status == "runtime_error" and "illegal address" in result.message:
        return replace(result, advice=_CLEAN_IN_THE_SIMULATOR)
    return result


def _wrong(outcome: Outcome) -> GateResult:
    assert outcome.comparison is not None
    mismatch = outcome.comparison.mismatch
    assert mismatch is not None
    name = element(mismatch.output, mismatch.first)
    got, expected = map(number, mismatch.first_values)
    same = "cpu" in outcome.case.devices
    return GateResult(
        "gpu",
        "failed",
        f"On the GPU {name} is {got}, but should be {expected} ({outcome.case.name}). "
        f"{mismatch.wrong:,} of {count(mismatch.total, 'element')} are wrong"
        + (", while the simulator got the same case right." if same else "; only the GPU runs cases this large."),
        advice="On a GPU programs run at the same time, so one must never need what another stores; so do the lanes of one "
        "program. " + _COMPILER
        if same
        else "Only large cases show offsets past 2³¹ (make the program id int64 first), faults in long loops, and sums kept in 16 bits.",
        case=outcome.case,
        mismatch=mismatch,
        findings=tuple(memory_findings(outcome)),
    )


def _damaged(outcome: Outcome, damage: Damage) -> GateResult:
    tensor = short(damage.tensor)
    if damage.inside and damage.index is not None:
        what = f"{tensor} is an input, and {element(damage.tensor, damage.index)} changed"
    elif damage.offset < 0:
        what = (
            f"{count(damage.count, 'element')} around {tensor} changed, the first {-damage.offset:,} before its start"
        )
    elif damage.offset >= damage.span:
        what = f"{count(damage.count, 'element')} behind {tensor} changed, the first {damage.offset - damage.span + 1:,} past its end"
    else:
        what = f"{count(damage.count, 'element')} between the rows of {tensor} changed"
    return GateResult(
        "gpu",
        "failed",
        f"On the GPU {what} ({outcome.case.name}). That memory is not the kernel's to write.",
        advice="Mask every store: only lanes that own an element may write.",
        case=outcome.case,
        findings=tuple(memory_findings(outcome)),
    )
