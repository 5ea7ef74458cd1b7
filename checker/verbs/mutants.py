"""The kill table: every misconception is judged like a learner's kernel, and each has to be caught by the gate meant for it.

With a GPU each is also launched there by itself, whatever the simulator said of it before, so that the two can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from textwrap import wrap
from typing import Any, cast

import msgspec
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from checker.api.command_line import complain, write, write_json
from checker.checking import Device, check_source
from checker.course import LADDER
from checker.judge.gpu_gate import NOT_VISIBLE, seen_on_gpu
from checker.judge.outcome import Candidate
from checker.judge.result import environment
from checker.judge.runner import Runner
from checker.judge.verdict import Gate
from checker.misconceptions import GATES, Misconception, bank
from checker.misconceptions.pages import PageError
from checker.puzzle import Puzzle
from checker.sandbox import Sandbox
from checker.verbs.arguments import UsageError
from checker.verbs.tables import ProgressBar, print_table, words

SCHEMA = "mutants/v1"
NOT_CAUGHT = ("passed", "not_attempted", "infra_error", "skipped")
HIDDEN_GATES = ("memory", "traffic")
"""What these gates catch may leave no mark on a GPU: an element read too often, or read from where nothing lies."""


@dataclass(frozen=True)
class Row:
    """One misconception: the gate that stopped it (None if none did), and those that may."""

    puzzle: str
    name: str
    status: str
    gate: Gate | None
    expected: tuple[str, ...]
    diagnosed_as: str | None
    same_as: tuple[str, ...] = ()
    gpu: str | None = None
    """What the GPU shows by itself (see `judge.gpu_gate.seen_on_gpu`); None where it was not asked."""
    unseen_on_gpu: str = ""
    """Why the GPU shows nothing of it, if so."""

    @property
    def caught(self) -> bool:
        return self.status not in NOT_CAUGHT

    @property
    def by_the_right_gate(self) -> bool:
        return self.caught and self.gate in self.expected

    @property
    def agrees(self) -> bool:
        """The GPU shows what it has to: everything but what `HIDDEN_GATES` caught and what the bank explains."""
        return self.gpu != NOT_VISIBLE or self.gate in HIDDEN_GATES or bool(self.unseen_on_gpu)

    @property
    def diagnosed(self) -> bool:
        """Named as itself, or as one that is declared to behave the same."""
        return self.diagnosed_as in (self.name, *self.same_as)


def kill_table(
    puzzles: Iterable[Puzzle],
    device: Device,
    *,
    report: Callable[[Row], None] = lambda row: None,
    runner: Runner | None = None,
    jobs: int | None = None,
) -> list[Row]:
    """Judge the banks of `puzzles`, `jobs` kernels at a time; `report` is called after each kernel, in order.

    A launch on a GPU is mostly waiting for CUDA to start, so with one several kernels run at a time by default. Raises
    ValueError for a malformed bank file.
    """
    if jobs is None:
        jobs = max(1, min(8, (os.cpu_count() or 1) // 2)) if device == "cuda" else 1
    wanted = [(puzzle, wrong) for puzzle in puzzles for wrong in bank(puzzle.name)]
    shared = runner or cast(Runner, Sandbox.shared())
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda pair: _row(pair[0], pair[1], device, shared), wanted):
            rows.append(row)
            report(row)
    return rows


def _row(puzzle: Puzzle, wrong: Misconception, device: Device, runner: Runner) -> Row:
    verdict = check_source(puzzle, wrong.source, device, submission=wrong.name, runner=runner)
    gate = verdict.failure.gate if verdict.failure is not None and verdict.status not in NOT_CAUGHT else None
    row = _row_of(wrong, verdict.status, gate, verdict.diagnosis.misconception if verdict.diagnosis else None)
    if device == "cpu" or row.status == "infra_error":
        return row
    candidate = Candidate(puzzle, wrong.source, runner)
    try:
        return replace(row, gpu=seen_on_gpu(candidate, large=row.gate not in HIDDEN_GATES))
    except RuntimeError as error:
        return replace(row, status="infra_error", gate=None, gpu=f"no launch: {error}")


def _row_of(
    wrong: Misconception, status: str, gate: Gate | None, diagnosed_as: str | None, gpu: str | None = None
) -> Row:
    return Row(
        puzzle=wrong.puzzle,
        name=wrong.name,
        status=status,
        gate=gate,
        expected=wrong.gates,
        diagnosed_as=diagnosed_as,
        same_as=wrong.same_as,
        gpu=gpu,
        unseen_on_gpu=wrong.unseen_on_gpu,
    )


def exit_code(rows: Sequence[Row]) -> int:
    """0: each is caught by a gate meant for it, and seen by the GPU; 1: some are not; 2: there are none; 3: the grader broke."""
    if any(row.status == "infra_error" for row in rows):
        return 3
    if not rows:
        return 2
    return 0 if all(row.by_the_right_gate and row.agrees for row in rows) else 1


def document(
    rows: Sequence[Row], puzzles: Iterable[Puzzle], device: str, facts: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The table as `mutants/v1`; `facts` say what it was made with. ``gpu`` is there where the GPU was asked."""
    return {
        "schema": SCHEMA,
        "device": device,
        **({"environment": dict(facts)} if facts else {}),
        "puzzles": [
            {"puzzle": puzzle.name, "misconceptions": [_entry(r) for r in rows if r.puzzle == puzzle.name]}
            for puzzle in puzzles
        ],
    }


def _entry(row: Row) -> dict[str, Any]:
    entry = {"name": row.name, "caught": row.caught, "gate": row.gate, "diagnosed_as": row.diagnosed_as}
    return entry if row.gpu is None else {**entry, "gpu": row.gpu}


def rows_of(report: Mapping[str, Any]) -> list[Row]:
    """The rows that a `mutants/v1` report was made from; what the report does not hold comes from the bank.

    Raises ValueError where it is no such report, or lists a kernel that the bank does not hold.
    """
    if report.get("schema") != SCHEMA:
        raise ValueError(f"this is no report of the kind {SCHEMA}")
    rows = []
    for table in report["puzzles"]:
        wrong = {m.name: m for m in bank(table["puzzle"])}
        for entry in table["misconceptions"]:
            if entry["name"] not in wrong:
                raise ValueError(f"{table['puzzle']}/{entry['name']} is in the report, but not in the bank")
            known, status = wrong[entry["name"]], "failed" if entry["caught"] else "passed"
            rows.append(_row_of(known, status, entry["gate"], entry["diagnosed_as"], entry.get("gpu")))
    return rows


# ----------------------------------------------------------------------------------------------------------------- page


def markdown(rows: Sequence[Row], puzzles: Iterable[Puzzle], device: str) -> str:
    """The table as a page of `docs/`: counts for each puzzle, and by name only what is not as it should be, or not known yet."""
    right, named = sum(r.by_the_right_gate for r in rows), sum(r.diagnosed for r in rows)
    launched = any(r.gpu is not None for r in rows)
    columns = [
        "wrong kernels",
        "caught",
        "named",
        *(f"`{gate}`" for gate in GATES),
        *(["on a GPU"] if launched else []),
    ]
    lines = [
        "# Wrong kernels, and what catches them",
        "",
        "Every puzzle has a page of wrong kernels, each the work of one misconception. The checker judges them as it judges a learner's",
        "kernel. A gate meant for the misconception has to stop it, and the card should name it. `python -m checker mutants --show NAME`",
        "prints one whole; the reports in `reports/` say of each which gate stopped it and what a GPU showed.",
        "",
        f"Device `{device}`: {right} of {len(rows)} caught by a gate meant for it, {named} of {len(rows)} named.",
        "",
        f"| puzzle | {' | '.join(columns)} |",
        "|---|" + "--:|" * len(columns),
    ]
    for puzzle in puzzles:
        mine = [row for row in rows if row.puzzle == puzzle.name]
        if mine:
            lines.append(_counts(puzzle.name, mine, launched))
    for what, those in _exceptions(rows, launched).items():
        lines += ["", f"**{what}:** {', '.join(f'`{row.puzzle}/{row.name}`{words}' for row, words in those)}."]
    return "\n".join(lines) + "\n"


def _counts(name: str, rows: Sequence[Row], launched: bool) -> str:
    """A puzzle's row: how many there are, how they fare, which gate stopped how many, and how many a GPU has run."""
    numbers = [len(rows), sum(r.by_the_right_gate for r in rows), sum(r.diagnosed for r in rows)]
    numbers += [sum(r.gate == gate for r in rows) for gate in GATES]
    numbers += [sum(r.gpu is not None for r in rows)] if launched else []
    return f"| [{name}](../checker/misconceptions/{name}.md) | {' | '.join(map(str, numbers))} |"


def _exceptions(rows: Sequence[Row], launched: bool) -> dict[str, list[tuple[Row, str]]]:
    """The rows that a reader has to know by name, with a few words each."""
    found = {
        "Survive": [(r, f" ({r.status.replace('_', ' ')})") for r in rows if not r.caught],
        "Stopped by another gate": [
            (r, f" ({r.gate}, meant for {' or '.join(r.expected)})")
            for r in rows
            if r.caught and not r.by_the_right_gate
        ],
        "Named wrongly, or not at all": [
            (r, f" ({r.diagnosed_as or 'not named'})") for r in rows if r.caught and not r.diagnosed
        ],
        "Not seen on a GPU": [(r, f" ({r.gpu})") for r in rows if not r.agrees],
        "Pending on a GPU": [(r, "") for r in rows if launched and r.gpu is None],
    }
    return {what: those for what, those in found.items() if those}


# ---------------------------------------------------------------------------------------------------------- one of them


def find(name: str, puzzles: Iterable[Puzzle]) -> Misconception:
    """The wrong kernel of that name. Raises LookupError, saying what there is, where none of `puzzles` has it, or several."""
    every = [wrong for puzzle in puzzles for wrong in bank(puzzle.name)]
    found = [wrong for wrong in every if wrong.name == name]
    if not found:
        near = get_close_matches(name, {wrong.name for wrong in every}, cutoff=0.4)
        raise LookupError(f"there is no wrong kernel {name}" + (f"; near it: {', '.join(near)}" if near else ""))
    if len(found) > 1:
        theirs = ", ".join(wrong.puzzle for wrong in found)
        raise LookupError(f"{name} is a wrong kernel of {theirs}: choose one with --puzzle")
    return found[0]


def text(wrong: Misconception) -> str:
    """A wrong kernel whole, with what was believed above it as comments: a file that can be checked as it is."""
    said = {"Believed": wrong.believed, "Instead": wrong.instead, "Try": wrong.try_, "Gate": " or ".join(wrong.gates)}
    head = [f"{wrong.puzzle}: {wrong.name}", *(f"{label}: {words}" for label, words in said.items() if words)]
    comments = [line for part in head for line in wrap(part, 110, initial_indent="# ", subsequent_indent="#   ")]
    lines = wrong.source.source.splitlines()
    for number in wrong.wrong_lines:
        lines[number - 1] += "  # wrong"
    return "\n".join([*comments, "", *lines]) + "\n"


def print_kill_table(rows: Sequence[Row], device: str) -> None:
    """Print a row per misconception: what caught it, and what the card called it."""
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
        below.append(Text(f"the GPU shows nothing of {hidden}", style="bold red"))
    print_table(heads, lines, *below)


def judge_wrong_kernels(
    requested: Sequence[Puzzle], device: Device, json_file: str | None, markdown_file: str | None
) -> int:
    """Judge the banks of the requested puzzles (all if none is), print and write the table; returns the exit code.

    Raises UsageError for a malformed page of the bank.
    """
    puzzles = requested or LADDER
    try:
        total = sum(len(bank(puzzle.name)) for puzzle in puzzles)
        with ProgressBar(total, quiet=json_file == "-") as bar:

            def done(row: Row) -> None:
                bar.step(f"{row.puzzle}/{row.name}", f"caught by {row.gate}" if row.caught else "survives")

            rows = kill_table(puzzles, device, report=done)
    except PageError as error:  # whoever writes a page needs its heading, not a traceback
        raise UsageError(f"{error}\nCONTRIBUTING.md says how to write down a wrong kernel.") from error
    if json_file is not None:
        facts = msgspec.structs.asdict(environment(device, Sandbox.shared().tier))
        write_json(json_file, document(rows, puzzles, device, facts))
    if markdown_file is not None:
        write(markdown_file, markdown(rows, puzzles, device))
    if json_file != "-":
        print_kill_table(rows, device)
    if not rows:
        complain("no misconceptions are written down for these puzzles yet.")
    return exit_code(rows)


def print_wrong_kernel(name: str, requested: Sequence[Puzzle]) -> None:
    """Print one wrong kernel whole, in colours on a terminal. Raises UsageError."""
    try:
        code = Syntax("", "python", theme="ansi_dark").highlight(text(find(name, requested or LADDER)))
    except LookupError as missing:
        raise UsageError(str(missing.args[0])) from missing
    except PageError as error:
        raise UsageError(f"{error}\nCONTRIBUTING.md says how to write down a wrong kernel.") from error
    Console().print(code, soft_wrap=True, end="")
