"""What findings call the tensors: by their own name, without the pointer's suffix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.films import films


@pytest.mark.parametrize(
    ("puzzle", "edit", "kind", "said"),
    [
        ("vector_add", (", mask=mask, other=0.0", ""), "out_of_bounds_load", "outside x (10)"),
        ("row_softmax", (', other=float("-inf")', ""), "undefined_lanes", "The load of x in line"),
        (
            "vector_add",
            ("z_ptr + offs_n, x + y", "x_ptr + offs_n, x + y"),
            "unwritten",
            "elements of z are never stored",
        ),
        ("vector_add", ("z_ptr + offs_n, x + y", "x_ptr + offs_n, x + y"), "modified_input", "x is an input"),
    ],
)
def test_findings_speak_of_the_tensor(puzzle: str, edit: tuple[str, str], kind: str, said: str, tmp_path: Path) -> None:
    findings = films.shoot(puzzle, films.edited(puzzle, edit), tmp_path).trace.findings
    assert said in next(f.message for f in findings if f.kind == kind)
    assert not [f for f in findings if "_ptr" in f.message]
    assert all(f.tensor is None or f.tensor.endswith("_ptr") for f in findings), "the field keeps the parameter"
