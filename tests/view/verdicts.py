"""Verdicts as the judge would hand them over, with real numbers in them."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from checker.course import PUZZLES
from checker.course.families import negative
from checker.judge.comparison import compare
from checker.judge.launches import prepare
from checker.judge.verdict import Diagnosis, GateResult, GateWarning, Mismatch, Status, Verdict
from checker.puzzle import Case
from checker.simulator.trace import Finding, Traffic
from checker.submission.kernel import KernelSource
from tests.judge.helpers import solution

CASE = Case({"M": 5, "N": 37}, {"BLOCK_N": 64}, family=negative)


def line_of(source: KernelSource, fragment: str) -> int:
    return next(i for i, line in enumerate(source.source.splitlines(), 1) if fragment in line)


def mismatch(shape: tuple[int, ...] = (5, 37), *, nan: bool = False, unwritten: bool = False) -> Mismatch:
    """The later half of the rows comes out a fifth too small."""
    rows = math.prod(shape[:-1])
    expected = torch.rand(rows, shape[-1], generator=torch.Generator().manual_seed(0)).double().softmax(dim=-1)
    got = expected.clone()
    got[rows // 2 :] *= 0.8
    writers = torch.arange(rows)[:, None].repeat(1, shape[-1])
    if nan:
        got[-1, ::3] = torch.nan
    if unwritten:
        writers[-1, shape[-1] // 2 :] = -1
    softmax = PUZZLES["row_softmax"]
    prepared = replace(prepare(softmax, CASE), expected={"y_ptr": expected.reshape(shape)})
    found = compare(softmax, prepared, {"y_ptr": got.reshape(shape)}, None).mismatch
    assert found is not None
    by = writers.reshape(shape).numpy()
    line = line_of(solution("row_softmax"), "tl.store")
    return replace(found, writer=(int(by[found.first]), 0, 0), writers=by, line=line)


def verdict(status: Status, gates: tuple[GateResult, ...], puzzle: str = "row_softmax", **more: object) -> Verdict:
    score = float(PUZZLES[puzzle].points) if status == "passed" else 0.0
    return Verdict(
        puzzle,
        "01_row_softmax.ipynb",
        status,
        "cpu",
        0.84,
        score,
        float(PUZZLES[puzzle].points),
        gates,
        source=more.pop("source", solution(puzzle).source),
        **more,  # type: ignore[arg-type]
    )


TRAFFIC = {"x_ptr": (Traffic(740, 0, 5, 0), 740, 0), "y_ptr": (Traffic(0, 740, 0, 5), 0, 740)}
PASSED = (
    GateResult("source", "passed", "The source keeps the rules."),
    GateResult("compile", "passed", "Compiles for A100."),
    GateResult("values", "passed", "14 cases agree with the float64 reference."),
    GateResult("memory", "passed", "Nothing outside the tensors was touched, and every element was stored once."),
    GateResult("traffic", "passed", "x is read once and y is written once.", case=CASE, traffic=TRAFFIC),
    GateResult("gpu", "skipped", "No GPU here."),
)


def passed() -> Verdict:
    return verdict("passed", PASSED)


def stopped(at: GateResult, **more: object) -> Verdict:
    """The gates before this one passed, and those after it were not reached."""
    place = [gate.gate for gate in PASSED].index(at.gate)
    skipped = [GateResult(gate.gate, "skipped", "") for gate in PASSED[place + 1 :]]
    return verdict(at.status, (*PASSED[:place], at, *skipped), **more)


def wrong_values(**more: object) -> Verdict:
    gate = GateResult(
        "values",
        "failed",
        "Rows of negative numbers come out too small: they do not add up to 1.",
        case=CASE,
        mismatch=mismatch(**more),  # type: ignore[arg-type]
        advice="Write down what the lanes past N hold after the load, and what they add to `l_i`.",
        warnings=(GateWarning("A T4 has no bf16 in hardware: bf16 kernels run there only in float32."),),
    )
    diagnosis = Diagnosis(
        "masked_lanes_zero",
        "a masked lane is out of the game.",
        'a masked lane holds `other`, and takes part in `tl.max` and `tl.sum`. Let it be `float("-inf")`.',
        line=line_of(solution("row_softmax"), "tl.load(x_ptr"),
    )
    return stopped(gate, diagnosis=diagnosis)


def too_much_traffic() -> Verdict:
    traffic = TRAFFIC | {"x_ptr": (Traffic(2220, 0, 15, 0), 740, 0)}
    message, advice = (
        "x is read three times, and once is enough.",
        "Keep the row in one tile from the load to the store.",
    )
    return stopped(GateResult("traffic", "failed", message, case=CASE, traffic=traffic, line=22, advice=advice))


def memory_fault() -> Verdict:
    message, advice = "Program 4 reads 27 elements past the end of x.", "A mask switches the lanes past N off."
    findings = (
        Finding("out_of_bounds_load", 22, (4, 0, 0), "x_ptr", ((5, 0),), 27),
        Finding("race", 27, (1, 0, 0), "y_ptr", ((2, 0),), 27, accesses=("store", "store")),
    )
    other = "Programs 1 and 2 both store y[2, 0]."
    return stopped(GateResult("memory", "failed", message, line=22, findings=findings, detail=other, advice=advice))


def compile_error() -> Verdict:
    raw = "at 18:11:\n    offs_n = tl.arange(0, N)\n             ^\nValueError('arange\\'s arguments must be of type tl.constexpr')"
    message = "`tl.arange` needs bounds that are known when the kernel is compiled, and `N` is not."
    advice = "Use `BLOCK_N`, and mask the lanes past N."
    return stopped(GateResult("compile", "compile_error", message, line=19, detail=raw, advice=advice))


def simple(status: Status, message: str, **more: object) -> Verdict:
    gate = "source" if status in ("forbidden", "not_attempted") else "values"
    return verdict(status, (GateResult(gate, status, message, **more),))  # type: ignore[arg-type]


def every() -> dict[str, Verdict]:
    return {
        "values": wrong_values(),
        "nan": wrong_values(nan=True, unwritten=True),
        "vector": wrong_values(shape=(97,)),
        "heads": wrong_values(shape=(2, 2, 6, 8)),
        "large": wrong_values(shape=(64, 1000)),
        "memory": memory_fault(),
        "traffic": too_much_traffic(),
        "compile": compile_error(),
        "passed": passed(),
        "not_attempted": simple(
            "not_attempted", "The stub was not touched.", advice="Ask for a first hint with `hint(row_softmax_kernel)`."
        ),
        "forbidden": simple("forbidden", "`import torch` is not part of a kernel.", line=3),
        "timeout": simple("timeout", "The kernel was stopped after 10 s: the loop on line 22 never ends.", line=22),
        "infra_error": verdict("infra_error", ()),
    }
