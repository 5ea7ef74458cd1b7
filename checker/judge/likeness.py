"""Do two kernels behave alike? Compares outputs, findings and traffic of the same cases, never source text.

What no kernel is answerable for is left out: elements that nobody stored, and results that hang on memory nobody defined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import torch

from checker.judge.comparison import error_against
from checker.judge.memory_gate import MEMORY_KINDS, memory_findings
from checker.judge.outcome import Outcome
from checker.judge.traffic_gate import overdrawn
from checker.puzzle import Puzzle
from checker.simulator.trace import Trace

_UNDEFINED = ("undefined_lanes", "out_of_bounds_load")


ASPECTS = frozenset(
    {
        "outputs",
        "kinds",  # the same kinds of findings on the same tensors, once or many times over
        "counts",  # the same number of lanes or elements in each
        "overdrawn",  # the same tensors moved too often
        "traffic",  # the same bytes for every tensor
    }
)
"""In what two kernels may be alike."""
_EVIDENCE = {"values": {"outputs"}, "memory": {"outputs", "kinds"}, "traffic": {"outputs", "overdrawn"}}
"""In what they have to be alike for one belief to explain why both fail a gate."""


def level(alike: frozenset[str], gate: str) -> int:
    """2 for alike in everything, 1 for alike in what fails the gate, 0 for different."""
    return 2 if alike == ASPECTS else int(_EVIDENCE[gate] <= alike)


def likeness(puzzle: Puzzle, learner: Outcome, wrong: Outcome, noise: float = 0.0) -> frozenset[str]:
    """The aspects that are alike in one case. `noise` widens the comparison of values, relative to the row's magnitude."""
    if not (learner.ran and wrong.ran):
        return ASPECTS if learner.result.status == wrong.result.status else frozenset()
    mine, theirs = _findings(learner), _findings(wrong)
    same = {
        "outputs": (not noise or _errs_alike(learner, wrong))
        and all(_same_output(puzzle, learner, wrong, name, noise) for name in learner.prepared.launch.outputs),
        "kinds": {k: _bucket(n, learner) for k, n in mine.items()} == {k: _bucket(n, wrong) for k, n in theirs.items()},
        "counts": mine == theirs,
        "overdrawn": _overdrawn(puzzle, learner) == _overdrawn(puzzle, wrong),
        "traffic": _traffic(learner) == _traffic(wrong),
    }
    return frozenset(aspect for aspect, alike in same.items() if alike)


def _same_output(puzzle: Puzzle, learner: Outcome, wrong: Outcome, name: str, noise: float) -> bool:
    a, b = learner.result.tensors[name].double(), wrong.result.tensors[name].double()
    stored_a, stored_b = _stored(learner.trace, name, a), _stored(wrong.trace, name, b)
    if not torch.equal(stored_a, stored_b):
        return False
    compared = stored_a
    if _has(learner, _UNDEFINED) and _has(wrong, _UNDEFINED):
        compared = compared & ~a.isnan() & ~b.isnan()
    error = error_against(puzzle, learner.case, name, a, b)
    if noise:
        scale = puzzle.scale(learner.case, name, b).nan_to_num(posinf=0.0, neginf=0.0)
        error = torch.where((a - b).abs() <= noise * scale, torch.zeros_like(error), error)
    return not bool((error[compared] > 1).any())


def _errs_alike(learner: Outcome, wrong: Outcome) -> bool:
    """Noise of one belief is of one size: where one of the two is wrong, neither errs eight times as much as the other."""
    a, b = (o.comparison.worst if o.comparison else 0.0 for o in (learner, wrong))
    return max(a, b) <= 1 or a == b or max(a, b) < 8 * min(a, b)


def _stored(trace: Trace | None, name: str, like: torch.Tensor) -> torch.Tensor:
    writers = trace.writers.get(name) if trace else None
    if writers is None:
        return torch.ones(like.shape, dtype=torch.bool)
    return torch.from_numpy(np.asarray(writers).reshape(tuple(like.shape)) >= 0)


def _findings(outcome: Outcome) -> Mapping[tuple[str, str], int]:
    found: Counter[tuple[str, str]] = Counter()
    for finding in memory_findings(outcome):
        if finding.kind in MEMORY_KINDS:
            found[finding.kind, finding.tensor or ""] += max(finding.count, 1)
    return found


def _has(outcome: Outcome, kinds: tuple[str, ...]) -> bool:
    return any(f.kind in kinds for f in memory_findings(outcome))


def _bucket(count: int, outcome: Outcome) -> str:
    """One lane a program, or many: an index that is off by one against one that was never bounded."""
    programs = int(np.prod(outcome.trace.grid)) if outcome.trace else 1
    return "one" if count <= programs else "many"


def _overdrawn(puzzle: Puzzle, outcome: Outcome) -> set[tuple[str, str]]:
    return {(name, verb) for name, verb, _, _ in overdrawn(puzzle, outcome)}


def _traffic(outcome: Outcome) -> dict[str, tuple[int, int]]:
    return {name: (t.loaded, t.stored) for name, t in outcome.trace.traffic.items()} if outcome.trace else {}
