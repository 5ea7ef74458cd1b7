"""`result/v1`: a verdict as the record of one puzzle, and the JSON schema (draft 2020-12) of what the grader writes of them."""

from __future__ import annotations

from typing import Any, get_args

from checker.judge.verdict import Diagnosis, Gate, Status, Verdict

_LINE: dict[str, Any] = {"type": ["integer", "null"], "minimum": 1}
_STATUS: dict[str, Any] = {"enum": list(get_args(Status))}
_SECONDS: dict[str, Any] = {"type": "number", "minimum": 0}


def _record(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


GATE_SCHEMA = _record(
    {"gate": {"enum": list(get_args(Gate))}, "status": _STATUS, "message": {"type": "string"}, "line": _LINE}
)
DIAGNOSIS_SCHEMA = _record(
    {"misconception": {"type": ["string", "null"]}, "message": {"type": "string"}, "line": _LINE}
)
PUZZLE_SCHEMA = _record(
    {
        "puzzle": {"type": "string"},
        "status": _STATUS,
        "score": {"type": "number", "minimum": 0},
        "max_score": {"type": "number", "minimum": 0},
        "device": {"enum": ["cpu", "cuda"]},
        "seconds": _SECONDS,
        "gates": {"type": "array", "items": GATE_SCHEMA},
        "diagnosis": {"anyOf": [DIAGNOSIS_SCHEMA, {"type": "null"}]},
    }
)
ENVIRONMENT_SCHEMA = _record(
    {name: {"type": "string"} for name in ("python", "torch", "triton", "numpy", "device", "sandbox")}
)
RESULT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "result/v1",
    **_record(
        {
            "schema": {"const": "result/v1"},
            "environment": ENVIRONMENT_SCHEMA,
            "submissions": {
                "type": "array",
                "items": _record(
                    {"submission": {"type": "string"}, "puzzles": {"type": "array", "items": PUZZLE_SCHEMA}}
                ),
            },
        }
    ),
}


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """The object that stands under ``puzzles`` in `result/v1` (see `PUZZLE_SCHEMA`)."""
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
        else {"misconception": diagnosis.misconception, "message": _message(diagnosis), "line": diagnosis.line},
    }


def _message(diagnosis: Diagnosis) -> str:
    """The diagnosis as one text: `result/v1` has one field for it."""
    if diagnosis.misconception is None:
        return diagnosis.note
    parts = {"Believed": diagnosis.believed, "Instead": diagnosis.instead, "Try": diagnosis.try_}
    return "\n\n".join(f"{label}: {text}" for label, text in parts.items() if text)
