"""Films of real kernels, simulated at the film's own case."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checker.course import PUZZLES, attention_values, families
from checker.films.film_data import FilmData, film_data
from checker.films.flaws import Flaws, WrongOutput
from checker.films.page import film_html
from checker.misconceptions import bank
from checker.puzzle import NORMAL, Case, Family, Puzzle
from checker.simulator import simulate
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel
from tests.judge.helpers import solution


@dataclass
class Shot:
    """One simulated run, and everything its film is made from."""

    puzzle: Puzzle
    case: Case
    source: KernelSource
    trace: Trace
    values: dict[str, torch.Tensor]
    flaws: Flaws | None = None

    @property
    def html(self) -> str:
        budget = self.puzzle.budget(self.case)
        return film_html(
            self.trace, self.puzzle, self.source, case=self.case, budget=budget, values=self.values, flaws=self.flaws
        )

    @cached_property
    def film(self) -> FilmData:
        return film_data(self.trace, self.puzzle, self.source, self.case, self.values, self.flaws)


def wrong(name: str, misconception: str) -> KernelSource:
    return next(m.source for m in bank(name) if m.name == misconception)


def edited(name: str, *edits: tuple[str, str]) -> KernelSource:
    source = solution(name)
    for old, new in edits:
        assert old in source.source, old
        source = replace(source, source=source.source.replace(old, new))
    return source


def families_of(name: str) -> dict[str, Family]:
    """The families of values of an attention or a softmax puzzle, by name."""
    every = attention_values.FAMILIES if "attention" in name else families.FAMILIES
    return {family.name: family for family in (NORMAL, *every)}


def shoot(name: str, source: KernelSource, tmp: Path, **changes: Any) -> Shot:
    """Run a kernel at the film's case, with `changes` to the case."""
    puzzle = PUZZLES[name]
    if "family" in changes:
        changes["family"] = families_of(name)[changes["family"]]
    case = replace(puzzle.film.case, **changes)
    tensors = puzzle.make(case)
    for output in puzzle.outputs:
        tensors[output].fill_(torch.nan)
    launch = puzzle.launch(case, tensors, case.meta)
    trace = simulate(load_kernel(source, tmp), launch, SimulateOptions(events=True, state=True))
    return Shot(puzzle, case, source, trace, tensors)


def solved(name: str, tmp: Path, source: KernelSource | None = None, **sizes: int) -> Shot:
    """The solution, or another kernel, at the film's case with some `sizes` changed."""
    case = PUZZLES[name].film.case
    return shoot(name, source or solution(name), tmp, sizes={**case.sizes, **sizes})


def flaws_of(shot: Shot) -> Flaws:
    """Every element that is off by a hundredth, against the puzzle's reference."""
    inputs = {name: t.double() for name, t in shot.puzzle.make(shot.case).items()}
    outputs = {}
    for name, expected in shot.puzzle.reference(shot.case, inputs).items():
        want, got = expected.double().numpy(), shot.values[name].double().numpy()
        outputs[name] = WrongOutput(~(np.abs(got - want) <= 1e-2 * np.abs(want)), want, got)
    return Flaws("This kernel does not pass.", outputs)


def serious(page: Any, axe: str) -> list[tuple[str, str, str]]:
    """What axe-core calls serious or critical: the rule, where, and why."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document.body, { resultTypes: ['violations'] }).then((r) => r.violations)")
    bad = (v for v in found if v["impact"] in ("serious", "critical"))
    return [(v["id"], v["nodes"][0]["html"][:160], v["nodes"][0]["failureSummary"]) for v in bad]
