"""`docs/mutants.md`, made from the reports in `reports/` and the explanations in `tools/survivors.toml`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from checker.course import LADDER
from checker.verbs.mutants import markdown, rows_of
from tools.mutant_reports import (
    GPU,
    KINDS,
    ROOT,
    SURVIVORS_GPU,
    disagreements,
    explained,
    load,
    reasons,
    survivors,
    wrong_kernels,
)
from tools.mutant_reports import tables as tables_of
from tools.mutate import GATES

PAGE = ROOT / "docs" / "mutants.md"
MOST = 40
"""Survivors that the page names where nobody has explained them; the report has the others."""
Table = Mapping[str, Any]


def page() -> str:
    """`docs/mutants.md`, made from the reports alone."""
    text = markdown(wrong_kernels(), LADDER, "cpu")
    parts = [text.rstrip("\n"), *_gpu(), *_mechanical(), *_semantic(), *_guarded(), *_survivors_on_a_gpu()]
    return "\n\n".join(parts) + "\n"


def _gpu() -> Iterator[str]:
    yield "## The same kernels on a GPU"
    if not GPU.exists():
        yield "No report of a GPU is here yet: `python -m checker mutants --device cuda --json reports/mutants-gpu.json` writes it."
        return
    report = load(GPU)
    rows = rows_of(report)
    shown = Counter((row.gpu or "").split(":")[0] for row in rows)
    facts = report.get("environment", {})
    yield f"""{len(rows)} were launched by themselves on a GPU ({_device(facts)}, torch {facts.get("torch", "?")}, triton {facts.get("triton", "?")}), whatever
the simulator had said of them: every small case with two poisons in the outputs and a guard band around every tensor.
What `memory` and `traffic` catch may leave no trace there. Everything else must show."""
    yield _table("on the GPU", ["wrong kernels"], {what: [count] for what, count in shown.most_common()})
    wrong = disagreements()
    yield "CPU and GPU agree on every one." if not wrong else "They disagree: " + "; ".join(wrong) + "."


def _mechanical() -> Iterator[str]:
    tables = tables_of("mechanical")
    made, counts = _totals(tables)
    yield "## Slips of the hand"
    yield f"""`tools/mutations.py` makes {made:,} small changes to the solutions, one at a time: another operator, constant, name, index or
bound, a mask or a line less. Each goes through the gates on the CPU (compiled for one GPU before it runs, for every dtype after).
{counts["killed"]:,} are killed. {counts["equivalent"]} are equivalent: outputs (but for rounding) and accesses are those of the solution on every case
and on 16 more, drawn at random. {counts["survived"]} pass although they behave differently; the reasons are given below, and
`tools/survivors.toml` lists them. `reports/mutants-mechanical.json` has every one by name."""
    yield from _missing(tables)
    outcomes = ("equivalent", "survived")
    rows = {
        t["puzzle"]: [t["made"], *(t["killed"][gate] for gate in GATES), *(t["outcomes"][o] for o in outcomes)]
        for t in tables
    }
    yield _table("puzzle", ["mutants", *(f"`{gate}`" for gate in GATES), *map(_called, outcomes)], rows)
    yield from _by_kind(tables, "change", ("killed", *outcomes))
    yield from _survivors("mechanical")


def _semantic() -> Iterator[str]:
    tables = tables_of("semantic")
    made, counts = _totals(tables)
    yield "## Changes that an expert might make"
    yield f"""`tools/semantic.py` makes {made:,} changes to single lines of the solutions: a value, a factor or an operand in a narrower type, an
index of fewer bits, a clamp, an epsilon, a guard common to the tile, a parameter left out for what it usually equals, a loop that ends
after some turns, a path for full tiles that other tiles take, too. {counts["killed"]:,} are killed, {counts["equivalent"]} are equivalent, {counts["tolerated"]} differ within the
tolerance and fail on no drawn case either. {counts["survived"]} pass although they fail on a drawn case."""
    yield from _missing(tables)
    outcomes = ("killed", "equivalent", "tolerated", "survived")
    yield from _by_puzzle(tables, outcomes)
    yield from _by_kind(tables, "change", outcomes)
    yield from _survivors("semantic")


def _guarded() -> Iterator[str]:
    tables = tables_of("guarded")
    made, counts = _totals(tables)
    yield "## Wrong only where a guard holds"
    yield f"""`tools/guarded.py` joins every wrong kernel with the solution, {made:,} times: right in general, wrong only where a guard of the
course (`checker/course/guards.py`) holds. A guard asks about a size, a remainder, a dtype, a layout, a program, a flag, two of these, or,
in the turns of a loop, about the current chunk. Equivalent are those that fail on no drawn case in which the guard holds either.
{counts["killed"]:,} are killed, {counts["equivalent"]:,} are equivalent, {counts["survived"]:,} survive: each is a case that is missing."""
    yield from _missing(tables)
    outcomes = ("killed", "equivalent", "survived")
    yield from _by_puzzle(tables, outcomes)
    yield from _by_kind(tables, "guard", outcomes, "survived")
    yield from _survivors("guarded")


def _survivors_on_a_gpu() -> Iterator[str]:
    report = load(SURVIVORS_GPU)
    names = {entry["mutant"] for kind in KINDS for entry in survivors(kind)}
    rows = {row["mutant"]: row for row in report["rows"] if row["mutant"] in names}
    different = [row for row in rows.values() if row["status"] != "passed"]
    since = sum(row["status"] != "passed" for row in report["rows"]) - len(different)
    facts = report["environment"]
    some = "One does" if len(different) == 1 else f"{len(different)} do"
    yield "## What survives, on a GPU"
    yield f"""`tools/survivors_on_gpu.py` judges on a GPU what passes without one ({_device(facts)}, triton {facts["triton"]}). Of {len(report["rows"])}
kernels {since} did not pass there and are stopped without a GPU since, most by cases that were added for them. {len(rows)} of the
{len(names)} that survive today were judged, and {len(rows) - len(different)} pass there too. {some} not, because the guard's second form does not compile there:"""
    yield "\n".join(f"- `{row['mutant']}`: {_why(row['message'])}" for row in different)


def _device(facts: Mapping[str, str]) -> str:
    return facts.get("device", "a GPU").removeprefix("cuda (").removesuffix(")")


def _why(message: str) -> str:
    """What the card said, without what a compiler wrote behind a file's name."""
    return re.sub(r": \w+\.py:.*|, and .*|\. .*", "", message).removesuffix(".") + "."


# --------------------------------------------------------------------------------------------------------------- tables


def _table(what: str, columns: Sequence[str], rows: Mapping[str, Sequence[int]]) -> str:
    """Numbers by name, in Markdown."""
    lines = [f"| {what} | {' | '.join(columns)} |", "|---|" + "--:|" * len(columns)]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(map(str, numbers))} |" for name, numbers in rows.items())])


def _totals(tables: Sequence[Table]) -> tuple[int, Counter[str]]:
    counts = Counter[str]()
    for t in tables:
        counts.update(t["outcomes"])
    return sum(t["made"] for t in tables), counts


def _missing(tables: Sequence[Table]) -> Iterator[str]:
    missing = [puzzle.name for puzzle in LADDER if puzzle.name not in {t["puzzle"] for t in tables}]
    if missing:
        yield f"**Not swept yet:** {', '.join(missing)}."


def _by_puzzle(tables: Sequence[Table], outcomes: Sequence[str]) -> Iterator[str]:
    if tables:
        rows = {t["puzzle"]: [t["made"], *(t["outcomes"][o] for o in outcomes)] for t in tables}
        yield _table("puzzle", ["tried", *map(_called, outcomes)], rows)


def _by_kind(tables: Sequence[Table], what: str, outcomes: Sequence[str], only: str = "") -> Iterator[str]:
    """Counts of every kind of mutant; with `only` of those kinds that have this outcome, the most first."""
    kinds = {kind: Counter[str]() for kind in sorted({kind for t in tables for kind in t["kinds"]})}
    for t in tables:
        for kind, counts in t["kinds"].items():
            kinds[kind].update(counts)
    shown = sorted((kind for kind in kinds if kinds[kind][only]), key=lambda k: -kinds[k][only]) if only else kinds
    if shown:
        rows = {kind: [kinds[kind][outcome] for outcome in outcomes] for kind in shown}
        yield _table(what, [*map(_called, outcomes)], rows)


def _called(outcome: str) -> str:
    return "survive" if outcome == "survived" else outcome


def _survivors(kind: str) -> Iterator[str]:
    """The survivors of this kind: how many has each reason, and by name those that have none."""
    found = list(explained(kind))
    if not found:
        return
    yield "### Those that survive"
    for reason in reasons():
        if count := sum(known == reason for known, _ in found):
            yield f"**{reason.title}** ({count}). {reason.because}"
    if left := [entry for known, entry in found if known is None]:
        more = f", of which these are the first {MOST}" if len(left) > MOST else ""
        yield f"**Not explained** ({len(left)}{more})."
        yield "\n".join(f"- {_mutant(entry)}: {entry['differs']}" for entry in left[:MOST])


def _mutant(entry: Mapping[str, str]) -> str:
    puzzle, _, change = entry["mutant"].partition(": ")
    before, arrow, after = change.partition(" → ")
    return f"{puzzle}: `{before}` → `{after}`" if arrow else f"{puzzle}: {change}"
