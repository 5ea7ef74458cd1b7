"""Verdicts on the solutions and wrong kernels of the live puzzles, as JSON on standard output: with torch, or with the small one.

``python -m tests.live.verdicts small quick vector_add``: every third wrong kernel with few cases; ``all`` takes minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.live import small_torch


def verdicts(few: bool, names: list[str], folder: Path) -> Iterator[tuple[str, Any]]:
    """By kernel: status, counts of cases, diagnosis, and what each gate says."""
    from checker.course import PUZZLES
    from checker.live.in_process import InProcess
    from checker.misconceptions import bank, quick
    from tests.judge.helpers import judge, solution

    runner = InProcess(folder)
    for name in names:
        kernels = {name: (solution(name), None)}
        wrong_kernels = bank(name)[:: 3 if few else 1]
        kernels |= {f"{name}/{wrong.name}": (wrong.source, [wrong.seen_in]) for wrong in wrong_kernels}
        for kernel, (source, cases) in kernels.items():
            puzzle = quick(PUZZLES[name], cases, smallest=2) if few else PUZZLES[name]
            verdict = judge(puzzle, source, runner, hurry=False)
            gates = [
                (gate.gate, gate.status, gate.line, gate.case and gate.case.name, gate.message)
                for gate in verdict.gates
            ]
            diagnosis = verdict.diagnosis and (verdict.diagnosis.misconception, verdict.diagnosis.line)
            yield kernel, (verdict.status, verdict.cases_run, verdict.cases_right, diagnosis, gates)


if __name__ == "__main__":
    if sys.argv[1] == "small":
        small_torch.use()
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(dict(verdicts(sys.argv[2] == "quick", sys.argv[3:], Path(made)))))
