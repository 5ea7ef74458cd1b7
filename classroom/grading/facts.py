"""What is kept of a verdict."""

from __future__ import annotations

import msgspec
import numpy as np

from checker.judge.verdict import GateResult, Mismatch, Verdict
from classroom.grading.records import CaseCounts, CaseRecord, DiagnosisRecord, Facts, GateRecord, MismatchRecord

MAX_TEXT = 20_000
"""Characters of one text: messages quote what learners wrote."""


def plain(text: str) -> str:
    """Text that can be written and shown anywhere: no half surrogate pairs, nothing that steers a terminal."""
    whole = text.encode("utf-8", "replace").decode()
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in whole)
    return shown if len(shown) <= MAX_TEXT else shown[:MAX_TEXT] + " …"


def facts_of(verdict: Verdict) -> Facts:
    return Facts(
        puzzle=verdict.puzzle,
        status=verdict.status,
        device=verdict.device,
        gates=tuple(map(_gate, verdict.gates)),
        cases=CaseCounts(right=verdict.cases_right, run=verdict.cases_run) if verdict.cases_run else None,
        diagnosis=msgspec.convert(verdict.diagnosis, DiagnosisRecord | None, from_attributes=True),
        smallest=msgspec.convert(verdict.smallest, CaseRecord | None, from_attributes=True),
    )


def _gate(gate: GateResult) -> GateRecord:
    return GateRecord(
        gate=gate.gate,
        status=gate.status,
        message=plain(gate.message),
        line=gate.line,
        advice=plain(gate.advice),
        detail=plain(gate.detail),
        case=msgspec.convert(gate.case, CaseRecord | None, from_attributes=True),
        mismatch=_mismatch(gate.mismatch) if gate.mismatch is not None else None,
    )


def _mismatch(mismatch: Mismatch) -> MismatchRecord:
    def texts(array: np.ndarray) -> tuple[str, ...]:
        return tuple(f"{value:.8g}" for value in np.asarray(array, dtype=np.float64).ravel()[:400])

    return MismatchRecord(
        output=mismatch.output,
        shape=tuple(map(int, mismatch.shape)),
        first=tuple(map(int, mismatch.first)),
        wrong=int(mismatch.wrong),
        total=int(mismatch.total),
        window=tuple((int(a), int(b)) for a, b in mismatch.window),
        expected=texts(mismatch.expected),
        got=texts(mismatch.got),
        writer=None
        if mismatch.writer is None
        else (int(mismatch.writer[0]), int(mismatch.writer[1]), int(mismatch.writer[2])),
        line=mismatch.line,
    )
