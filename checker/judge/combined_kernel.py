"""All wrong kernels of a puzzle as one kernel with a constant that selects one: a single job runs them all, and none runs twice."""

from __future__ import annotations

import ast
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from cachetools import LRUCache

from checker.judge.launches import Prepared
from checker.judge.likeness import Behaviour, behaviour
from checker.judge.outcome import Outcome, in_spite_of_stops, judged
from checker.judge.runner import Runner
from checker.misconceptions import Misconception, bank
from checker.puzzle import Case, Puzzle
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource, Piece

WHICH = "WHICH_MISCONCEPTION"
FEW_PARTS = 4
"""To load the whole bank takes 0.1 to 0.4 s, which so few kernels are not worth."""


@lru_cache(64)
def combined_kernel(
    wrong: tuple[Misconception, ...], parameters: tuple[str, ...], constexprs: frozenset[str]
) -> KernelSource:
    """The kernels of these misconceptions, in order, as helpers of one kernel whose constexpr `WHICH` selects one."""
    puzzle, kernel = wrong[0].puzzle, wrong[0].source.kernel
    modules = [renamed(m.source, f"m{i}_") for i, m in enumerate(wrong)]
    passed = ", ".join(f"{name}={name}" for name in parameters)
    one = f"({''.join(f'm{i}_{kernel}, ' for i in range(len(wrong)))})[{WHICH}]"
    signature = ", ".join(f"{name}: tl.constexpr" if name in constexprs else name for name in (*parameters, WHICH))
    text = "import triton\nimport triton.language as tl\n\n" + "\n\n".join(modules)
    text += f"\n\n\n@triton.jit\ndef {kernel}({signature}):\n    {one}({passed})\n"
    return KernelSource(puzzle, kernel, text, (Piece(1, text.count("\n"), f"misconceptions/{puzzle}", 1),))


def renamed(source: KernelSource, prefix: str) -> str:
    """The module without its imports, with `prefix` before the names of its functions and constants."""
    module = ast.parse(source.source)
    body = [node for node in module.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in body:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in names:
                part.id = prefix + part.id
            elif isinstance(part, ast.FunctionDef) and part.name in names:
                part.name = prefix + part.name
    return "\n\n\n".join(ast.unparse(node) for node in body)


Task = tuple[Misconception, Prepared]


class BankRuns:
    """What the bank's kernels of one puzzle did, by kernel and case, so that none runs twice on the same numbers.

    A learner who tries again, or a class that is graded, asks for the same few hundred runs over and over. Safe to use from several
    threads.
    """

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle = puzzle
        self._behaviours: LRUCache[tuple[str, Case, str], Behaviour] = LRUCache(MOST_REMEMBERED)
        self._hold_all: weakref.WeakSet[Runner] = weakref.WeakSet()
        """Runners that have loaded the whole bank."""
        self._lock = threading.Lock()

    def remembered(self, misconception: Misconception, prepared: Prepared) -> Behaviour | None:
        """What the kernel did in this case, if it has run before."""
        with self._lock:
            return self._behaviours.get(_key(misconception, prepared))

    def remember(self, misconception: Misconception, prepared: Prepared, past: Behaviour) -> None:
        """A kernel that was ended from outside is not remembered: it may run to its end next time."""
        if past.ran:
            with self._lock:
                self._behaviours[_key(misconception, prepared)] = past

    def behaviours(self, runner: Runner, tasks: Sequence[Task]) -> Iterator[Behaviour]:
        """What each misconception's kernel does in its case, in order. It runs only if it has not run before."""
        remembered = [self.remembered(*task) for task in tasks]
        arriving = self.run(runner, [task for task, past in zip(tasks, remembered, strict=True) if past is None])
        for task, past in zip(tasks, remembered, strict=True):
            if past is None:
                outcome = next(arriving, None)
                if outcome is None:
                    return
                past = behaviour(self.puzzle, outcome)
                self.remember(*task, past)
            yield past

    def run(self, runner: Runner, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome per task, in order. A kernel that does not run to its end does not stop the next.

        The combined kernel has these parts, or the whole bank if that is worth it or the runner has loaded it already.
        """
        parts = tuple(dict.fromkeys(m for m, _ in tasks))
        whole = bank(self.puzzle.name)
        if set(parts) <= set(whole) and len(parts) > FEW_PARTS:
            self._hold_all.add(runner)
        wrong = whole if set(parts) <= set(whole) and runner in self._hold_all else parts
        number = {m.name: i for i, m in enumerate(wrong)}

        def run(left: Sequence[Task]) -> Iterator[Outcome]:
            launches = [replace(p.launch, meta={**p.launch.meta, WHICH: number[m.name]}) for m, p in left]
            source = combined_kernel(wrong, self.puzzle.parameters, frozenset(launches[0].meta))
            results = runner.simulate(source, launches, SimulateOptions(together=True))
            for (_, prepared), result in zip(left, results, strict=False):
                yield judged(self.puzzle, prepared, result)

        return (outcome for _, outcome in in_spite_of_stops(tasks, run))


def _key(misconception: Misconception, prepared: Prepared) -> tuple[str, Case, str]:
    return misconception.name, prepared.case, repr(prepared.config)


MOST_REMEMBERED = 3000
"""Per puzzle: about 40 kernels on all cases, some 10 to 50 MB."""
_RUNS: dict[str, BankRuns] = {}


def bank_runs(puzzle: Puzzle) -> BankRuns:
    """The runs that this process remembers of a puzzle's bank, whichever of its cases the puzzle is tried on."""
    runs, without_cases = _RUNS.get(puzzle.name), replace(puzzle, cases=())
    if runs is None or runs.puzzle != without_cases:
        runs = _RUNS[puzzle.name] = BankRuns(without_cases)
    return runs
