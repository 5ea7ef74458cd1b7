"""Do two kernels behave alike? Compares outputs, findings and traffic of the same cases, never source text.

What no kernel is answerable for is left out: elements that nobody stored, and which of two wrong values hangs on memory that
nobody defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from checker.judge.comparison import error_against
from checker.judge.memory_gate import memory_findings
from checker.judge.outcome import Outcome
from checker.puzzle import Puzzle
from checker.simulator.trace import Trace

_UNDEFINED = ("undefined_lanes", "out_of_bounds_load")
_MAKE_NAN = (*_UNDEFINED, "nan_born")
Lanes = Mapping[tuple[str, str], tuple[int, frozenset[tuple[int, ...]]]]
"""By kind and tensor: how many lanes or elements, and which the first of them are."""


def alike(puzzle: Puzzle, learner: Outcome, wrong: Outcome, gate: str, noise: float = 0.0) -> bool:
    """Whether two kernels do the same in one case, as far as `gate` looks: values, and at `memory` lanes, at `traffic` bytes.

    `noise` widens the comparison of values, relative to the row's magnitude.
    """
    if not (learner.ran and wrong.ran):
        return learner.result.status == wrong.result.status
    if gate == "memory" and _lanes(learner) != _lanes(wrong):
        return False
    if gate == "traffic":  # their values are right; in a further case both may be wrong, which says nothing about bytes
        return _traffic(learner) == _traffic(wrong) and learner.right == wrong.right
    return all(_same_values(puzzle, learner, wrong, name, noise) for name in learner.prepared.launch.outputs)


def alike_in_everything(learner: Outcome, wrong: Outcome) -> bool:
    """Of two kernels whose values are alike: whether they touch the same lanes and move the same bytes too."""
    return _lanes(learner) == _lanes(wrong) and _traffic(learner) == _traffic(wrong)


def informative(puzzle: Puzzle, outcome: Outcome) -> bool:
    """Whether wrong values say anything about their cause: NaN throughout comes of too much, NaN in some elements does not."""
    for name in outcome.prepared.launch.outputs:
        got = outcome.result.tensors[name]
        wrong = error_against(puzzle, outcome.case, name, got, outcome.prepared.expected[name]) > 1
        if bool(wrong.any()) and not bool(got.isnan().all()):
            return True
    return False


def same_origin_of_nan(a: Trace | None, b: Trace | None, outputs: Sequence[str]) -> bool:
    """Whether NaN came of the same in both: of undefined lanes, of the same operations, of what an output held before or still holds."""
    if a is None or b is None:
        return False
    came = [
        {(f.kind, f.operation if f.kind == "nan_born" else f.tensor) for f in trace.findings if f.kind in _MAKE_NAN}
        | {("held before", name) for name in outputs if name in trace.traffic and trace.traffic[name].loaded}
        | {("never stored", name) for name in outputs if name in trace.writers and (trace.writers[name] < 0).any()}
        for trace in (a, b)
    ]
    return bool(came[0]) and came[0] == came[1]


def _same_values(puzzle: Puzzle, learner: Outcome, wrong: Outcome, name: str, noise: float) -> bool:
    """Whether the same elements are stored and the same fail, with the same values.

    Of an element that is wrong, the two differ by a quarter of its error at most, since a small error says little about its cause,
    and by no more than the tolerance, or a hundredth of the error where that is larger.
    """
    a, b = learner.result.tensors[name].double(), wrong.result.tensors[name].double()
    stored = _stored(learner.trace, name, a)
    if not torch.equal(stored, _stored(wrong.trace, name, b)):
        return False
    expected = learner.prepared.expected[name]
    errors = [error_against(puzzle, learner.case, name, value, expected) for value in (a, b)]
    largest, least = torch.maximum(*errors), torch.minimum(*errors)
    between = error_against(puzzle, learner.case, name, a, b)
    near = between <= (largest / 4).clamp(0.25, 1).maximum((largest / 100).nan_to_num(posinf=0.0))
    if _has(learner, _UNDEFINED) and _has(wrong, _UNDEFINED):
        near |= (a.isnan() | b.isnan()) & (least > 1)
    if noise:
        scale = puzzle.scale(learner.case, name, expected).nan_to_num(posinf=0.0, neginf=0.0)
        near |= ((a - b).abs() <= noise * scale) & _noisy_alike(errors)
    return bool((near | (largest <= 1))[stored].all())


def _noisy_alike(errors: list[torch.Tensor]) -> bool:
    a, b = (e.clamp(max=1e6) for e in errors)
    wrong = (a > 1) | (b > 1)
    if not bool(wrong.any()):
        return True
    both = (a > 1) & (b > 1)
    return bool(both.sum() * 2 >= wrong.sum()) and 0.5 <= float(a.max() / b.max()) <= 2.0


def _stored(trace: Trace | None, name: str, like: torch.Tensor) -> torch.Tensor:
    writers = trace.writers.get(name) if trace else None
    if writers is None:
        return torch.ones(like.shape, dtype=torch.bool)
    return torch.from_numpy(np.asarray(writers).reshape(tuple(like.shape)) >= 0)


def _has(outcome: Outcome, kinds: tuple[str, ...]) -> bool:
    return any(f.kind in kinds for f in memory_findings(outcome))


def _lanes(outcome: Outcome) -> Lanes:
    found: dict[tuple[str, str], tuple[int, frozenset[tuple[int, ...]]]] = {}
    for finding in memory_findings(outcome):
        key = finding.kind, finding.tensor or ""
        count, elements = found.get(key, (0, frozenset()))
        found[key] = count + max(finding.count, 1), elements | set(finding.elements)
    return found


def _traffic(outcome: Outcome) -> dict[str, tuple[int, int]]:
    return {name: (t.loaded, t.stored) for name, t in outcome.trace.traffic.items()} if outcome.trace else {}
