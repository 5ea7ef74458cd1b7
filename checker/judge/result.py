"""A verdict as the `result/v1` record of one puzzle."""

from __future__ import annotations

from typing import Any

from checker.judge.verdict import Verdict


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """The object that stands under ``puzzles`` in `result/v1` (see `checker.judge.schema.PUZZLE_SCHEMA`)."""
    diagnosis = verdict.diagnosis
    return {
        "puzzle": verdict.puzzle,
        "status": verdict.status,
        "score": verdict.score,
        "max_score": verdict.max_score,
        "device": verdict.device,
        "seconds": round(verdict.seconds, 3),
        "gates": [{"gate": g.gate, "status": g.status, "message": g.message, "line": g.line} for g in verdict.gates],
        "diagnosis": None
        if diagnosis is None
        else {"misconception": diagnosis.misconception, "message": diagnosis.message, "line": diagnosis.line},
    }
