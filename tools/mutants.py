"""Judges every wrong kernel of the course and every mutant of the solutions, and writes `docs/mutants.md`.

There are four kinds: the `bank` of wrong kernels, the `mechanical` and the `semantic` mutants (`mutate.py`), and the `guarded` wrong
kernels (`guarded.py`). What was found goes to `reports/mutants-cpu.json` (the bank) and `reports/mutants-<kind>.json`; the page is made
from these, from `reports/mutants-gpu.json` where it is there (`python -m checker mutants --device cuda --json reports/mutants-gpu.json`
writes it on a machine with a GPU), and from the explanations in `tools/survivors.toml`.

    python tools/mutants.py --guarded --puzzle row_softmax      one kind, one puzzle; what else the reports hold stays
    python tools/mutants.py --guarded --sample 5                a quick look at a few of each puzzle; nothing is written
    python tools/mutants.py --page                              nothing is judged, only the page is made anew

A sweep of mechanical or semantic mutants made before is taken over:

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.misconceptions import bank  # noqa: E402
from checker.puzzle import Puzzle  # noqa: E402
from checker.verbs.mutants import rows_of  # noqa: E402
from tools import guarded, mutate  # noqa: E402
from tools.mutant_page import PAGE, page  # noqa: E402
from tools.mutant_reports import (  # noqa: E402
    CPU,
    KINDS,
    SURVIVORS,
    disagreements,
    explained,
    load,
    merged,
    path_of,
    write,
)
from tools.mutate import Fate  # noqa: E402

SORTS = ("bank", *KINDS)


def sweep(kind: str, puzzles: Sequence[Puzzle], jobs: int, sample: int = 0) -> Iterator[list[Fate]]:
    """The fates of each puzzle's mutants of this kind, or of a few of them."""
    if kind == "guarded":
        yield from guarded.sweep(puzzles, jobs, sample)
    else:
        yield from (mutate.sweep([puzzle], jobs, kind == "semantic", sample) for puzzle in puzzles)


def look(kinds: Sequence[str], puzzles: Sequence[Puzzle], jobs: int, sample: int) -> None:
    """Judge a few mutants, print what became of them, and the survivors by their kind, the most first."""
    for kind in kinds:
        for puzzle, fates in zip(puzzles, sweep(kind, puzzles, jobs, sample), strict=True):
            print(f"{puzzle.name}, {kind}: {mutate.summary(fates)}")
            tried, alive = Counter(f.kind for f in fates), [f for f in fates if f.outcome == "survived"]
            for name, count in Counter(f.kind for f in alive).most_common():
                example = next(f for f in alive if f.kind == name)
                print(f"    {count} of {tried[name]}: {name}, as {example.key}: {example.differs}", flush=True)


def renew(kind: str, puzzles: Sequence[Puzzle], jobs: int) -> None:
    """Judge all mutants of these puzzles and write their rows of the report, puzzle by puzzle."""
    path = path_of(kind)
    anew = len(puzzles) == len(LADDER) or not path.exists()
    report = {"environment": _environment(), "puzzles": []} if anew else load(path)
    for fates in sweep(kind, puzzles, jobs):
        report = merged(kind, report, fates, _environment())
        write(kind, report)
        print(f"{fates[0].puzzle}, {kind}: {mutate.summary(fates)}", flush=True)


def take_over(files: Sequence[str]) -> None:
    """Put sweeps that `mutate.py` wrote into the reports. Raises ValueError where they are of other mutants than are made now."""
    for file in files:
        fates = [Fate(**fate) for fate in json.loads(Path(file).read_text("utf-8"))]
        keys = {f.key for f in fates}
        names = {f.puzzle for f in fates}
        for kind, made in (("mechanical", mutate.generated), ("semantic", mutate.semantic_mutants)):
            if keys == {m.key for name in names for m in made(PUZZLES[name])}:
                write(kind, merged(kind, load(path_of(kind)), fates, _environment()))
                break
        else:
            of = ", ".join(sorted(names))
            raise ValueError(f"{file}: these are not the mutants of {of} as they are now: sweep again")


def judge_bank(puzzles: Sequence[Puzzle]) -> int:
    """Judge the wrong kernels of these puzzles and keep those of all others as the report has them; the command's status."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutants.json"
        command = [sys.executable, "-m", "checker", "mutants", "--device", "cpu", "--json", str(path)]
        command += [f"--puzzle={puzzle.name}" for puzzle in puzzles]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status not in (0, 1):
            raise SystemExit(status)  # what went wrong stands on stderr already
        new = load(path)
    report = load(CPU) if len(puzzles) < len(LADDER) else new
    tables = {table["puzzle"]: table for table in (*report["puzzles"], *new["puzzles"])}
    report["puzzles"] = [tables[puzzle.name] for puzzle in LADDER if puzzle.name in tables]
    CPU.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return status


def problems() -> Iterator[str]:
    """What nobody has explained."""
    rows = rows_of(load(CPU))
    held = {row.puzzle for row in rows}
    yield from (f"survives: {row.puzzle}/{row.name}" for row in rows if not row.by_the_right_gate)
    for puzzle in LADDER:
        if bank(puzzle.name) and puzzle.name not in held:
            yield f"no wrong kernels of {puzzle.name} in {CPU.name}: tools/mutants.py --puzzle {puzzle.name}"
    for kind in KINDS:
        for reason, entry in explained(kind):
            if reason is None:
                yield f"survives, unexplained: {entry['mutant']}: kill it with a case in checker/course/, or put it below its reason in tools/{SURVIVORS.name}"
    yield from (f"CPU and GPU disagree: {what}" for what in disagreements())


def _environment() -> Mapping[str, str]:
    from checker.verbs.result_json import environment

    return environment("cpu", "none")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--page", action="store_true", help="judge nothing, only make the page from the reports")
    for sort in SORTS:
        said = f"judge the {sort} (default: all four sorts)"
        add(f"--{sort}", action="append_const", dest="sorts", const=sort, help=said)
    names = [p.name for p in LADDER]
    add("--puzzle", action="append", default=[], choices=names, help="only of this puzzle; may be repeated")
    add("--sample", type=int, default=0, metavar="N", help="judge N of each puzzle and write nothing")
    merge = "judge nothing, take over what tools/mutate.py --json wrote to FILE; may be repeated"
    add("--merge", action="append", default=[], metavar="FILE", help=merge)
    add("--jobs", type=int, default=os.cpu_count() or 1, help="mutants judged at a time")
    return parser


def main() -> int:
    options = _parser().parse_args()
    sorts = options.sorts or SORTS
    puzzles = [puzzle for puzzle in LADDER if not options.puzzle or puzzle.name in options.puzzle]
    if options.sample:
        look([sort for sort in sorts if sort in KINDS], puzzles, options.jobs, options.sample)
        return 0
    status = 0
    try:
        if options.merge:
            take_over(options.merge)
        elif not options.page:
            status = judge_bank(puzzles) if "bank" in sorts else 0
            for kind in (sort for sort in sorts if sort in KINDS):
                renew(kind, puzzles, options.jobs)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    PAGE.write_text(page(), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    found = list(problems())
    for problem in found:
        print(problem, file=sys.stderr)
    return status or int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
