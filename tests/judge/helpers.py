"""What the judge's tests share: sources from text and from files, and a cheap way to run all cases."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from checker.checking import check_source
from checker.course import PUZZLES
from checker.judge.runner import Runner
from checker.judge.verdict import Verdict
from checker.puzzle import Case, Puzzle
from checker.submission.kernel import KernelSource, Piece

ROOT = Path(__file__).parents[2]
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def judge(puzzle: Puzzle, source: KernelSource, runner: Runner, device: str = "cpu", **options: Any) -> Verdict:
    """`check_source` with a runner. A defect of the checker itself is raised here and does not become a verdict."""
    verdict = check_source(puzzle, source, device, runner=runner, **options)
    first = verdict.gates[0]
    assert first.status != "infra_error", first.detail
    return verdict


def kernel_source(text: str, puzzle: str, kernel: str, origin: str) -> KernelSource:
    """A kernel's module as it is handed in, its docstring left blank, every line still at its own number."""
    lines = text.splitlines()
    module = ast.parse(text)
    if ast.get_docstring(module) is not None:
        start, stop = module.body[0].lineno - 1, module.body[0].end_lineno or 0
        lines[start:stop] = [""] * (stop - start)
    return KernelSource(puzzle, kernel, "\n".join(lines) + "\n", (Piece(1, len(lines), origin, 1),))


def cpu_cases(puzzle: Puzzle, dtype: str = "") -> list[Case]:
    """The cases that the simulator runs, those of one dtype or all."""
    return [case for case in puzzle.cases if "cpu" in case.devices and dtype in ("", case.dtype)]


def solution(puzzle: str) -> KernelSource:
    return from_file(ROOT / "solutions" / f"{puzzle}.py", puzzle)


def from_file(path: Path, puzzle: str) -> KernelSource:
    return kernel_source(path.read_text(encoding="utf-8"), puzzle, PUZZLES[puzzle].kernel, path.name)


def written(puzzle: str, body: str) -> KernelSource:
    """A kernel with the puzzle's own name and parameters, and this body."""
    subject = PUZZLES[puzzle]
    meta = set(subject.cases[0].meta)
    parameters = ", ".join(f"{p}: tl.constexpr" if p in meta else p for p in subject.parameters)
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return kernel_source(f"{HEAD}def {subject.kernel}({parameters}):\n{lines}", puzzle, subject.kernel, f"{puzzle}.py")


def changed(source: KernelSource, old: str, new: str) -> KernelSource:
    """`source` with one piece of text replaced; the text must be there just once."""
    assert source.source.count(old) == 1, old
    return kernel_source(source.source.replace(old, new), source.puzzle, source.kernel, source.pieces[0].origin)
