"""The kill table."""

from __future__ import annotations

from dataclasses import replace

import jsonschema
import pytest

from checker.course import PUZZLES
from checker.grading import mutants
from checker.grading.mutants import Row
from checker.misconceptions import bank
from checker.sandbox import Sandbox

VECTOR_ADD = PUZZLES["vector_add"]
CAUGHT = Row("vector_add", "no_mask", "failed", "memory", ("memory", "values"), "no_mask", (), "a tile | always fits")
SCHEMA = {
    "type": "object",
    "required": ["schema", "device", "puzzles"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": "mutants/v1"},
        "device": {"enum": ["cpu", "cuda"]},
        "puzzles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["puzzle", "misconceptions"],
                "additionalProperties": False,
                "properties": {
                    "puzzle": {"type": "string"},
                    "misconceptions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["name", "caught", "gate", "diagnosed_as"],
                            "additionalProperties": False,
                            "properties": {
                                "name": {"type": "string"},
                                "caught": {"type": "boolean"},
                                "gate": {"type": ["string", "null"]},
                                "diagnosed_as": {"type": ["string", "null"]},
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_real_misconceptions_are_caught_by_the_gates_meant_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    few = bank("vector_add")[:3]  # the whole bank is judged in tests/judge
    monkeypatch.setattr(mutants, "bank", lambda puzzle: few)
    with Sandbox() as sandbox:
        rows = mutants.kill_table([VECTOR_ADD], "cpu", runner=sandbox)
    assert [row.name for row in rows] == [wrong.name for wrong in few]
    assert {row.name: row.gate for row in rows if not row.by_the_right_gate} == {}
    assert mutants.exit_code(rows) == 0
    jsonschema.validate(mutants.document(rows, [VECTOR_ADD], "cpu"), SCHEMA)


@pytest.mark.parametrize(
    ("row", "caught", "right", "code"),
    [
        (CAUGHT, True, True, 0),
        (replace(CAUGHT, gate="traffic"), True, False, 1),
        (replace(CAUGHT, status="passed", gate=None), False, False, 1),
        (replace(CAUGHT, status="infra_error", gate=None), False, False, 3),
        (replace(CAUGHT, status="timeout", gate="values"), True, True, 0),
    ],
    ids=["caught", "by another gate", "survives", "machine broke", "timeout"],
)
def test_what_counts_as_caught(row: Row, caught: bool, right: bool, code: int) -> None:
    assert (row.caught, row.by_the_right_gate, mutants.exit_code([row])) == (caught, right, code)


def test_no_misconceptions_at_all_is_not_a_success() -> None:
    assert mutants.exit_code([]) == 2


def test_a_declared_equivalent_counts_as_named() -> None:
    twin = replace(CAUGHT, diagnosed_as="twin", same_as=("twin",))
    assert twin.diagnosed
    assert not replace(twin, same_as=()).diagnosed


def test_the_page_shows_a_survivor_loudly_and_keeps_its_table_whole() -> None:
    rows = [CAUGHT, replace(CAUGHT, name="other", status="passed", gate=None, diagnosed_as=None)]
    page = mutants.markdown(rows, [VECTOR_ADD], "cpu")
    assert "1 of 2 caught by a gate meant for it, 1 of 2 named" in page
    assert "**survives**" in page
    assert "a tile \\| always fits" in page
