"""The kill table: every misconception is judged like a learner's kernel, and each has to be caught by the gate meant for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from checker.grading.check import Device, check_source
from checker.judge.runner import Runner
from checker.judge.verdict import Gate
from checker.misconceptions import Misconception, bank
from checker.puzzle import Puzzle

SCHEMA = "mutants/v1"
NOT_CAUGHT = ("passed", "not_attempted", "infra_error", "skipped")


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

    @property
    def caught(self) -> bool:
        return self.status not in NOT_CAUGHT

    @property
    def by_the_right_gate(self) -> bool:
        return self.caught and self.gate in self.expected

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
) -> list[Row]:
    """Judge the banks of `puzzles`; `report` is called after each kernel. Raises ValueError for a malformed bank file."""
    rows = []
    for puzzle in puzzles:
        for wrong in bank(puzzle.name):
            rows.append(_row(puzzle, wrong, device, runner))
            report(rows[-1])
    return rows


def _row(puzzle: Puzzle, wrong: Misconception, device: Device, runner: Runner | None) -> Row:
    verdict = check_source(puzzle, wrong.source, device, submission=wrong.name, runner=runner)
    failure = verdict.failure
    return Row(
        puzzle=puzzle.name,
        name=wrong.name,
        status=verdict.status,
        gate=failure.gate if failure is not None and verdict.status not in NOT_CAUGHT else None,
        expected=wrong.gates,
        diagnosed_as=verdict.diagnosis.misconception if verdict.diagnosis else None,
        same_as=wrong.same_as,
        believed=wrong.believed,
    )


def exit_code(rows: Sequence[Row]) -> int:
    """0: every one is caught by a gate meant for it; 1: some are not; 2: there are none; 3: the grader could not judge them."""
    if any(row.status == "infra_error" for row in rows):
        return 3
    if not rows:
        return 2
    return 0 if all(row.by_the_right_gate for row in rows) else 1


def document(rows: Sequence[Row], puzzles: Iterable[Puzzle], device: str) -> dict[str, Any]:
    """The table as `mutants/v1`."""
    return {
        "schema": SCHEMA,
        "device": device,
        "puzzles": [
            {
                "puzzle": puzzle.name,
                "misconceptions": [
                    {"name": r.name, "caught": r.caught, "gate": r.gate, "diagnosed_as": r.diagnosed_as}
                    for r in rows
                    if r.puzzle == puzzle.name
                ],
            }
            for puzzle in puzzles
        ],
    }


def markdown(rows: Sequence[Row], puzzles: Iterable[Puzzle], device: str) -> str:
    """The page that publishes the table."""
    caught, diagnosed = sum(r.by_the_right_gate for r in rows), sum(r.diagnosed for r in rows)
    lines = [
        "# Wrong kernels, and what catches them",
        "",
        "Written by `python -m checker mutants --markdown docs/mutants.md`; do not edit by hand.",
        "",
        "Every puzzle has a bank of wrong kernels, each the work of one misconception (`checker/misconceptions/`). The checker",
        "judges them as it judges a learner's kernel. A gate meant for the misconception has to stop it, and the card should name it.",
        "",
        f"Device `{device}`: {caught} of {len(rows)} caught by a gate meant for it, {diagnosed} of {len(rows)} named.",
    ]
    for puzzle in puzzles:
        mine = [row for row in rows if row.puzzle == puzzle.name]
        if not mine:
            continue
        lines += [
            "",
            f"## {puzzle.name}",
            "",
            "| misconception | what is believed | caught by | named as |",
            "|---|---|---|---|",
        ]
        lines += [f"| `{r.name}` | {_cell(r.believed)} | {_caught_words(r)} | {_named_words(r)} |" for r in mine]
    return "\n".join(lines) + "\n"


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
