"""All wrong kernels of a puzzle as one kernel that is told which of them to be: one job runs them all, and none twice."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import msgspec

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
    """The bank's kernels as helpers of one kernel, in the bank's order, chosen by the constexpr `WHICH`."""
    known = bank(puzzle)
    kernel = known[0].source.kernel
    modules = [renamed(m.source, f"m{i}_") for i, m in enumerate(known)]
    passed = ", ".join(f"{name}={name}" for name in parameters)
    branches = "".join(
        f"    {'if' if i == 0 else 'elif'} {WHICH} == {i}:\n        m{i}_{kernel}({passed})\n"
        for i in range(len(known))
    )
    signature = ", ".join(f"{name}: tl.constexpr" if name in constexprs else name for name in (*parameters, WHICH))
    text = "import triton\nimport triton.language as tl\n\n" + "\n\n".join(modules)
    text += f"\n\n\n@triton.jit\ndef {kernel}({signature}):\n{branches}"
    return KernelSource(puzzle, kernel, text, (Piece(1, text.count("\n"), f"misconceptions/{puzzle}", 1),))


def renamed(source: KernelSource, prefix: str) -> str:
    """The module's functions and constants, each with `prefix` before its name, without imports."""
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


@dataclass
class Remembered:
    """What the bank's kernels of one puzzle did, by kernel and case, so that none runs twice on the same numbers.

    A checker that judges a class, or a learner who tries again, asks for the same few hundred runs over and over.
    """

    puzzle: Puzzle
    behaviours: OrderedDict[Key, Behaviour] = field(default_factory=OrderedDict)

    def keep(self, task: Task, behaviour: Behaviour) -> None:
        if not behaviour.ran:
            return  # whatever ended it from outside may not do so the next time
        self.behaviours[_key(task)] = behaviour
        if len(self.behaviours) > MOST_REMEMBERED:
            self.behaviours.popitem(last=False)


MOST_REMEMBERED = 3000
"""Of each puzzle: about 40 kernels on all cases, some 10 to 50 MB."""
_REMEMBERED: dict[str, Remembered] = {}


def _key(task: Task) -> Key:
    misconception, prepared = task
    case = msgspec.json.encode((prepared.case, prepared.config), order="deterministic")
    return misconception.name, case.decode()


def remembered(puzzle: Puzzle) -> Remembered:
    """What this process knows of the bank's kernels of a puzzle."""
    known = _REMEMBERED.get(puzzle.name)
    if known is None or known.puzzle is not puzzle:
        known = _REMEMBERED[puzzle.name] = Remembered(puzzle)
    return known


def behaviours(puzzle: Puzzle, runner: Runner, tasks: Sequence[Task]) -> Iterator[Behaviour]:
    """What each misconception's kernel does in the case beside it, in order; run where it is not remembered."""
    known = remembered(puzzle)
    # read once: verdicts beside this one keep and drop others meanwhile
    kept = [known.behaviours.get(_key(task)) for task in tasks]
    arriving = run_misconceptions(puzzle, runner, [t for t, found in zip(tasks, kept, strict=True) if found is None])
    for task, found in zip(tasks, kept, strict=True):
        if found is None:
            outcome = next(arriving, None)
            if outcome is None:
                return
            found = behaviour(puzzle, outcome)
            known.keep(task, found)
        yield found


def run_misconceptions(puzzle: Puzzle, runner: Runner, tasks: Sequence[Task]) -> Iterator[Outcome]:
    """One outcome per task, in order; one that does not run to its end does not keep the next from running."""
    places = {m.name: i for i, m in enumerate(bank(puzzle.name))}

    def run(left: Sequence[Task]) -> Iterator[Outcome]:
        launches = [replace(p.launch, meta={**p.launch.meta, WHICH: places[m.name]}) for m, p in left]
        source = combined_kernel(puzzle.name, puzzle.parameters, frozenset(launches[0].meta))
        results = runner.simulate(source, launches, SimulateOptions(together=True))
        for (_, prepared), result in zip(left, results, strict=False):
            yield judged(puzzle, prepared, result)

    return (outcome for _, outcome in in_spite_of_stops(tasks, run))
