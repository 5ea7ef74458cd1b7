"""Judges every mutant of the solutions, mechanical (`mutations.py`) and semantic (`semantic.py`), in the checker's own rooms.

A mutant is *killed* by the first gate that fails it. One that passes them all is run beside the solution, on every case and
on more (`extra_cases`): where outputs (but for rounding) and accesses (program, tensor, tile, mask, bytes) are always the
same it is *equivalent*; else it is a *survivor*, and either a case is missing or there is a good reason to let it pass. Of the
semantic mutants, those that differ within the tolerance and never fail are *tolerated*.

    python tools/mutate.py --puzzle row_softmax --json mutants.json
    python tools/mutate.py --puzzle row_softmax --semantic --sample 20
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.judge import int64_overflow, late_programs, memory_gate, traffic_gate  # noqa: E402
from checker.judge.compile_gate import Compilation  # noqa: E402
from checker.judge.launches import prepare_all, volume, without_numbers  # noqa: E402
from checker.judge.outcome import Outcome, simulate  # noqa: E402
from checker.puzzle import FAR, Case, Puzzle  # noqa: E402
from checker.simulator.trace import SimulateOptions, Trace  # noqa: E402
from checker.submission import rules  # noqa: E402
from checker.submission.kernel import KernelSource  # noqa: E402
from tests.judge.helpers import kernel_source  # noqa: E402
from tests.judge.local_runner import LocalRunner  # noqa: E402
from tools.mutations import Mutation, mutations  # noqa: E402
from tools.semantic import semantic  # noqa: E402

EXTRA = 16
"""Cases drawn for each puzzle beside its own."""
FAR_EXTRA = 12
"""Large ones, for the semantic mutants."""
GATES = ("source", "compile", "values", "memory", "traffic")
_EVENTS = SimulateOptions(events=True)


@dataclass(frozen=True)
class Fate:
    """What became of one mutant: ``killed`` by the gate `by`, ``equivalent``, ``tolerated`` or ``survived``, which `differs` explains."""

    key: str
    puzzle: str
    kind: str
    line: int
    before: str
    after: str
    outcome: str
    by: str = ""
    differs: str = ""


def generated(puzzle: Puzzle) -> list[Mutation]:
    return mutations(_solution(puzzle), puzzle.name, puzzle.kernel, puzzle.slips)


def semantic_mutants(puzzle: Puzzle) -> list[Mutation]:
    return semantic(_solution(puzzle), puzzle.name, puzzle.kernel, _kinds(puzzle), puzzle.slips)


def _kinds(puzzle: Puzzle) -> dict[str, str]:
    """``float``, ``int`` or ``bool`` for each parameter, of a pointer for what it points to."""
    launch = without_numbers(puzzle, puzzle.cases[0])
    found = {}
    for name, value in {**launch.arguments, **launch.meta}.items():
        floating = value.is_floating_point() if isinstance(value, torch.Tensor) else isinstance(value, float)
        found[name] = "float" if floating else "bool" if isinstance(value, bool) else "int"
    return found


def extra_cases(puzzle: Puzzle, far: int = 0) -> list[Case]:
    """Cases beside the puzzle's own, drawn as the course says, the same every time; none where it does not say.

    `far` of them are large, the smallest of many such.
    """
    if puzzle.slips is None:
        return []
    draw = random.Random(puzzle.name)
    near = [puzzle.slips.draw(puzzle, draw, number) for number in range(EXTRA)]
    large = [puzzle.slips.draw(puzzle, draw, FAR + number) for number in range(8 * far)]
    return near + sorted(large, key=volume)[far : 2 * far]


def _solution(puzzle: Puzzle) -> str:
    return (ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8")


def source_of(puzzle: Puzzle, text: str) -> KernelSource:
    """A mutant as a submission of the puzzle's file."""
    return kernel_source(text, puzzle.name, puzzle.kernel, f"{puzzle.name}.py")


# --------------------------------------------------------------------------------------------------------------- judge


class Bench:
    """A puzzle's cases, prepared, and how the solution does on them."""

    def __init__(self, puzzle: Puzzle, far: int = 0) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self.puzzle, self.runner = puzzle, LocalRunner(Path(self.folder.name))
        own = [case for case in puzzle.cases if "cpu" in case.devices]
        self.cases = prepare_all(puzzle, [(case, None) for case in own])
        self.extra = prepare_all(puzzle, [(case, None) for case in extra_cases(puzzle, far)])
        solution = source_of(puzzle, _solution(puzzle))
        self.right = list(simulate(puzzle, solution, self.runner, [*self.cases, *self.extra], _EVENTS))
        for outcome in self.right:
            if self._fault(outcome):
                raise AssertionError(f"the solution itself: {outcome.case.name}: {self._fault(outcome)}")
        assert len(self.right) == len(self.cases) + len(self.extra), "the solution itself does not run to its end"

    def fate(self, mutation: Mutation) -> Fate:
        """What becomes of a mechanical mutant."""
        source = source_of(self.puzzle, mutation.source)
        gate = self._gate(source, far="int64" in mutation.before, first=True)
        if gate is not None:
            return _fate(mutation, "killed", by=gate)
        differs = next((what for what, _ in self._differences(source)), mutation.unseen)
        return _fate(mutation, "survived" if differs else "equivalent", differs=differs)

    def semantic_fate(self, mutation: Mutation) -> Fate:
        """What becomes of a semantic mutant, which is compiled only where all else let it pass."""
        source = source_of(self.puzzle, mutation.source)
        gate = self._gate(source, far=mutation.kind.startswith("an index"), first=False)
        if gate is not None:
            return _fate(mutation, "killed", by=gate)
        differences = list(self._differences(source))
        fails = next((what for what, fails in differences if fails), "")
        differs = fails or next((what for what, _ in differences), "")
        outcome = "survived" if fails else "tolerated" if differs else "equivalent"
        return _fate(mutation, outcome, differs=differs)

    def _gate(self, source: KernelSource, far: bool, first: bool) -> str | None:
        """The first gate that fails the kernel. Each dtype is compiled only for a kernel that all else let pass, one of them `first`.

        Launches whose rows lie far apart, or that end very many programs, are tried only with `far`: where a loop ends at a stride, they take
        hours.
        """
        if rules.violations(source, self.puzzle):
            return "source"
        if first and Compilation(self.puzzle, source, self.runner, self.cases[:1]).first():
            return "compile"
        outcomes = []
        for outcome in simulate(self.puzzle, source, self.runner, self.cases):
            outcomes.append(outcome)
            if not outcome.right:
                return "values"
        if memory_gate.failure(self.puzzle, outcomes):
            return "memory"
        launches = int64_overflow.far_launches(self.puzzle, self.cases) if far else []
        distant = simulate(self.puzzle, source, self.runner, [launch.far for launch in launches])
        if any(int64_overflow.failed(source, *pair) for pair in zip(launches, distant, strict=False)):
            return "memory"
        late = late_programs.late_launches(self.puzzle, self.cases) if far else []
        last = simulate(self.puzzle, source, self.runner, [launch.prepared for launch in late])
        if any(late_programs.failed(source, *pair) for pair in zip(late, last, strict=False)):
            return "memory"
        if traffic_gate.failure(self.puzzle, outcomes):
            return "traffic"
        compilation = Compilation(self.puzzle, source, self.runner, self.cases)
        return "compile" if compilation.first() or compilation.rest() else None

    def _differences(self, source: KernelSource) -> Iterator[tuple[str, bool]]:
        """What sets the kernel apart from the solution, case by case, and whether a gate would fail it there."""
        outcomes = simulate(self.puzzle, source, self.runner, [*self.cases, *self.extra], _EVENTS)
        for mine, theirs in zip(self.right, outcomes, strict=False):  # it may stop
            fault = self._fault(theirs)
            if what := fault or self._deviation(mine, theirs):
                yield f"{theirs.case.name}: {what}", bool(fault)

    def _fault(self, outcome: Outcome) -> str:
        if not outcome.ran:
            return f"stops: {outcome.result.message}"
        if not outcome.right:
            return "wrong values"
        if found := memory_gate.memory_findings(outcome):
            return f"memory: {found[0].kind}"
        return "too many bytes" if traffic_gate.overdrawn(self.puzzle, outcome) else ""

    def _deviation(self, mine: Outcome, theirs: Outcome) -> str:
        assert mine.trace is not None
        assert theirs.trace is not None
        for name in mine.prepared.launch.outputs:
            if not _alike(self.puzzle, mine.case, name, theirs.result.tensors[name], mine.result.tensors[name]):
                return f"another {name}, within the tolerance"
        ours, others = _accesses(mine.trace), _accesses(theirs.trace)
        if ours != others:
            more, less = others - ours, ours - others
            return "; ".join(
                f"{sum(part.values())} {word} ({', '.join(sorted({f'{e[1]} {e[2]}, {e[4]} bytes' for e in part}))})"
                for word, part in (("accesses more", more), ("accesses fewer", less))
                if part
            )
        return ""


def _alike(puzzle: Puzzle, case: Case, output: str, got: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal but for rounding: 32 steps of float32, one of a 16-bit type, at the magnitude of the element or of its row."""
    steps = 32 if expected.dtype is torch.float32 else 1
    eps = torch.finfo(expected.dtype).eps
    scale = puzzle.scale(case, output, expected.double()).nan_to_num(posinf=0.0, neginf=0.0)
    near = (got.double() - expected.double()).abs() <= steps * eps * (expected.double().abs() + eps * scale)
    return bool((near | (got == expected) | (got.isnan() & expected.isnan())).all())


def _accesses(trace: Trace) -> Counter[tuple[object, ...]]:
    """Every access, however ordered: who, what, which tensor, which tile, how many bytes, how many lanes off."""
    return Counter((e.program, e.kind, e.tensor, e.tile, e.bytes, e.masked) for e in trace.events)


def _fate(mutation: Mutation, outcome: str, by: str = "", differs: str = "") -> Fate:
    m = mutation
    return Fate(m.key, m.puzzle, m.kind, m.line, m.before, m.after, outcome, by, differs)


# --------------------------------------------------------------------------------------------------------------- sweep


@cache
def _bench(name: str, far: int = 0) -> Bench:
    return Bench(PUZZLES[name], far)


def start(cache: str) -> None:
    """What a process of the pool does first: one thread each, and compiled kernels in a folder that is thrown away."""
    torch.set_num_threads(1)
    os.environ["TRITON_CACHE_DIR"] = cache


def judge(mutation: Mutation, semantically: bool = False) -> Fate:
    """One mutant, in this process. Raises RuntimeError, naming the mutant, where the machinery breaks on it."""
    try:
        if semantically:
            return _bench(mutation.puzzle, FAR_EXTRA).semantic_fate(mutation)
        return _bench(mutation.puzzle).fate(mutation)
    except Exception as error:
        raise RuntimeError(f"{mutation.key}: {type(error).__name__}: {error}") from error


def sweep(puzzles: Sequence[Puzzle], jobs: int, semantically: bool = False, sample: int = 0) -> list[Fate]:
    """Every mutant of these puzzles, or `sample` of each, spread over `jobs` processes."""
    everything = []
    for puzzle in puzzles:
        made = semantic_mutants(puzzle) if semantically else generated(puzzle)
        everything += random.Random(puzzle.name).sample(made, min(sample, len(made))) if sample else made
    fates: list[Fate] = []
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as cache, context.Pool(jobs, start, (cache,)) as pool:
        # few at a time, so that none is left alone with dear ones at the end
        chunk = max(1, min(8, len(everything) // (8 * jobs)))
        for fate in pool.imap(partial(judge, semantically=semantically), everything, chunksize=chunk):
            fates.append(fate)
            if (fate.outcome == "survived" and not semantically) or len(fates) % 50 == 0:
                note = f": survived: {fate.key} ({fate.differs})" if fate.outcome == "survived" else ""
                print(f"{len(fates)} of {len(everything)}{note}", file=sys.stderr, flush=True)
    return fates


def summary(fates: Sequence[Fate]) -> str:
    """How many there are, and what became of them."""
    counts = Counter(f"by {f.by}" if f.by else f.outcome for f in fates)
    return f"{len(fates)} mutants; " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--puzzle", action="append", choices=[p.name for p in LADDER], help="only this puzzle; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per processor)")
    parser.add_argument("--semantic", action="store_true", help="the semantic mutants instead of the mechanical ones")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="only N mutants of each puzzle")
    parser.add_argument("--json", metavar="FILE", help="write the fate of every mutant to FILE")
    options = parser.parse_args()
    puzzles = [puzzle for puzzle in LADDER if not options.puzzle or puzzle.name in options.puzzle]
    fates = sweep(puzzles, options.jobs, options.semantic, options.sample)
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(f) for f in fates], indent=0) + "\n", "utf-8")
    for puzzle in puzzles:
        print(f"{puzzle.name}: {summary([f for f in fates if f.puzzle == puzzle.name])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
