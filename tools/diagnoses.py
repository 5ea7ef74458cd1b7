"""Counts how often a wrong kernel that is in nobody's bank is given a name that is not its own. The aim is 0.

Held-out kernels are mechanical mutants of the solution (`mutations.py`), joins of two misconceptions, and misconceptions that
hold only under a guard. One that fails a gate is diagnosed as a learner's would be. A name is *its own* where the kernel also does
what the bank's kernel does on cases that the diagnosis has never seen; else it is *false*. With `--bank` the kernels are the
bank's own and their rewrites, and those that lose their name are listed.

    python tools/diagnoses.py --puzzle row_softmax --each 40
"""

from __future__ import annotations

import argparse
import difflib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.judge import memory_gate, traffic_gate, values_gate  # noqa: E402
from checker.judge.diagnosis import find_misconception  # noqa: E402
from checker.judge.launches import plan, prepare_all  # noqa: E402
from checker.judge.likeness import alike, behaviour, plainly_wrong  # noqa: E402
from checker.judge.outcome import simulate  # noqa: E402
from checker.judge.verdict import Gate  # noqa: E402
from checker.misconceptions import Misconception, bank  # noqa: E402
from checker.misconceptions import solution as bare_solution  # noqa: E402
from checker.puzzle import Guard, Puzzle  # noqa: E402
from checker.submission import rules  # noqa: E402
from checker.submission.kernel import KernelSource  # noqa: E402
from tests.judge.local_runner import LocalRunner  # noqa: E402
from tests.misconceptions.kernels import rewrites  # noqa: E402
from tools import guarded, mutate  # noqa: E402

HELD_OUT = 12
"""Cases drawn for each puzzle to tell whether a name is the kernel's own."""
GATES = (values_gate, memory_gate, traffic_gate)


@dataclass(frozen=True)
class HeldOut:
    """A wrong kernel: ``mutant``, ``join`` or ``guarded``, and what it is made of."""

    kind: str
    key: str
    source: KernelSource


class Bench:
    """A puzzle's cases, and others that no diagnosis sees."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="diagnoses-")
        self.puzzle, self.runner = puzzle, LocalRunner(Path(self.folder.name), compiles=False)
        self.cases = prepare_all(puzzle, plan(puzzle, [c for c in puzzle.cases if "cpu" in c.devices], ()))
        draw = random.Random(f"held out: {puzzle.name}")
        drawn = [puzzle.slips.draw(puzzle, draw, 500 + i) for i in range(HELD_OUT)] if puzzle.slips else []
        self.unseen = prepare_all(puzzle, [(case, None) for case in drawn])

    def named(self, source: KernelSource) -> tuple[Gate | None, str | None]:
        """The gate that fails a kernel (None: none, or one before `values`), and the name that it is given."""
        if rules.violations(source, self.puzzle):
            return None, None
        outcomes = list(simulate(self.puzzle, source, self.runner, self.cases))
        for gate in GATES:
            failing = gate.failure(self.puzzle, outcomes)
            if failing is not None:
                found = find_misconception(self.puzzle, source, self.runner, outcomes, failing, gate.GATE)
                return gate.GATE, found.misconception
        return None, None

    def its_own(self, name: str, gate: Gate, source: KernelSource) -> bool:
        """Whether the kernel does on the unseen cases, too, what the bank's kernel of this name does, or one declared the same."""
        mine = list(simulate(self.puzzle, source, self.runner, self.unseen))
        own = next(m for m in bank(self.puzzle.name) if m.name == name)
        for known in (m for m in bank(self.puzzle.name) if m.name in (name, *own.same_as)):
            theirs = list(simulate(self.puzzle, known.source, self.runner, self.unseen))
            pairs = zip(mine, theirs, strict=False)
            both = [(a, behaviour(self.puzzle, a), behaviour(self.puzzle, b)) for a, b in pairs]
            plainly = any(plainly_wrong(a) for _, a, _ in both)
            if len(mine) == len(theirs) and all(alike(self.puzzle, *pair, gate, plainly, known.noise) for pair in both):
                return True
        return False


def held_out(puzzle: Puzzle, each: int) -> list[HeldOut]:
    """`each` kernels of every kind, the same every time."""
    draw = random.Random(puzzle.name)
    kinds = (_mutants(puzzle), _joins(puzzle), _guarded(puzzle))
    return [kernel for kind in kinds for kernel in draw.sample(kind, min(each, len(kind)))]


def _mutants(puzzle: Puzzle) -> list[HeldOut]:
    return [HeldOut("mutant", m.key, mutate.source_of(puzzle, m.source)) for m in mutate.generated(puzzle)]


def _joins(puzzle: Puzzle) -> list[HeldOut]:
    """Two misconceptions at once, where they change different lines of the solution."""
    base = bare_solution(puzzle.name).splitlines()
    known = bank(puzzle.name)
    found = []
    for i, one in enumerate(known):
        for other in known[i + 1 :]:
            edits = sorted(_edits(base, one) + _edits(base, other))
            if any(first[1] >= second[0] for first, second in pairwise(edits)):
                continue
            lines = list(base)
            for start, stop, new in reversed(edits):
                lines[start:stop] = new
            source = mutate.source_of(puzzle, "\n".join(lines) + "\n")
            found.append(HeldOut("join", f"{one.name} + {other.name}", source))
    return found


def _edits(base: list[str], wrong: Misconception) -> list[tuple[int, int, list[str]]]:
    theirs = wrong.source.source.splitlines()
    matcher = difflib.SequenceMatcher(None, base, theirs, autojunk=False)
    return [(i, j, theirs[k:m]) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _guarded(puzzle: Puzzle) -> list[HeldOut]:
    """Wrong only under a guard over what a kernel can know: its program, its dtype, its sizes and tiles."""
    case = puzzle.cases[0]
    sizes = [name for name in puzzle.parameters if name in case.sizes and name not in case.meta]
    guards = ["tl.program_id(0) > 0", "tl.program_id(0) == tl.num_programs(0) - 1"]
    guards += [f"{puzzle.outputs[0]}.dtype.element_ty == tl.{dtype}" for dtype in ("float32", "float16")]
    for name in sizes:
        guards += [f"{name} > 16", f"{name} % 2 == 1"]
        guards += [f"{name} % {tile} == 0" for tile in case.meta if tile in puzzle.parameters][:1]
    found = []
    for known in bank(puzzle.name):
        for guard in guards:
            source = guarded.joined(puzzle, known.source, Guard(guard, guard))
            assert source is not None, "a guard at the top of the kernel can be asked"
            found.append(HeldOut("guarded", f"{known.name} if {guard}", source))
    return found


def count(puzzle: Puzzle, each: int) -> Counter[str]:
    """How many held-out kernels of a puzzle failed, were named, and were named falsely; the last are printed."""
    bench, counts = Bench(puzzle), Counter[str]()
    for kernel in held_out(puzzle, each):
        gate, name = bench.named(kernel.source)
        if not gate:
            continue
        counts["failed"] += 1
        if name is None:
            continue
        counts["named"] += 1
        if not bench.its_own(name, gate, kernel.source):
            counts["falsely"] += 1
            print(f"{puzzle.name}: {kernel.kind}: {kernel.key}: called {name} ({gate})", flush=True)
    return counts


def own_names(puzzle: Puzzle, only: Sequence[str]) -> Counter[str]:
    """How many kernels of the bank and rewrites are given their own name; the others are printed."""
    bench, counts = Bench(puzzle), Counter[str]()
    known = {m.name: m for m in bank(puzzle.name)}
    kernels = [(name, m.source) for name, m in known.items()] + list(rewrites(puzzle.name).items())
    for name, source in kernels:
        if not any(part in name for part in only):
            continue
        wanted = known[name.partition("__")[0]]
        gate, got = bench.named(source)
        if got in (wanted.name, *wanted.same_as):
            counts["own"] += 1
        else:
            counts["lost"] += 1
            print(f"{puzzle.name}: {name} ({gate or 'no gate'}): called {got}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--puzzle", action="append", choices=list(PUZZLES), help="only this puzzle; may be repeated")
    parser.add_argument("--each", type=int, default=20, help="kernels of each kind and puzzle (default: 20)")
    parser.add_argument("--bank", action="store_true", help="the bank's own kernels and their rewrites instead")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="of the bank, only kernels with one of these in their names"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    total: Counter[str] = Counter()
    for puzzle in LADDER:
        if not options.puzzle or puzzle.name in options.puzzle:
            counts = own_names(puzzle, options.only) if options.bank else count(puzzle, options.each)
            total += counts
            print(f"{puzzle.name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
    print("all: " + ", ".join(f"{n} {what}" for what, n in total.items()))
    return 1 if total["falsely"] or total["lost"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
