"""Judges every wrong kernel of the course and writes the table of what caught it to `docs/mutants.md`.

Exits 1 where a wrong kernel survives, and with the grader's own status where it could not do its work.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "docs" / "mutants.md"


def judge(device: str) -> tuple[dict[str, Any], int]:
    """The kill table as `mutants/v1`, and the exit status of the command that made it."""
    command = [sys.executable, "-m", "checker", "mutants", "--device", device, "--json", "-"]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    try:
        table = json.loads(ran.stdout)
    except ValueError:
        raise SystemExit(ran.returncode or 3) from None  # what went wrong stands on stderr already
    return table, ran.returncode


def survivors(table: Mapping[str, Any]) -> list[str]:
    """``puzzle/name`` of each wrong kernel that passed."""
    rows = ((puzzle["puzzle"], wrong) for puzzle in table["puzzles"] for wrong in puzzle["misconceptions"])
    return [f"{puzzle}/{wrong['name']}" for puzzle, wrong in rows if not wrong["caught"]]


def markdown(table: Mapping[str, Any]) -> str:
    return "\n".join(_lines(table)) + "\n"


def _lines(table: Mapping[str, Any]) -> Iterator[str]:
    wrong = [m for puzzle in table["puzzles"] for m in puzzle["misconceptions"]]
    yield "# What catches which wrong kernel"
    yield ""
    yield f"Each of these kernels embodies a mistake that people make. {sum(m['caught'] for m in wrong)} of {len(wrong)} are caught"
    yield f"(device: {table['device']}). `make mutants` writes this table."
    for puzzle in table["puzzles"]:
        yield from _table(puzzle["puzzle"], puzzle["misconceptions"])


def _table(puzzle: str, misconceptions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield ""
    yield f"## {puzzle}"
    yield ""
    yield "| wrong kernel | caught by | diagnosed as |"
    yield "|---|---|---|"
    for wrong in misconceptions:
        gate = wrong["gate"] if wrong["caught"] else "**nothing**"
        yield f"| {wrong['name']} | {gate} | {wrong['diagnosed_as'] or 'no known misconception'} |"


def main() -> int:
    table, status = judge("cpu")
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(markdown(table), "utf-8")
    print(f"wrote {REPORT.relative_to(ROOT)}")
    for name in survivors(table):
        print(f"survived: {name}", file=sys.stderr)
    return status or int(bool(survivors(table)))


if __name__ == "__main__":
    raise SystemExit(main())
