"""The JSON schema of `result/v1` (draft 2020-12): what the grader writes, and every other format is converted from."""

from __future__ import annotations

from typing import Any, get_args

from checker.judge.verdict import Gate, Status

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
