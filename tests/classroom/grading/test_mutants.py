"""The kill table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from checker import cli
from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from checker.misconceptions.pages import PageError
from checker.sandbox import Sandbox
from checker.verbs import mutants
from checker.verbs.mutants import Row
from tests.classroom.grading.classes import VECTOR_ADD

CAUGHT = Row("vector_add", "no_mask", "failed", "memory", ("memory", "values"), "no_mask")


def exactly(**properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    required = list(properties)
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


ENTRY = exactly(
    name={"type": "string"},
    caught={"type": "boolean"},
    gate={"type": ["string", "null"]},
    diagnosed_as={"type": ["string", "null"]},
)
PUZZLE = exactly(puzzle={"type": "string"}, misconceptions={"type": "array", "items": ENTRY})
SCHEMA = exactly(
    schema={"const": "mutants/v1"},
    device={"enum": ["cpu", "cuda"]},
    puzzles={"type": "array", "items": PUZZLE},
)


def test_real_misconceptions_are_caught_by_the_gates_meant_for_them(
    monkeypatch: pytest.MonkeyPatch, sandbox: Sandbox
) -> None:
    few = bank("vector_add")[:3]  # the whole bank is judged in tests/misconceptions
    monkeypatch.setattr(mutants, "bank", lambda puzzle: few)
    rows = mutants.kill_table([VECTOR_ADD], "cpu", runner=sandbox)  # type: ignore[arg-type]
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


def test_a_declared_equivalent_counts_as_named() -> None:
    twin = replace(CAUGHT, diagnosed_as="twin", same_as=("twin",))
    assert twin.diagnosed
    assert not replace(twin, same_as=()).diagnosed


def test_the_page_counts_and_names_only_what_is_not_as_it_should_be() -> None:
    rows = [
        CAUGHT,
        replace(CAUGHT, name="other", status="passed", gate=None, diagnosed_as=None),
        replace(CAUGHT, name="late", gate="traffic", diagnosed_as="late"),
        replace(CAUGHT, name="mistaken", diagnosed_as="no_mask"),
    ]
    page = mutants.markdown(rows, [VECTOR_ADD], "cpu")
    assert "2 of 4 caught by a gate meant for it, 2 of 4 named" in page
    assert "| [vector_add](../checker/misconceptions/vector_add.md) | 4 | 2 | 2 | 0 | 0 | 0 | 2 | 1 | 0 |" in page
    assert "**Survive:** `vector_add/other` (passed)." in page
    assert "**Stopped by another gate:** `vector_add/late` (traffic, meant for memory or values)." in page
    assert "GPU" not in page.split("printed", 1)[-1].split("| puzzle |", 1)[1]
    assert "Survive" not in mutants.markdown([CAUGHT], [VECTOR_ADD], "cpu")


def test_a_kernel_that_no_gpu_has_run_yet_is_pending_by_itself() -> None:
    rows = [replace(CAUGHT, gpu="guard band"), replace(CAUGHT, name="new")]
    page = mutants.markdown(rows, [VECTOR_ADD], "cpu")
    assert "| 2 | 2 | 1 | 0 | 0 | 0 | 2 | 0 | 0 | 1 |" in page
    assert "**Pending on a GPU:** `vector_add/new`." in page


def test_a_wrong_kernel_is_shown_whole_with_what_was_believed() -> None:
    text = mutants.text(mutants.find("mask_less_or_equal", [VECTOR_ADD]))
    assert text.startswith("# vector_add: mask_less_or_equal\n# Believed: the last element has index N")
    assert "    mask = offs_n <= N  # wrong\n" in text
    assert "# Gate: memory\n\nimport triton\n" in text
    compile(text, "shown.py", "exec")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("no_maks", "no wrong kernel no_maks; near it: no_mask"),
        ("no_mask", "of vector_add, row_softmax, .*: choose one"),
    ],
)
def test_a_name_that_no_puzzle_has_or_several_is_refused(name: str, complaint: str) -> None:
    with pytest.raises(LookupError, match=complaint):
        mutants.find(name, LADDER)


def test_a_page_that_does_not_fit_is_told_of_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def misfit(_: str) -> None:
        raise PageError("row_softmax, no_mask: there is no such line in the solution")

    monkeypatch.setattr(mutants, "bank", misfit)
    assert cli.main(["mutants", "--puzzle", "row_softmax"]) == 2
    said = capsys.readouterr().err
    assert "row_softmax, no_mask: there is no such line in the solution" in said
    assert "CONTRIBUTING.md" in said
    assert "Traceback" not in said


def test_show_prints_it_and_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mutants", "--puzzle", "row_softmax", "--show", "no_mask"]) == 0
    assert capsys.readouterr().out == mutants.text(mutants.find("no_mask", [PUZZLES["row_softmax"]]))
    assert cli.main(["mutants", "--show", "no_mask"]) == 2
    assert "choose one with --puzzle" in capsys.readouterr().err
