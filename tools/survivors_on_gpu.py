"""Judges on a GPU every mutant and guarded wrong kernel that passes without one, and writes `reports/survivors-gpu.json`.

What the simulator's gates stop never reaches a GPU, so these are all kernels on which the two verdicts can differ. Run it on a
machine with a GPU, after the sweeps of `mutants.py`; `--resume` judges only what the report does not hold yet:

    python tools/survivors_on_gpu.py --jobs 14

Exits 1 where the GPU fails a kernel that passes without it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.checking import check_source  # noqa: E402
from checker.course import PUZZLES  # noqa: E402
from checker.misconceptions import bank  # noqa: E402
from checker.sandbox import Sandbox  # noqa: E402
from checker.submission.kernel import KernelSource  # noqa: E402
from checker.verbs.result_json import environment  # noqa: E402
from tools import guarded, mutate  # noqa: E402
from tools.mutant_reports import KINDS, SURVIVORS_GPU, load, survivors  # noqa: E402

_FOLDER = re.compile(r"/\S*/(?=\w+\.py)")
"""The folders of a file in a compiler's message."""


def kernels() -> Iterator[tuple[str, str, KernelSource]]:
    """Kind, name and source of every survivor. Raises KeyError for one that is not made any more: sweep again."""
    for kind in KINDS:
        for entry in survivors(kind):
            yield kind, entry["mutant"], _source(kind, entry["mutant"])


def _source(kind: str, key: str) -> KernelSource:
    puzzle = PUZZLES[key.partition(":")[0]]
    if kind != "guarded":
        return mutate.source_of(puzzle, _made(kind, puzzle.name)[key])
    name, _, condition = key.removeprefix(f"{puzzle.name}: ").partition(" if ")
    wrong = {misconception.name: misconception for misconception in bank(puzzle.name)}[name]
    guard = {guard.name: guard for guard in _guards(puzzle.name)}[condition]
    joined = guarded.joined(puzzle, wrong.source, guard)
    if joined is None:
        raise KeyError(key)
    return joined


@cache
def _made(kind: str, puzzle: str) -> dict[str, str]:
    """The source of every mutant of a puzzle, by its key."""
    made = mutate.generated if kind == "mechanical" else mutate.semantic_mutants
    return {mutation.key: mutation.source for mutation in made(PUZZLES[puzzle])}


@cache
def _guards(puzzle: str) -> list[guarded.Guard]:
    return list(guarded.guards(PUZZLES[puzzle]))


def judge(kind: str, key: str, source: KernelSource) -> dict[str, Any]:
    """One row of the report."""
    verdict = check_source(PUZZLES[key.partition(":")[0]], source, "cuda", submission=key, diagnose=False)
    failure = verdict.failure
    row = {"kind": kind, "mutant": key, "status": verdict.status, "seconds": round(verdict.seconds, 2)}
    return {**row, "gate": failure.gate, "message": _FOLDER.sub("", failure.message)} if failure is not None else row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="kernels judged at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no kernel later than this")
    parser.add_argument("--resume", action="store_true", help="keep what the report holds, and judge the rest")
    options = parser.parse_args()
    began = time.monotonic()
    mutants = list(kernels())
    before: dict[str, Any] = {"rows": [], "seconds": 0}
    if options.resume and SURVIVORS_GPU.exists():
        before = load(SURVIVORS_GPU)
    wanted = {key for _, key, _ in mutants}
    rows: list[dict[str, Any]] = [row for row in before["rows"] if row["mutant"] in wanted]
    known = {row["mutant"] for row in rows}

    def in_time(one: tuple[str, str, KernelSource]) -> dict[str, Any] | None:
        return judge(*one) if time.monotonic() - began < options.seconds else None

    with ThreadPoolExecutor(options.jobs) as pool:
        rows += [row for row in pool.map(in_time, [one for one in mutants if one[1] not in known]) if row is not None]
    seconds = before["seconds"] + time.monotonic() - began
    report = {
        "schema": "survivors/v1",
        "environment": environment("cuda", Sandbox.shared().tier),
        "seconds": round(seconds),
        "asked": len(mutants),
        "rows": rows,
    }
    SURVIVORS_GPU.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    different = [row for row in rows if row["status"] != "passed"]
    for row in different:
        print(f"{row['status']}: {row['mutant']}: {row.get('gate')}: {row.get('message', '')[:200]}")
    print(
        f"{len(rows)} of {len(mutants)} survivors judged on the GPU in {seconds:.0f} s; {len(different)} do not pass there"
    )
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
