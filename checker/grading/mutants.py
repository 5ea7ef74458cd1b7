"""The kill table: every misconception is judged like a learner's kernel, and each has to be caught by the gate meant for it.

With a GPU each is also launched there by itself, whatever the simulator said of it before, so that the two can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, cast

from checker.checking import Device, check_source
from checker.judge.gpu_gate import NOT_VISIBLE, seen_on_gpu
from checker.judge.runner import Runner
from checker.judge.verdict import GATES, Gate
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle

SCHEMA = "mutants/v1"
NOT_CAUGHT = ("passed", "not_attempted", "infra_error", "skipped")
STOPPING: tuple[Gate, ...] = GATES[: GATES.index("gpu") + 1]
"""The gates that can stop a kernel, in their order."""
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
    believed: str = ""
    gpu: str | None = None
    """What the GPU shows by itself (see `judge.graphics.seen_on_gpu`); None where it was not asked."""

    @property
    def caught(self) -> bool:
        return self.status not in NOT_CAUGHT

    @property
    def by_the_right_gate(self) -> bool:
        return self.caught and self.gate in self.expected

    @property
    def agrees(self) -> bool:
        """The GPU shows what it has to: everything but what `HIDDEN_GATES` caught."""
        return self.gpu != NOT_VISIBLE or self.gate in HIDDEN_GATES

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
    if runner is None:
        from checker.sandbox import Sandbox

        runner = cast(Runner, Sandbox.shared())
    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(lambda pair: _row(pair[0], pair[1], device, runner), wanted):
            rows.append(row)
            report(row)
    return rows


def _row(puzzle: Puzzle, wrong: Misconception, device: Device, runner: Runner) -> Row:
    verdict = check_source(puzzle, wrong.source, device, submission=wrong.name, runner=runner)
    failure = verdict.failure
    row = Row(
        puzzle=puzzle.name,
        name=wrong.name,
        status=verdict.status,
        gate=failure.gate if failure is not None and verdict.status not in NOT_CAUGHT else None,
        expected=wrong.gates,
        diagnosed_as=verdict.diagnosis.misconception if verdict.diagnosis else None,
        same_as=wrong.same_as,
        believed=wrong.believed,
    )
    if device == "cpu" or row.status == "infra_error":
        return row
    try:
        return replace(row, gpu=seen_on_gpu(puzzle, wrong.source, runner, large=row.gate not in HIDDEN_GATES))
    except RuntimeError as error:
        return replace(row, status="infra_error", gate=None, gpu=f"no launch: {error}")


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
            known = wrong[entry["name"]]
            rows.append(
                Row(
                    puzzle=table["puzzle"],
                    name=known.name,
                    status="failed" if entry["caught"] else "passed",
                    gate=entry["gate"],
                    expected=known.gates,
                    diagnosed_as=entry["diagnosed_as"],
                    same_as=known.same_as,
                    believed=known.believed,
                    gpu=entry.get("gpu"),
                )
            )
    return rows


def markdown(rows: Sequence[Row], puzzles: Iterable[Puzzle], device: str) -> str:
    """The page that publishes the table."""
    caught, diagnosed = sum(r.by_the_right_gate for r in rows), sum(r.diagnosed for r in rows)
    launched = any(r.gpu is not None for r in rows)
    lines = [
        "# Wrong kernels, and what catches them",
        "",
        "Every puzzle has a bank of wrong kernels, each the work of one misconception (`checker/misconceptions/`). The checker",
        "judges them as it judges a learner's kernel. A gate meant for the misconception has to stop it, and the card should name it.",
        "",
        f"Device `{device}`: {caught} of {len(rows)} caught by a gate meant for it, {diagnosed} of {len(rows)} named.",
        "",
        "| puzzle | wrong kernels | caught | named | " + " | ".join(f"`{gate}`" for gate in STOPPING) + " |",
        "|---|" + "--:|" * (3 + len(STOPPING)),
    ]
    banks = {puzzle.name: [row for row in rows if row.puzzle == puzzle.name] for puzzle in puzzles}
    lines += [_counts(name, mine) for name, mine in banks.items() if mine]
    for name, mine in banks.items():
        if not mine:
            continue
        heads = ["misconception", "what is believed", "caught by", "named as", *(["on the GPU"] if launched else [])]
        lines += ["", f"## {name}", "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        lines += [_line(r, launched) for r in mine]
    return "\n".join(lines) + "\n"


def _counts(name: str, rows: Sequence[Row]) -> str:
    numbers = [len(rows), sum(r.by_the_right_gate for r in rows), sum(r.diagnosed for r in rows)]
    numbers += [sum(r.gate == gate for r in rows) for gate in STOPPING]
    return f"| [{name}](#{name}) | {' | '.join(map(str, numbers))} |"


def _line(row: Row, launched: bool) -> str:
    cells = [f"`{row.name}`", _cell(row.believed), _caught_words(row), _named_words(row)]
    if launched:
        cells.append((row.gpu or "not run") if row.agrees else f"**{row.gpu}**")
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _caught_words(row: Row) -> str:
    if not row.caught:
        return f"**survives** ({row.status.replace('_', ' ')})"
    return f"{row.gate}" if row.by_the_right_gate else f"**{row.gate}**, meant for {' or '.join(row.expected)}"


def _named_words(row: Row) -> str:
    if row.diagnosed_as == row.name:
        return "itself"
    if row.diagnosed_as is None:
        return "not named"
    return f"`{row.diagnosed_as}`" + (" (behaves the same)" if row.diagnosed else " (**wrongly**)")
