"""Do two kernels behave alike? Compares their outputs, findings and traffic in the same cases, never their source text.

The comparison ignores what no kernel controls: elements that nobody stored, and which wrong value appears in undefined memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from checker.judge.comparison import error_against
from checker.judge.memory_gate import memory_findings
from checker.judge.outcome import Outcome
from checker.judge.traffic_gate import overdrawn
from checker.puzzle import DTYPES, Gate, Puzzle, Tensors
from checker.simulator.trace import Trace

_UNDEFINED = ("undefined_lanes", "out_of_bounds_load")
_MAKE_NAN = (*_UNDEFINED, "nan_born")
_TF32 = 2.0**-11
"""The rounding of a float32 operand by tensor cores."""
_PLAINLY = 4.0
"""Beyond this multiple of the tolerance, rounding does not explain a wrong value."""
Lanes = Mapping[tuple[str, str], tuple[int, frozenset[tuple[int, ...]]]]
"""By kind and tensor: the number of lanes or elements, and the first of them."""


@dataclass(frozen=True)
class Behaviour:
    """What a comparison needs to know about a kernel's run in one case, small enough to keep.

    Each output has its `values` in its dtype, its `errors` relative to the tolerance, and `stored`, true where a program wrote.
    `traffic` is bytes loaded and stored; `undefined` says whether the kernel read undefined lanes.
    """

    ran: bool
    status: str
    fails: frozenset[Gate] = frozenset()
    values: Tensors = field(default_factory=dict)
    errors: Tensors = field(default_factory=dict)
    stored: Tensors = field(default_factory=dict)
    lanes: Lanes = field(default_factory=dict)
    traffic: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    undefined: bool = False


def behaviour(puzzle: Puzzle, outcome: Outcome) -> Behaviour:
    """The part of an outcome to keep."""
    if not outcome.ran or outcome.trace is None:
        return Behaviour(outcome.ran, outcome.result.status)
    values = {name: outcome.result.tensors[name].clone() for name in outcome.prepared.launch.outputs}
    expected = outcome.prepared.expected
    errors = {name: error_against(puzzle, outcome.case, name, y, expected[name]) for name, y in values.items()}
    findings = memory_findings(outcome)
    failed: dict[Gate, bool] = {
        "values": not outcome.right,
        "memory": bool(findings),
        "traffic": bool(overdrawn(puzzle, outcome)),
    }
    return Behaviour(
        ran=True,
        status=outcome.result.status,
        fails=frozenset(gate for gate, fails in failed.items() if fails),
        values=values,
        errors=errors,
        stored={name: _stored(outcome.trace, name, y) for name, y in values.items()},
        lanes=_lanes(outcome),
        traffic={name: (t.loaded, t.stored) for name, t in outcome.trace.traffic.items()},
        undefined=any(f.kind in _UNDEFINED for f in findings),
    )


def alike(
    puzzle: Puzzle,
    learner: Outcome,
    mine: Behaviour,
    wrong: Behaviour,
    gate: Gate,
    plainly: bool = False,
    noise: float = 0.0,
) -> bool:
    """Whether two kernels do the same in one case: they have alike values, for `memory` also the same lanes, for `traffic` equal bytes.

    `mine` is the behaviour of `learner`, which is `plainly` wrong in this case or another. `noise` widens the comparison of values,
    relative to the row's magnitude.
    """
    if not (mine.ran and wrong.ran):
        return mine.status == wrong.status
    if gate == "memory" and mine.lanes != wrong.lanes:
        return False
    if _stores_outside(wrong) and not _stores_outside(mine):
        return False  # equal values do not show that mistake
    if gate == "traffic":  # their values are right; in a further case both may be wrong, which says nothing about bytes
        return mine.traffic == wrong.traffic and ("values" in mine.fails) == ("values" in wrong.fails)
    if any(_loaded(mine, name) != _loaded(wrong, name) for name in mine.values):
        return False  # a kernel that never reads an output has no belief about what it holds
    return all(_same_values(puzzle, learner, mine, wrong, name, plainly, noise) for name in mine.values)


def _stores_outside(mine: Behaviour) -> bool:
    return any(kind == "out_of_bounds_store" for kind, _ in mine.lanes)


def _loaded(mine: Behaviour, output: str) -> bool:
    return mine.traffic.get(output, (0, 0))[0] > 0


def alike_in_everything(mine: Behaviour, wrong: Behaviour) -> bool:
    """Whether two kernels with alike values also touch the same lanes and move the same bytes."""
    return (mine.lanes, mine.traffic) == (wrong.lanes, wrong.traffic)


def plainly_wrong(mine: Behaviour) -> bool:
    """Whether some value is too far off for any rounding to explain."""
    return any(bool((errors > _PLAINLY).any()) for errors in mine.errors.values())


def informative(mine: Behaviour) -> bool:
    """Whether the wrong values tell something about their cause. An output that is all NaN tells nothing, because anything can do that."""
    return any(bool((mine.errors[name] > 1).any()) and not bool(y.isnan().all()) for name, y in mine.values.items())


def same_origin_of_nan(a: Trace | None, b: Trace | None, outputs: Sequence[str]) -> bool:
    """Whether NaN has the same origin in both: undefined lanes, the same operations, or the former contents of an output."""
    if a is None or b is None:
        return False
    origins = [
        {(f.kind, f.operation if f.kind == "nan_born" else f.tensor) for f in trace.findings if f.kind in _MAKE_NAN}
        | {("held before", name) for name in outputs if name in trace.traffic and trace.traffic[name].loaded}
        | {("never stored", name) for name in outputs if name in trace.writers and (trace.writers[name] < 0).any()}
        for trace in (a, b)
    ]
    return bool(origins[0]) and origins[0] == origins[1]


def _same_values(
    puzzle: Puzzle, learner: Outcome, mine: Behaviour, wrong: Behaviour, name: str, plainly: bool, noise: float
) -> bool:
    """Whether both store the same elements, and the same elements are wrong, with the same values.

    In a wrong element the two may differ by a quarter of its error, since a small error says little about its cause, but by no more
    than two tolerances (one for each kernel) or a fiftieth of the error, whichever is larger. If the kernel is plainly wrong
    elsewhere, they may differ by three roundings to the case's dtype, or to TF32.
    """
    if not torch.equal(mine.stored[name], wrong.stored[name]):
        return False
    errors = [mine.errors[name], wrong.errors[name]]
    largest, least = torch.maximum(*errors), torch.minimum(*errors)
    right = largest <= 1
    if right.all():
        return True
    a, b = mine.values[name].double(), wrong.values[name].double()
    between = error_against(puzzle, learner.case, name, a, b)
    near = between <= (largest / 4).clamp(0.25, 2).maximum((largest / 50).nan_to_num(posinf=0.0))
    if mine.undefined and wrong.undefined:
        near |= (a.isnan() | b.isnan()) & (least > 1)
    scale = puzzle.scale(learner.case, name, learner.prepared.expected[name]).nan_to_num(posinf=0.0, neginf=0.0)
    if plainly:
        eps = max(torch.finfo(DTYPES[learner.case.dtype]).eps, _TF32)
        close = (a - b).abs() <= 3 * eps * torch.maximum(scale, torch.maximum(a.abs(), b.abs()))
        near |= close & (least > 0.25)  # if one of them is right, rounding does not explain the other
    if noise:
        near |= ((a - b).abs() <= noise * scale) & _noisy_alike(errors)
    return bool((near | right)[mine.stored[name]].all())


def _noisy_alike(errors: list[torch.Tensor]) -> bool:
    a, b = (e.clamp(max=1e6) for e in errors)
    wrong = (a > 1) | (b > 1)
    if not bool(wrong.any()):
        return True
    both = (a > 1) & (b > 1)
    return bool(both.sum() * 2 >= wrong.sum()) and 0.5 <= float(a.max() / b.max()) <= 2.0


def _stored(trace: Trace, name: str, like: torch.Tensor) -> torch.Tensor:
    writers = trace.writers.get(name)
    if writers is None:
        return torch.ones(like.shape, dtype=torch.bool)
    return torch.from_numpy(np.asarray(writers).reshape(tuple(like.shape)) >= 0)


def _lanes(outcome: Outcome) -> Lanes:
    lanes: dict[tuple[str, str], tuple[int, frozenset[tuple[int, ...]]]] = {}
    for finding in memory_findings(outcome):
        key = finding.kind, finding.tensor or ""
        count, elements = lanes.get(key, (0, frozenset()))
        lanes[key] = count + max(finding.count, 1), elements | set(finding.elements)
    return lanes
