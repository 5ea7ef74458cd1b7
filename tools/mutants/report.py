"""`reports/mutants.json`: how many mutants were tried, which survive and why; and `docs/mutants.md`, made from it."""

from __future__ import annotations

import json
import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from checker.course import LADDER
from checker.misconceptions import bank
from tools.mutants.false_alarms import Judged
from tools.mutants.judging import Fate

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REPORT = ROOT / "reports" / "mutants.json"
PAGE = ROOT / "docs" / "mutants.md"
KINDS = ("bank", "mechanical", "guarded", "right")
OUTCOMES = ("killed", "equivalent", "survived")


@dataclass(frozen=True)
class Reason:
    """Why some mutants may survive."""

    title: str
    because: str
    mutants: tuple[str, ...]


def reasons() -> list[Reason]:
    """The explanations in `survivors.toml`."""
    data = tomllib.loads((HERE / "survivors.toml").read_text("utf-8"))
    return [Reason(r["title"], " ".join(r["because"].split()), tuple(r["mutants"])) for r in data["reason"]]


def load() -> Any:
    return json.loads(REPORT.read_text("utf-8"))


def table_of_fates(fates: Sequence[Fate], named: int | None = None) -> dict[str, Any]:
    """A puzzle's part of the report: how many mutants had each outcome, and the survivors with how they differ."""
    counts = {outcome: sum(fate.outcome == outcome for fate in fates) for outcome in OUTCOMES}
    survivors = {fate.mutant: fate.differs for fate in fates if fate.outcome == "survived"}
    return {"tried": len(fates), **counts, **({"named": named} if named is not None else {}), "survivors": survivors}


def table_of_right_kernels(judged: Sequence[Judged]) -> dict[str, Any]:
    refused = {f"{one.kernel}, seed {one.seed}": one.refused for one in judged if one.refused}
    worst = round(max(one.worst for one in judged), 3)
    return {"tried": len(judged), "refused": len(refused), "worst": worst, "survivors": refused}


def put(kind: str, puzzle: str, table: Mapping[str, Any]) -> None:
    """Replace one puzzle's part of the report."""
    report = load()
    environment = {
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "triton", "numpy")},
    }
    tables = {**report["kinds"].get(kind, {"puzzles": {}})["puzzles"], puzzle: table}
    ordered = {one.name: tables[one.name] for one in LADDER if one.name in tables}
    report["kinds"][kind] = {"environment": environment, "puzzles": ordered}
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


def survivors() -> dict[str, str]:
    """Every survivor, and how it differs from a right kernel."""
    tables = (table for kind in load()["kinds"].values() for table in kind["puzzles"].values())
    return {mutant: differs for table in tables for mutant, differs in table["survivors"].items()}


def total(kind: str) -> dict[str, int | float]:
    """The counts of all puzzles together; the worst of `worst`."""
    tables = load()["kinds"].get(kind, {"puzzles": {}})["puzzles"].values()
    names = {name for table in tables for name in table if name != "survivors"}
    return {name: (max if name == "worst" else sum)(table[name] for table in tables) for name in names}


def problems() -> Iterator[str]:
    """What is missing from the report, and what survives without an explanation."""
    tables = load()["kinds"]
    explained = [mutant for reason in reasons() for mutant in reason.mutants]
    alive = survivors()
    yield from (
        f"survives, and nobody has said why: {mutant}: {alive[mutant]}" for mutant in alive if mutant not in explained
    )
    yield from (f"explained, but does not survive: {mutant}" for mutant in explained if mutant not in alive)
    for puzzle in LADDER:
        missing = [kind for kind in ("bank", "mechanical", "guarded") if puzzle.name not in tables[kind]["puzzles"]]
        yield from (f"never tried: the {kind} mutants of {puzzle.name}" for kind in missing)
        if "bank" not in missing and tables["bank"]["puzzles"][puzzle.name]["tried"] != len(bank(puzzle.name)):
            yield f"the bank of {puzzle.name} has changed since it was tried"


def page() -> str:
    """`docs/mutants.md`."""
    templates = Environment(loader=FileSystemLoader(HERE), undefined=StrictUndefined, keep_trailing_newline=True)
    alive = survivors()
    explained = [(reason, sum(mutant in alive for mutant in reason.mutants)) for reason in reasons()]
    counts = {kind: total(kind) for kind in KINDS}
    report = load()
    return templates.get_template("page.md").render(
        counts=counts, reasons=explained, gpu=report["gpu"], blind=report["blind"]
    )
