"""Gives a verdict the learner's own line numbers where a helper or constant comes from another cell."""

from __future__ import annotations

from dataclasses import replace

from checker.judge.verdict import Diagnosis, GateResult
from checker.submission.kernel import KernelSource


def in_own_lines(gate: GateResult, source: KernelSource) -> GateResult:
    """`gate` with each line counted as in the file or cell that it is written in."""
    mismatch = gate.mismatch and replace(gate.mismatch, line=_own(gate.mismatch.line, source))
    return replace(
        gate,
        line=_own(gate.line, source),
        mismatch=mismatch,
        findings=tuple(replace(finding, line=_own(finding.line, source)) for finding in gate.findings),
        warnings=tuple(replace(warning, line=_own(warning.line, source)) for warning in gate.warnings),
    )


def diagnosis_in_own_lines(diagnosis: Diagnosis | None, source: KernelSource) -> Diagnosis | None:
    return diagnosis and replace(diagnosis, line=_own(diagnosis.line, source))


def _own(line: int | None, source: KernelSource) -> int | None:
    return None if line is None else source.locate(line)[1]
