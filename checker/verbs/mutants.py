"""The kill table: the checker judges every wrong kernel like a learner's, and a gate meant for its mistake must catch it.

With a GPU, each kernel is also launched there, whatever the simulator found, so that the two can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from textwrap import wrap
from typing import cast

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from checker.api.command_line import complain
from checker.checking import Device, check_source
from checker.course import LADDER
from checker.judge.gpu_gate import NOT_VISIBLE, seen_on_gpu
from checker.judge.outcome import Candidate
from checker.judge.runner import Runner
from checker.misconceptions import Misconception, bank, refused
from checker.misconceptions.pages import PageError
from checker.puzzle import Gate, Puzzle
from checker.sandbox import Sandbox
from checker.verbs.arguments import UsageError
from checker.verbs.tables import ProgressBar, print_table, words

HOW_TO_WRITE = "CONTRIBUTING.md explains how to write down a wrong kernel."
NOT_CAUGHT = ("passed", "not_attempted", "infra_error", "skipped")
HIDDEN_GATES = ("memory", "traffic")
"""Mistakes that these gates catch may be invisible on a GPU, e.g. reading an element too often."""


@dataclass(frozen=True)
class Row:
    """One wrong kernel: the gate that caught it (None if none did), and the gates that are meant to."""

    puzzle: str
    name: str
    status: str
    gate: Gate | None
    expected: tuple[str, ...]
    diagnosed_as: str | None
    same_as: tuple[str, ...] = ()
    gpu: str | None = None
    """What a GPU shows (see `judge.gpu_gate.seen_on_gpu`); None if it was not run there."""
    unseen_on_gpu: str = ""
    """Why the mistake is invisible on a GPU, if it is."""

    @property
    def caught(self) -> bool:
        return self.status not in NOT_CAUGHT

    @property
    def by_the_right_gate(self) -> bool:
        return self.caught and self.gate in self.expected

    @property
    def agrees(self) -> bool:
        """The GPU shows the mistake, or it is known to be invisible there."""
        return self.gpu != NOT_VISIBLE or self.gate in HIDDEN_GATES or bool(self.unseen_on_gpu)

    @property
    def diagnosed(self) -> bool:
        """The card names this mistake, or one that is declared to behave the same."""
        return self.diagnosed_as in (self.name, *self.same_as)


def kill_table(
    puzzles: Iterable[Puzzle],
    device: Device,
    *,
    report: Callable[[Row], None] = lambda row: None,
    runner: Runner | None = None,
) -> list[Row]:
    """Judge the wrong kernels of `puzzles`, and call `report` after each, in order. Raises PageError for a malformed page.

    Launching on a GPU is mostly waiting for CUDA to start, so there several kernels run at a time.
    """
    jobs = max(1, min(8, (os.cpu_count() or 1) // 2)) if device == "cuda" else 1
    pairs = [(puzzle, wrong) for puzzle in puzzles for wrong in _wrong(puzzle)]
    shared = runner or cast(Runner, Sandbox.shared())
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda pair: _row(pair[0], pair[1], device, shared), pairs):
            rows.append(row)
            report(row)
    return rows


def _wrong(puzzle: Puzzle) -> tuple[Misconception, ...]:
    return (*bank(puzzle.name), *refused(puzzle.name))


def _row(puzzle: Puzzle, wrong: Misconception, device: Device, runner: Runner) -> Row:
    verdict = check_source(puzzle, wrong.source, device, submission=wrong.name, runner=runner)
    gate = verdict.failure.gate if verdict.failure is not None and verdict.status not in NOT_CAUGHT else None
    row = Row(
        puzzle=wrong.puzzle,
        name=wrong.name,
        status=verdict.status,
        gate=gate,
        expected=wrong.gates,
        diagnosed_as=verdict.diagnosis.misconception if verdict.diagnosis else None,
        same_as=wrong.same_as,
        unseen_on_gpu=wrong.unseen_on_gpu,
    )
    if device == "cpu" or row.status == "infra_error" or wrong.gates == ("compile",):
        return row
    candidate = Candidate(puzzle, wrong.source, runner)
    try:
        likeliest = verdict.failure.case if verdict.failure is not None else None
        return replace(row, gpu=seen_on_gpu(candidate, large=row.gate not in HIDDEN_GATES, first=likeliest))
    except RuntimeError as error:
        return replace(row, status="infra_error", gate=None, gpu=f"no launch: {error}")


def exit_code(rows: Sequence[Row]) -> int:
    """0: every kernel is caught by a gate meant for it, and the GPU agrees; 1: not so; 2: no kernels; 3: the grader broke."""
    if any(row.status == "infra_error" for row in rows):
        return 3
    if not rows:
        return 2
    return 0 if all(row.by_the_right_gate and row.agrees for row in rows) else 1


def find(name: str, puzzles: Iterable[Puzzle]) -> Misconception:
    """The wrong kernel called `name`. Raises UsageError if `puzzles` have none or several of that name."""
    kernels = [wrong for puzzle in puzzles for wrong in _wrong(puzzle)]
    matches = [wrong for wrong in kernels if wrong.name == name]
    if not matches:
        near = get_close_matches(name, {wrong.name for wrong in kernels}, cutoff=0.4)
        raise UsageError(f"there is no wrong kernel {name}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
    if len(matches) > 1:
        owners = ", ".join(wrong.puzzle for wrong in matches)
        raise UsageError(f"{owners} each have a wrong kernel {name}: choose one with --puzzle")
    return matches[0]


def text(wrong: Misconception) -> str:
    """A wrong kernel as a file that `check` takes, with its page's text in comments above it."""
    page = {"Believed": wrong.believed, "Instead": wrong.instead, "Try": wrong.try_, "Gate": " or ".join(wrong.gates)}
    head = [f"{wrong.puzzle}: {wrong.name}", *(f"{label}: {words}" for label, words in page.items() if words)]
    comments = [line for part in head for line in wrap(part, 110, initial_indent="# ", subsequent_indent="#   ")]
    lines = wrong.source.source.splitlines()
    for number in wrong.wrong_lines:
        lines[number - 1] += "  # wrong"
    return "\n".join([*comments, "", *lines]) + "\n"


def print_kill_table(rows: Sequence[Row], device: str) -> None:
    """Print a row per wrong kernel: the gate that caught it, and the mistake that the card named."""
    launched = any(row.gpu is not None for row in rows)
    heads = ["puzzle", "misconception", "caught by", "meant for", "named as", *(["on the GPU"] if launched else [])]
    lines: list[list[str | Text]] = [
        [
            row.puzzle,
            row.name,
            Text(
                str(row.gate) if row.caught else f"survives ({words(row.status)})",
                style="green" if row.by_the_right_gate else "bold red",
            ),
            " or ".join(row.expected),
            Text(row.diagnosed_as or "-", style="green" if row.diagnosed else "yellow"),
            *([Text(row.gpu or "not run", style="green" if row.agrees else "bold red")] if launched else []),
        ]
        for row in rows
    ]
    right, named = sum(row.by_the_right_gate for row in rows), sum(row.diagnosed for row in rows)
    below = [Text(f"{device}: {right} of {len(rows)} caught by a gate meant for it, {named} of {len(rows)} named")]
    if hidden := ", ".join(f"{row.puzzle}/{row.name}" for row in rows if not row.agrees):
        below.append(Text(f"invisible on the GPU: {hidden}", style="bold red"))
    print_table(heads, lines, *below)


def judge_wrong_kernels(requested: Sequence[Puzzle], device: Device) -> int:
    """Judge the wrong kernels of the requested puzzles (default: all), and print the table; returns the exit code.

    Raises UsageError for a malformed page.
    """
    puzzles = requested or LADDER
    try:
        total = sum(len(_wrong(puzzle)) for puzzle in puzzles)
        with ProgressBar(total) as bar:

            def done(row: Row) -> None:
                bar.step(f"{row.puzzle}/{row.name}", f"caught by {row.gate}" if row.caught else "survives")

            rows = kill_table(puzzles, device, report=done)
    except PageError as error:  # its author needs the page's heading, not a traceback
        raise UsageError(f"{error}\n{HOW_TO_WRITE}") from error
    print_kill_table(rows, device)
    if not rows:
        complain("these puzzles have no wrong kernels yet.")
    return exit_code(rows)


def print_wrong_kernel(name: str, requested: Sequence[Puzzle]) -> None:
    """Print one wrong kernel, in colours on a terminal. Raises UsageError."""
    try:
        code = Syntax("", "python", theme="ansi_dark").highlight(text(find(name, requested or LADDER)))
    except PageError as error:
        raise UsageError(f"{error}\n{HOW_TO_WRITE}") from error
    Console().print(code, soft_wrap=True, end="")
