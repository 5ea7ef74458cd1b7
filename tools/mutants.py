"""Judges every wrong kernel of the course and every mechanical mutant of the solutions, and writes `docs/mutants.md`.

What was found goes to `reports/mutants-cpu.json` and `reports/mutants-mechanical.json`; the page is made from these, from
`reports/mutants-gpu.json` where it is there (`python -m checker mutants --device cuda --json reports/mutants-gpu.json` writes it
on a machine with a GPU), and from the explanations in `tools/survivors.toml`. With `--page` only the page is made anew, with
`--puzzle` only the wrong kernels and mutants of that puzzle are judged, with `--merge` none but those of a sweep made before:

    python tools/mutate.py --puzzle flash_attention --json swept.json
    python tools/mutants.py --merge swept.json

Exits 1 where a wrong kernel survives, where a mutant survives that nobody has explained, or where CPU and GPU disagree.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.grading.mutants import Row, markdown, rows_of  # noqa: E402
from checker.misconceptions import bank  # noqa: E402
from tools.mutate import GATES, SWEPT, Fate, generated, sweep  # noqa: E402

PAGE = ROOT / "docs" / "mutants.md"
CPU, GPU, MECHANICAL = (ROOT / "reports" / f"mutants-{name}.json" for name in ("cpu", "gpu", "mechanical"))
SURVIVORS = ROOT / "tools" / "survivors.toml"


# -------------------------------------------------------------------------------------------------------------- reports


def load(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def wrong_kernels() -> list[Row]:
    """The kill table of the CPU, with what the GPU showed beside it where there is a report of one."""
    rows = rows_of(load(CPU))
    if not GPU.exists():
        return rows
    seen = {(row.puzzle, row.name): row.gpu for row in rows_of(load(GPU))}
    return [replace(row, gpu=seen.get((row.puzzle, row.name))) for row in rows]


def disagreements() -> list[str]:
    """Where the report of the GPU says something else than that of the CPU. A kernel that it has no row for is pending."""
    if not GPU.exists():
        return []
    on_gpu = {(row.puzzle, row.name): row for row in rows_of(load(GPU))}
    found = []
    for row in rows_of(load(CPU)):
        name = f"{row.puzzle}/{row.name}"
        there = on_gpu.get((row.puzzle, row.name))
        if there is None:
            continue
        if there.gpu is None:
            found.append(f"{name}: not launched on the GPU")
        elif there.gate != row.gate:
            found.append(f"{name}: stopped by {there.gate} on the machine with a GPU, by {row.gate} without")
        elif not there.agrees:
            found.append(f"{name}: stopped by {row.gate}, but {there.gpu} on the GPU")
    return found


@dataclass(frozen=True)
class Reason:
    """Why some mutants may pass."""

    title: str
    because: str
    mutants: tuple[str, ...]


def reasons() -> list[Reason]:
    """The explanations of `survivors.toml`."""
    data = tomllib.loads(SURVIVORS.read_text("utf-8"))
    return [Reason(r["title"], " ".join(r["because"].split()), tuple(r["mutants"])) for r in data["reason"]]


def unexplained(report: Mapping[str, Any]) -> list[str]:
    """Survivors without a reason."""
    explained = {key for reason in reasons() for key in reason.mutants}
    return [s["mutant"] for table in report["puzzles"] for s in table["survived"] if s["mutant"] not in explained]


def mechanical_report(fates: Sequence[Fate], facts: Mapping[str, str]) -> dict[str, Any]:
    """`mechanical/v1`: per puzzle how many were made and what became of them; those that pass by name."""
    puzzles = []
    for puzzle in SWEPT:
        mine = [f for f in fates if f.puzzle == puzzle.name]
        if not mine:
            continue
        killed = Counter(f.by for f in mine if f.outcome == "killed")
        kinds = {k: Counter(f.outcome for f in mine if f.kind == k) for k in sorted({f.kind for f in mine})}
        puzzles.append(
            {
                "puzzle": puzzle.name,
                "made": len(mine),
                "killed": {gate: killed[gate] for gate in GATES},
                "kinds": {k: {o: c[o] for o in ("killed", "equivalent", "survived")} for k, c in kinds.items()},
                "equivalent": [{"mutant": f.key} for f in mine if f.outcome == "equivalent"],
                "survived": [{"mutant": f.key, "differs": f.differs} for f in mine if f.outcome == "survived"],
            }
        )
    return {"schema": "mechanical/v1", "environment": dict(facts), "puzzles": puzzles}


def merged(old: Mapping[str, Any], fates: Sequence[Fate], facts: Mapping[str, str]) -> dict[str, Any]:
    """The report `old` with the rows of the swept puzzles put in place of theirs.

    Raises ValueError where a puzzle was not swept whole, or elsewhere than what stays in the report: one report, one machine.
    """
    new = mechanical_report(fates, facts)
    rows = {table["puzzle"]: table for table in new["puzzles"]}
    for name in rows:
        if {f.key for f in fates if f.puzzle == name} != {m.key for m in generated(PUZZLES[name])}:
            raise ValueError(f"these are not the mutants of {name} as it is now: sweep it again")
    kept = {table["puzzle"]: table for table in old["puzzles"] if table["puzzle"] not in rows}
    if kept and old["environment"] != new["environment"]:
        raise ValueError(f"the report was made with {old['environment']}, not with {new['environment']}: sweep all")
    both = {**kept, **rows}
    return {**new, "puzzles": [both[puzzle.name] for puzzle in SWEPT if puzzle.name in both]}


# ----------------------------------------------------------------------------------------------------------------- page


def page() -> str:
    """`docs/mutants.md`, made from the reports alone."""
    text = markdown(wrong_kernels(), LADDER, "cpu")
    parts = [text.rstrip("\n"), *_gpu(), *_mechanical(load(MECHANICAL))]
    return "\n".join(parts) + "\n"


def _gpu() -> Iterator[str]:
    yield ""
    yield "## The same kernels on a GPU"
    yield ""
    if not GPU.exists():
        yield "No report of a GPU is here yet: `python -m checker mutants --device cuda --json reports/mutants-gpu.json` writes it."
        return
    report = load(GPU)
    rows = rows_of(report)
    shown = Counter((row.gpu or "").split(":")[0] for row in rows)
    facts = report.get("environment", {})
    device = facts.get("device", "a GPU").removeprefix("cuda (").removesuffix(")")
    yield f"{len(rows)} were launched by themselves on a GPU ({device}, torch {facts.get('torch', '?')}, triton {facts.get('triton', '?')}), whatever"
    yield "the simulator had said of them: every small case with two poisons in the outputs and a guard band around every tensor."
    yield "What `memory` and `traffic` catch may leave no mark there; all else has to be seen."
    yield ""
    yield "| on the GPU | wrong kernels |"
    yield "|---|--:|"
    yield from (f"| {what} | {count} |" for what, count in shown.most_common())
    wrong = disagreements()
    yield ""
    yield "CPU and GPU agree on every one." if not wrong else "They disagree: " + "; ".join(wrong) + "."


def _mechanical(report: Mapping[str, Any]) -> Iterator[str]:
    tables = report["puzzles"]
    made = sum(t["made"] for t in tables)
    killed = sum(sum(t["killed"].values()) for t in tables)
    equivalent, survived = (sum(len(t[what]) for t in tables) for what in ("equivalent", "survived"))
    yield ""
    yield "## Slips of the hand"
    yield ""
    yield f"`tools/mutations.py` makes {made:,} small changes to the solutions, one at a time: another operator, constant, name, index or"
    yield "bound, a mask or a line less. Each goes through the gates on the CPU (compiled for one GPU before it runs, for every dtype after)."
    yield f"{killed:,} are killed. {equivalent} are equivalent: outputs (but for rounding) and accesses are those of the solution on every case"
    yield f"and on 16 more, drawn at random. {survived} pass although they behave differently; why that is right stands below, and"
    yield "`tools/survivors.toml` lists them. `reports/mutants-mechanical.json` has every one by name."
    missing = [puzzle.name for puzzle in LADDER if puzzle.name not in {t["puzzle"] for t in tables}]
    if missing:
        yield ""
        yield f"**Not swept yet:** {', '.join(missing)}."
    yield ""
    yield "| puzzle | mutants | " + " | ".join(f"`{gate}`" for gate in GATES) + " | equivalent | survive |"
    yield "|---|" + "--:|" * (3 + len(GATES))
    for t in tables:
        numbers = [t["made"], *(t["killed"][gate] for gate in GATES), len(t["equivalent"]), len(t["survived"])]
        yield f"| {t['puzzle']} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "| change | killed | equivalent | survive |"
    yield "|---|--:|--:|--:|"
    for kind in sorted({kind for t in tables for kind in t["kinds"]}):
        counts = [t["kinds"].get(kind, {}) for t in tables]
        numbers = [sum(c.get(what, 0) for c in counts) for what in ("killed", "equivalent", "survived")]
        yield f"| {kind} | {' | '.join(map(str, numbers))} |"
    yield ""
    yield "### Those that survive"
    left = {s["mutant"]: s for t in tables for s in t["survived"]}
    for reason in reasons():
        mine = [left.pop(key) for key in reason.mutants if key in left]
        yield from ("", f"**{reason.title}** ({len(mine)}). {reason.because}")
    if left:
        yield from ("", f"**Not explained** ({len(left)}).", "")
        yield from (f"{_mutant(s)}: {s['differs']}" for s in left.values())


def _mutant(entry: Mapping[str, str]) -> str:
    puzzle, _, change = entry["mutant"].partition(": ")
    before, _, after = change.partition(" → ")
    return f"- {puzzle}: `{before}` → `{after}`"


# ----------------------------------------------------------------------------------------------------------------- main


def judge(jobs: int) -> int:
    """Make both reports of the CPU; the status of the command that judged the misconceptions."""
    CPU.parent.mkdir(exist_ok=True)
    status = _judge_wrong_kernels(CPU)
    _write(mechanical_report(sweep(SWEPT, jobs), _environment()))
    return status


def _judge_wrong_kernels(path: Path, puzzles: Sequence[str] = ()) -> int:
    """Write the table of these puzzles, of all where none is named, to `path`; the status of the command that does it."""
    command = [sys.executable, "-m", "checker", "mutants", "--device", "cpu", "--json", str(path)]
    status = subprocess.run([*command, *(f"--puzzle={name}" for name in puzzles)], cwd=ROOT, check=False).returncode
    if status not in (0, 1):
        raise SystemExit(status)  # what went wrong stands on stderr already
    return status


def _environment() -> Mapping[str, str]:
    from checker.grading.result_json import environment

    return environment("cpu", "none")


def _write(report: Mapping[str, Any]) -> None:
    MECHANICAL.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _renew(options: argparse.Namespace) -> int:
    """Judge what was asked for, and no more."""
    if options.page:
        return 0
    if not options.puzzle and not options.merge:
        return judge(options.jobs)
    fates = [Fate(**fate) for file in options.merge for fate in json.loads(Path(file).read_text("utf-8"))]
    fates += sweep([PUZZLES[name] for name in options.puzzle], options.jobs)
    try:
        _write(merged(load(MECHANICAL), fates, _environment()))
    except ValueError as error:
        raise SystemExit(str(error)) from error
    return _renew_wrong_kernels(options.puzzle) if options.puzzle else 0


def _renew_wrong_kernels(puzzles: Sequence[str]) -> int:
    """Judge the wrong kernels of some puzzles, and keep those of all others as the report has them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutants.json"
        status = _judge_wrong_kernels(path, puzzles)
        new = load(path)
    report = load(CPU)
    tables = {table["puzzle"]: table for table in (*report["puzzles"], *new["puzzles"])}
    report["puzzles"] = [tables[puzzle.name] for puzzle in LADDER if puzzle.name in tables]
    CPU.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/mutants.md.")
    parser.add_argument("--page", action="store_true", help="judge nothing, only make the page from the reports")
    parser.add_argument(
        "--puzzle",
        action="append",
        default=[],
        choices=[p.name for p in SWEPT],
        help="judge only the wrong kernels and mutants of this puzzle and keep the rest of the reports; may be repeated",
    )
    parser.add_argument(
        "--merge",
        action="append",
        default=[],
        metavar="FILE",
        help="judge nothing, take over what tools/mutate.py --json wrote to FILE; may be repeated",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants judged at a time")
    options = parser.parse_args()
    status = _renew(options)
    PAGE.write_text(page(), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    problems = [f"survives: {row.puzzle}/{row.name}" for row in rows_of(load(CPU)) if not row.by_the_right_gate]
    held = {row.puzzle for row in rows_of(load(CPU))}
    problems += [
        f"no wrong kernels of {puzzle.name} in {CPU.name}: tools/mutants.py --puzzle {puzzle.name}"
        for puzzle in LADDER
        if bank(puzzle.name) and puzzle.name not in held
    ]
    problems += [
        f"survives, unexplained: {key}: kill it with a case in checker/course/, or list it below its reason in tools/{SURVIVORS.name}"
        for key in unexplained(load(MECHANICAL))
    ]
    problems += [f"CPU and GPU disagree: {what}" for what in disagreements()]
    for problem in problems:
        print(problem, file=sys.stderr)
    return status or int(bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())
