"""`result/v1`: what `verdict_to_json` writes follows the schema, whatever the verdict."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError

from checker.course import PUZZLES
from checker.judge import verdict_to_json
from checker.judge.result_v1 import PUZZLE_SCHEMA, RESULT_SCHEMA
from checker.misconceptions import bank
from tests.judge.helpers import judge, solution, written

ROW = PUZZLES["row_softmax"]
ENVIRONMENT = dict.fromkeys(("python", "torch", "triton", "numpy", "device", "sandbox"), "x")


@pytest.fixture
def records(runner):
    sources = {
        "passed": solution("row_softmax"),
        "not_attempted": written("row_softmax", "pass"),
        "failed": next(m for m in bank("row_softmax") if m.name == "no_max_subtraction").source,
    }
    return {status: verdict_to_json(judge(ROW, source, runner)) for status, source in sources.items()}


def test_schema_is_a_schema():
    Draft202012Validator.check_schema(RESULT_SCHEMA)


def test_records_follow_the_schema_and_survive_json(records):
    for status, record in records.items():
        assert record["status"] == status
        again = json.loads(json.dumps(record, allow_nan=False))
        Draft202012Validator(PUZZLE_SCHEMA).validate(again)
        result = {
            "schema": "result/v1",
            "environment": ENVIRONMENT,
            "submissions": [{"submission": "a.py", "puzzles": [again]}],
        }
        Draft202012Validator(RESULT_SCHEMA).validate(result)


def test_fields_are_those_of_the_contract(records):
    record = records["failed"]
    assert list(record) == ["puzzle", "status", "score", "max_score", "device", "seconds", "gates", "diagnosis"]
    assert list(record["gates"][0]) == ["gate", "status", "message", "line"]
    assert list(record["diagnosis"]) == ["misconception", "message", "line"]
    assert record["diagnosis"]["misconception"] == "no_max_subtraction"
    labels = [paragraph.partition(": ")[0] for paragraph in record["diagnosis"]["message"].split("\n\n")]
    assert labels in (["Believed", "Instead"], ["Believed", "Instead", "Try"])
    assert records["passed"]["diagnosis"] is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r.pop("score"),
        lambda r: r.update(status="green"),
        lambda r: r.update(extra=1),
        lambda r: r["gates"][0].update(gate="luck"),
        lambda r: r["gates"][0].update(line="12"),
    ],
)
def test_anything_else_is_refused(records, spoil):
    record = records["passed"]
    spoil(record)
    with pytest.raises(ValidationError):
        Draft202012Validator(PUZZLE_SCHEMA).validate(record)
