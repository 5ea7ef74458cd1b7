"""Kernels within the rules that try to get a grade without solving the puzzle.

Numbers in brackets refer to a catalogue of exploits seen in other graders. tests/submission/test_rules.py covers what the
rules forbid.
"""

from __future__ import annotations

from pathlib import Path

from checker.checking import check_source
from checker.course import PUZZLES
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from tests.classroom.grading.conftest import RIGHT

START = "# your code starts here"
VECTOR_ADD = PUZZLES["vector_add"]


def kernel(tmp_path: Path, text: str, puzzle: str = "vector_add") -> KernelSource:
    (tmp_path / f"{puzzle}.py").write_text(text)
    (submitted,) = from_path(tmp_path / f"{puzzle}.py", [PUZZLES[puzzle]])
    assert submitted.source is not None, submitted.error
    return submitted.source


def with_line(*lines: str) -> str:
    """The right kernel with these lines at the start of its body."""
    at = RIGHT.index("\n", RIGHT.index(f"    {START}")) + 1
    return RIGHT[:at] + "".join(f"    {line}\n" for line in lines) + RIGHT[at:]


WRONG_VALUES: dict[str, str] = {
    "zeros (14)": RIGHT.replace("x + y", "(x + y) * 0"),
    "the input itself (14)": RIGHT.replace("x + y", "x"),
    "the other input (14)": RIGHT.replace("x + y", "y"),
    "half precision (21)": RIGHT.replace("x + y", "(x.to(tl.float16) + y.to(tl.float16)).to(tl.float32)"),
    "only the first program (23)": with_line("if tl.program_id(0) > 0:", "    return"),
    "no output, in case freed memory holds a reference (3, 6)": with_line("return"),
    "inputs overwritten (13)": RIGHT.replace(
        "x + y, mask=mask)", "x + y, mask=mask)\n    tl.store(x_ptr + offs_n, y, mask=mask)"
    ),
    "a store past the end (24)": RIGHT.replace("x + y, mask=mask)", "x + y)"),
}


def test_a_shortcut_is_caught_when_it_runs(tmp_path: Path, sandbox: Sandbox) -> None:
    for name, text in WRONG_VALUES.items():
        assert text != RIGHT, name
        verdict = check_source(VECTOR_ADD, kernel(tmp_path, text), "cpu", diagnose=False, runner=sandbox)  # type: ignore[arg-type]
        assert verdict.status == "failed", (name, verdict)
        assert verdict.cases_run > 0, name
