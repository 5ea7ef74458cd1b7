"""How good is the judge? `python -m tools.mutants --help`, and README.md next to this file."""

from __future__ import annotations

import os
import random
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from checker.puzzle import Puzzle
from tools.mutants import report
from tools.mutants.false_alarms import judged, right_kernels
from tools.mutants.guarded import guarded
from tools.mutants.judging import judge_all, mechanical, wrong_kernel
from tools.mutants.mechanical import mutants


class Kind(StrEnum):
    bank = "bank"
    mechanical = "mechanical"
    guarded = "guarded"
    right = "right"


def tables(kind: str, puzzle: Puzzle, jobs: int, sample: int, seeds: int) -> dict[str, Any]:
    """Judge a puzzle's mutants of one kind, or `sample` of them, and sum up what became of them."""

    def some(tasks: list[Any]) -> list[Any]:
        return random.Random(puzzle.name).sample(tasks, min(sample, len(tasks))) if sample else tasks

    wrong = [(puzzle.name, misconception.name) for misconception in bank(puzzle.name)]
    if kind == "bank":
        rows = list(judge_all(wrong_kernel, some(wrong), jobs))
        return report.table_of_fates([fate for fate, _ in rows], sum(named for _, named in rows))
    if kind == "mechanical":
        return report.table_of_fates(list(judge_all(mechanical, some(mutants(puzzle)), jobs)))
    if kind == "guarded":
        return report.table_of_fates([fate for fates in judge_all(guarded, some(wrong), jobs) for fate in fates])
    kernels = some([(puzzle.name, kernel, seed) for kernel in right_kernels(puzzle.name) for seed in range(seeds)])
    return report.table_of_right_kernels(list(judge_all(judged, kernels, jobs)))


def main(
    kinds: Annotated[list[Kind] | None, typer.Argument(help="what to judge; everything by default")] = None,
    puzzle: Annotated[list[str] | None, typer.Option(help="only this puzzle; may be repeated")] = None,
    sample: Annotated[int, typer.Option(help="judge so many of each kind and puzzle, and write nothing")] = 0,
    seeds: Annotated[int, typer.Option(help="so many seeds for right kernels")] = 10,
    jobs: Annotated[int, typer.Option(help="mutants judged at a time")] = os.cpu_count() or 1,
    page: Annotated[bool, typer.Option("--page", help="judge nothing; make docs/mutants.md from the report")] = False,
    check: Annotated[bool, typer.Option("--check", help="judge nothing; fail if the page or report is stale")] = False,
) -> None:
    """Judge mutants of the solutions and write reports/mutants.json and docs/mutants.md. Everything takes hours.

    Exits with 1 if a mutant survives that survivors.toml does not explain, or a right kernel is refused.
    """
    if unknown := {*(puzzle or ())} - PUZZLES.keys():
        raise typer.BadParameter(f"there is no puzzle {', '.join(unknown)}")
    puzzles = [one for one in LADDER if not puzzle or one.name in puzzle]
    for kind in [] if page or check else kinds or list(Kind):
        for one in puzzles:
            table = tables(kind, one, jobs, sample, seeds)
            counts = ", ".join(f"{count} {what}" for what, count in table.items() if what != "survivors")
            print(f"{one.name}, {kind}: {counts}", flush=True)
            print("".join(f"    {mutant}: {differs}\n" for mutant, differs in table["survivors"].items()), end="")
            if not sample:
                report.put(kind, one.name, table)
    if sample:
        return
    problems = list(report.problems())
    if check:
        problems += (
            ["docs/mutants.md: make mutants ARGS=--page"] if report.PAGE.read_text("utf-8") != report.page() else []
        )
    else:
        report.PAGE.write_text(report.page(), "utf-8")
    print(*problems, sep="\n", file=sys.stderr)
    raise typer.Exit(bool(problems))


if __name__ == "__main__":
    typer.run(main)
