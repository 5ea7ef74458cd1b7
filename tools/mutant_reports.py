"""The reports on mutants in `reports/`: written, brought up to date puzzle by puzzle, and read with what explains their survivors."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.course import LADDER
from checker.verbs.mutants import Row, rows_of
from tools.mutate import GATES, Fate

ROOT = Path(__file__).resolve().parent.parent
CPU, GPU = (ROOT / "reports" / f"mutants-{name}.json" for name in ("cpu", "gpu"))
SURVIVORS_GPU = ROOT / "reports" / "survivors-gpu.json"
SURVIVORS = ROOT / "tools" / "survivors.toml"
KINDS = ("mechanical", "semantic", "guarded")
"""The sorts of mutants; each has a report."""
OUTCOMES = ("killed", "equivalent", "tolerated", "survived")
_NAMED = {"mechanical": ("equivalent", "survived"), "semantic": ("tolerated", "survived"), "guarded": ("survived",)}
"""Which mutants stand in a report by name; of the others there are counts."""


def path_of(kind: str) -> Path:
    return ROOT / "reports" / f"mutants-{kind}.json"


def load(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def tables(kind: str) -> list[dict[str, Any]]:
    """A table for each puzzle that was swept; none where there is no report yet."""
    path = path_of(kind)
    return load(path)["puzzles"] if path.exists() else []


def write(kind: str, report: Mapping[str, Any]) -> None:
    path_of(kind).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


# ------------------------------------------------------------------------------------------------------- wrong kernels


def _beside_the_gpu() -> Iterator[tuple[Row, Row | None]]:
    """Every row of the CPU's report, with that of the GPU's where there is one."""
    seen = {(row.puzzle, row.name): row for row in rows_of(load(GPU))} if GPU.exists() else {}
    for row in rows_of(load(CPU)):
        yield row, seen.get((row.puzzle, row.name))


def wrong_kernels() -> list[Row]:
    """The kill table of the CPU, with what the GPU showed beside it where there is a report of one."""
    return [replace(row, gpu=there.gpu if there else None) for row, there in _beside_the_gpu()]


def disagreements() -> list[str]:
    """Where the report of the GPU says something else than that of the CPU. A kernel that it has no row for is pending."""
    found = []
    for row, there in _beside_the_gpu():
        if there is None:
            continue
        name = f"{row.puzzle}/{row.name}"
        if there.gpu is None:
            found.append(f"{name}: not launched on the GPU")
        elif there.gate != row.gate:
            found.append(f"{name}: stopped by {there.gate} on the machine with a GPU, by {row.gate} without")
        elif not there.agrees:
            found.append(f"{name}: stopped by {row.gate}, but {there.gpu} on the GPU")
    return found


# ------------------------------------------------------------------------------------------------------------- mutants


def report_of(kind: str, fates: Sequence[Fate], facts: Mapping[str, str]) -> dict[str, Any]:
    """``<kind>/v1``: per puzzle how many mutants were made and what became of them; some by name."""
    puzzles = []
    for puzzle in LADDER:
        if mine := [f for f in fates if f.puzzle == puzzle.name]:
            puzzles.append({"puzzle": puzzle.name, "made": len(mine), **_counted(mine), **_named(kind, mine)})
    return {"schema": f"{kind}/v1", "environment": dict(facts), "puzzles": puzzles}


def _counted(fates: Sequence[Fate]) -> dict[str, Any]:
    killed = Counter(f.by for f in fates if f.outcome == "killed")
    outcomes = Counter(f.outcome for f in fates)
    kinds = {k: Counter(f.outcome for f in fates if f.kind == k) for k in sorted({f.kind for f in fates})}
    return {
        "killed": {gate: killed[gate] for gate in GATES},
        "outcomes": {outcome: outcomes[outcome] for outcome in OUTCOMES},
        "kinds": {k: {o: c[o] for o in OUTCOMES if c[o]} for k, c in kinds.items()},
    }


def _named(kind: str, fates: Sequence[Fate]) -> dict[str, Any]:
    named: dict[str, list[dict[str, str]]] = {outcome: [] for outcome in _NAMED[kind]}
    for f in fates:
        if f.outcome in named:
            named[f.outcome].append({"mutant": f.key} | ({"differs": f.differs} if f.differs else {}))
    return named


def merged(kind: str, old: Mapping[str, Any], fates: Sequence[Fate], facts: Mapping[str, str]) -> dict[str, Any]:
    """The report `old` with the rows of the swept puzzles put in place of theirs.

    A row that was made elsewhere than most says where, in an ``environment`` of its own.
    """
    new = report_of(kind, fates, facts)
    usual = old["environment"]
    rows = {table["puzzle"]: table for table in new["puzzles"]}
    if usual != new["environment"]:
        rows = {name: {**table, "environment": new["environment"]} for name, table in rows.items()}
    both = {**{table["puzzle"]: table for table in old["puzzles"]}, **rows}
    return {**new, "environment": usual, "puzzles": [both[puzzle.name] for puzzle in LADDER if puzzle.name in both]}


def survivors(kind: str) -> list[dict[str, str]]:
    """The mutants of this kind that survive: ``mutant`` and what ``differs``."""
    return [entry for table in tables(kind) for entry in table["survived"]]


# ------------------------------------------------------------------------------------------------------------- reasons


@dataclass(frozen=True)
class Reason:
    """Why some mutants may pass."""

    title: str
    because: str
    mutants: tuple[str, ...] = ()


def reasons() -> list[Reason]:
    """The explanations of `survivors.toml`."""
    data = tomllib.loads(SURVIVORS.read_text("utf-8"))
    return [Reason(r["title"], " ".join(r["because"].split()), tuple(r.get("mutants", ()))) for r in data["reason"]]


def explained(kind: str) -> Iterator[tuple[Reason | None, dict[str, str]]]:
    """Every survivor with its reason."""
    known = reasons()
    for entry in survivors(kind):
        yield next((reason for reason in known if entry["mutant"] in reason.mutants), None), entry
