"""All wrong kernels of a puzzle as one kernel with a constant that selects one: one job runs them all, and none twice."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from cachetools import LRUCache

from checker.judge.launches import Prepared
from checker.judge.likeness import Behaviour, behaviour
from checker.judge.outcome import Outcome, in_spite_of_stops, judged
from checker.judge.runner import Runner
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource, Piece

WHICH = "WHICH_MISCONCEPTION"


@cache
def combined_kernel(puzzle: str, parameters: tuple[str, ...], constexprs: frozenset[str]) -> KernelSource:
    """The bank's kernels, in order, as helpers of one kernel whose constexpr `WHICH` selects one."""
    wrong = bank(puzzle)
    kernel = wrong[0].source.kernel
    modules = [renamed(m.source, f"m{i}_") for i, m in enumerate(wrong)]
    passed = ", ".join(f"{name}={name}" for name in parameters)
    branches = "".join(
        f"    {'if' if i == 0 else 'elif'} {WHICH} == {i}:\n        m{i}_{kernel}({passed})\n"
        for i in range(len(wrong))
    )
    signature = ", ".join(f"{name}: tl.constexpr" if name in constexprs else name for name in (*parameters, WHICH))
    text = "import triton\nimport triton.language as tl\n\n" + "\n\n".join(modules)
    text += f"\n\n\n@triton.jit\ndef {kernel}({signature}):\n{branches}"
    return KernelSource(puzzle, kernel, text, (Piece(1, text.count("\n"), f"misconceptions/{puzzle}", 1),))


def renamed(source: KernelSource, prefix: str) -> str:
    """The module without its imports, with `prefix` before the names of its functions and constants."""
    module = ast.parse(source.source)
    body = [node for node in module.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for node in body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in body:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in names:
                part.id = prefix + part.id
            elif isinstance(part, ast.FunctionDef) and part.name in names:
                part.name = prefix + part.name
    return "\n\n\n".join(ast.unparse(node) for node in body)


Task = tuple[Misconception, Prepared]
Key = tuple[str, str]
"""A misconception and a case with its configuration, the same in every process."""


class Remembered:
    """What the bank's kernels of one puzzle did, by kernel and case, so that none runs twice on the same numbers.

    A learner who tries again, or a class that is graded, asks for the same few hundred runs over and over. Safe to use from several
    threads.
    """

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle = puzzle
        self.behaviours: LRUCache[Key, Behaviour] = LRUCache(MOST_REMEMBERED)
        self._lock = threading.Lock()

    def get(self, task: Task) -> Behaviour | None:
        with self._lock:
            return self.behaviours.get(_key(task))

    def keep(self, task: Task, behaviour: Behaviour) -> None:
        if behaviour.ran:  # a kernel that was ended from outside may run to its end next time
            with self._lock:
                self.behaviours[_key(task)] = behaviour


MOST_REMEMBERED = 3000
"""Per puzzle: about 40 kernels on all cases, some 10 to 50 MB."""
_REMEMBERED: dict[str, Remembered] = {}


def _key(task: Task) -> Key:
    misconception, prepared = task
    return misconception.name, f"{prepared.case.name}; {prepared.config}"


def remembered(puzzle: Puzzle) -> Remembered:
    """What this process remembers of a puzzle's bank."""
    memory = _REMEMBERED.get(puzzle.name)
    if memory is None or memory.puzzle is not puzzle:
        memory = _REMEMBERED[puzzle.name] = Remembered(puzzle)
    return memory


def behaviours(puzzle: Puzzle, runner: Runner, tasks: Sequence[Task]) -> Iterator[Behaviour]:
    """What each misconception's kernel does in its case, in order; it runs only if this process does not remember."""
    memory = remembered(puzzle)
    cached = [memory.get(task) for task in tasks]
    arriving = run_misconceptions(puzzle, runner, [t for t, known in zip(tasks, cached, strict=True) if known is None])
    for task, result in zip(tasks, cached, strict=True):
        if result is None:
            outcome = next(arriving, None)
            if outcome is None:
                return
            result = behaviour(puzzle, outcome)
            memory.keep(task, result)
        yield result


def run_misconceptions(puzzle: Puzzle, runner: Runner, tasks: Sequence[Task]) -> Iterator[Outcome]:
    """One outcome per task, in order. A kernel that does not run to its end does not stop the next."""
    places = {m.name: i for i, m in enumerate(bank(puzzle.name))}

    def run(left: Sequence[Task]) -> Iterator[Outcome]:
        launches = [replace(p.launch, meta={**p.launch.meta, WHICH: places[m.name]}) for m, p in left]
        source = combined_kernel(puzzle.name, puzzle.parameters, frozenset(launches[0].meta))
        results = runner.simulate(source, launches, SimulateOptions(together=True))
        for (_, prepared), result in zip(left, results, strict=False):
            yield judged(puzzle, prepared, result)

    return (outcome for _, outcome in in_spite_of_stops(tasks, run))
