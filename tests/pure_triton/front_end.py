"""What Triton's front end says about kernels, as JSON on standard output: run with and without Triton's wheel, it says the same.

``python -m tests.pure_triton.front_end broken solutions``; ``bank`` and ``mutants`` are the long ones. Names of puzzles choose those.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from checker.compiler import CompileRequest, compile_kernel, requests_for
from checker.course import LADDER, PUZZLES
from checker.judge.launches import prepare
from checker.misconceptions import bank, refused
from checker.pure_triton import has_compiler
from checker.puzzle import Puzzle
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel
from tests.compiler.kernels import BROKEN, SIGNATURE
from tests.judge.helpers import solution
from tests.simulator.launching import loaded
from tools.mutants.mechanical import mutants

MOST_MUTANTS = 14
"""Of each puzzle, spread over its solution: 270 in all."""


def kernels(kind: str, puzzle: Puzzle) -> Iterator[tuple[str, KernelSource]]:
    own = solution(puzzle.name)
    match kind:
        case "solutions":
            yield puzzle.name, own
        case "bank":
            yield from ((wrong.name, wrong.source) for wrong in (*bank(puzzle.name), *refused(puzzle.name)))
        case "mutants":
            every = mutants(puzzle)
            for mutant in every[:: max(len(every) // MOST_MUTANTS, 1)][:MOST_MUTANTS]:
                yield mutant.key, replace(own, source=mutant.source, pieces=())


def requests(puzzle: Puzzle) -> CompileRequest:
    """A launch of ordinary sizes."""
    case = next(case for case in puzzle.cases if "cpu" in case.devices and 1 not in case.sizes.values())
    (request,) = requests_for(prepare(puzzle, case).launch, puzzle.parameters, (80,))
    return replace(request, until="front_end")


def answers(wanted: list[str], folder: Path) -> Iterator[tuple[str, object]]:
    """By kernel: whether the front end takes it, and otherwise kind, message and line."""
    kinds, puzzles = [name for name in wanted if name not in PUZZLES], [p for p in LADDER if p.name in wanted]
    if "broken" in kinds:
        request = CompileRequest(80, SIGNATURE, {"B": 16}, until="front_end")
        for name, broken in BROKEN.items():
            result = compile_kernel(loaded(folder, broken.source), request)
            yield name, (result.ok, result.kind, result.message, result.line)
    for puzzle in puzzles or LADDER:
        request = requests(puzzle)
        for kind in kinds:
            for name, source in kernels(kind, puzzle):
                result = compile_kernel(load_kernel(source, folder), request)
                yield f"{puzzle.name}/{name}", (result.ok, result.kind, result.message, result.line)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps({"compiler": has_compiler(), **dict(answers(sys.argv[1:], Path(made)))}))
