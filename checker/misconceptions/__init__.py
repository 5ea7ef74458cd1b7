"""Wrong kernels: what was believed, what to think instead, and the kernel itself. Each puzzle has a page, `<puzzle>.md`.

`pages` describes the format. The labels of a wrong kernel are:

- **Believed**, **Instead** and, optionally, **Try**.
- **Gate**: the gate that should catch it, or several that may.
- **Seen in**: the case that exposes it, written by ``tools/seen_in.py``; `FAR_OFFSETS` for a kernel that fails only far from the start
  of memory, and `SEVERAL_CASES` for one that no single case tells apart from other mistakes.
- **Same as**: names of other kernels with the same behaviour.
- **Noise**: how far two kernels with this mistake may differ by rounding, relative to the largest element of a row.
- **On a GPU**: why the mistake cannot be seen there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from pathlib import Path

from checker.course import PUZZLES
from checker.misconceptions import pages
from checker.puzzle import DECIDING, Puzzle
from checker.submission.kernel import KernelSource, Piece
from checker.workspace import COURSE

ROOT = Path(__file__).parent
SOLUTIONS = COURSE / "solutions"
_LABELS = ("Believed", "Instead", "Try", "Gate", "Seen in", "Same as", "Noise", "On a GPU")
FAR_OFFSETS, SEVERAL_CASES = "offsets past 2³¹", "several cases together"
SMALLEST = 4
"""How many of a puzzle's smallest cases `quick` adds to those that the page names."""


@dataclass(frozen=True)
class Misconception:
    """One wrong kernel. `wrong_lines` are the lines of `source` that carry the mistake."""

    puzzle: str
    name: str
    believed: str
    instead: str
    try_: str
    gates: tuple[str, ...]
    same_as: tuple[str, ...]
    source: KernelSource
    wrong_lines: tuple[int, ...]
    noise: float = 0.0
    unseen_on_gpu: str = ""
    seen_in: str = ""

    def same_behaviour(self, other: Misconception) -> bool:
        """Whether it is the other, or declared to have the same behaviour."""
        return self.name == other.name or other.name in self.same_as or self.name in other.same_as


@cache
def bank(puzzle: str) -> tuple[Misconception, ...]:
    """Every misconception of a puzzle that shows when a kernel runs, sorted by name. Empty if the solutions are not installed.

    Raises `pages.PageError`, which names page and heading, if one does not follow the format or does not fit the solution.
    """
    return tuple(wrong for wrong in _all(puzzle) if wrong.gates != ("compile",))


def refused(puzzle: str) -> tuple[Misconception, ...]:
    """The others, sorted by name: only the compiler stops them, and in the simulator they are right."""
    return tuple(wrong for wrong in _all(puzzle) if wrong.gates == ("compile",))


@cache
def _all(puzzle: str) -> tuple[Misconception, ...]:
    page = ROOT / f"{puzzle}.md"
    return read(page, puzzle) if page.is_file() and SOLUTIONS.is_dir() else ()


def read(page: Path, puzzle: str) -> tuple[Misconception, ...]:
    """The wrong kernels of a page, sorted by name. Raises `pages.PageError`."""
    kernel = PUZZLES[puzzle].kernel
    entries = pages.read(page, kernel, _LABELS, {pages.SOLUTION: solution(puzzle)})
    names = {entry.name for entry in entries}
    return tuple(_misconception(entry, puzzle, kernel, names) for entry in sorted(entries, key=lambda e: e.name))


def quick(puzzle: Puzzle, names: Collection[str] | None = None, smallest: int = SMALLEST) -> Puzzle:
    """The puzzle with few cases: its `smallest`, and those with `names`, by default the ones that expose its wrong kernels."""
    wanted = {wrong.seen_in for wrong in bank(puzzle.name)} if names is None else set(names)
    cases = [case for case in puzzle.cases if "cpu" in case.devices]
    by_size = sorted(cases, key=lambda case: prod(case.sizes.values()))
    wanted |= {case.name for case in by_size[:smallest]}
    return replace(puzzle, cases=tuple(case for case in cases if case.name in wanted))


@cache
def solution(puzzle: str) -> str:
    """The base of the diffs: the course's solution without docstrings and marks."""
    return pages.bare((SOLUTIONS / f"{puzzle}.py").read_text("utf-8"))


def _misconception(entry: pages.Entry, puzzle: str, kernel: str, names: Collection[str]) -> Misconception:
    labels = entry.labels
    gates, same_as = (tuple(re.findall(r"`(\w+)`", labels.get(label, ""))) for label in ("Gate", "Same as"))
    problems = [f"no **{label}:**" for label in ("Believed", "Instead", "Gate") if label not in labels]
    problems += [f"`{gate}` is no gate" for gate in gates if gate not in DECIDING]
    problems += [f"same as `{name}`, which is not on the page" for name in same_as if name not in names]
    noise = labels.get("Noise", "0")
    problems += [f"**Noise:** is no number: {noise}"] if not re.fullmatch(r"[\d.e-]+", noise) else []
    seen_in = labels.get("Seen in", "")
    if seen_in not in ("", FAR_OFFSETS, SEVERAL_CASES, *(case.name for case in PUZZLES[puzzle].cases)):
        problems.append(f"seen in `{seen_in}`, which is no case: run `python tools/seen_in.py {puzzle}`")
    problems += ["no line carries the mistake: mark it with # wrong"] if not entry.wrong_lines else []
    if problems:
        raise entry.error("; ".join(problems))
    return Misconception(
        puzzle=puzzle,
        name=entry.name,
        believed=labels["Believed"],
        instead=labels["Instead"],
        try_=labels.get("Try", ""),
        gates=gates,
        same_as=same_as,
        source=KernelSource(puzzle, kernel, entry.source, (Piece(1, entry.source.count("\n"), entry.page, 1),)),
        wrong_lines=entry.wrong_lines,
        noise=float(noise),
        unseen_on_gpu=labels.get("On a GPU", ""),
        seen_in=seen_in,
    )
