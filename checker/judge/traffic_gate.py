"""The `traffic` gate: the bytes loaded and stored, against what the puzzle allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from checker.judge import factors
from checker.judge.outcome import Candidate, Failure, Outcome
from checker.judge.verdict import GateResult
from checker.phrases import join, short
from checker.puzzle import Allowance, Case, Gate, Puzzle
from checker.simulator.trace import Trace, Traffic

GATE: Gate = "traffic"
_NONE = Allowance(0, 0, "")


def overdrawn(puzzle: Puzzle, outcome: Outcome) -> list[tuple[str, str, int, int]]:
    """``(tensor, "loaded" | "stored", bytes moved, bytes allowed)`` for every tensor over its allowance in one case.

    Lanes past an edge may load other elements again instead of being masked, as with ``offs_m % M``, so a partial last tile may load
    as much as a full one.
    """
    if outcome.trace is None:
        return []
    case = _in_its_tiles(outcome)
    budget, whole, over = puzzle.budget(case), puzzle.budget(_in_whole_tiles(case)), []
    for name, traffic in outcome.trace.traffic.items():
        allowance = budget.get(name, _NONE)
        if traffic.loaded > max(allowance.loaded, whole.get(name, _NONE).loaded):
            over.append((name, "loaded", traffic.loaded, allowance.loaded))
        if traffic.stored > allowance.stored:
            over.append((name, "stored", traffic.stored, allowance.stored))
    return over


def bytes_moved(outcome: Outcome) -> int:
    """Bytes loaded and stored for all tensors; 0 without a trace."""
    return sum(t.loaded + t.stored for t in _traffic(outcome).values())


def _traffic(outcome: Outcome) -> Mapping[str, Traffic]:
    return outcome.trace.traffic if outcome.trace else {}


def _in_its_tiles(outcome: Outcome) -> Case:
    """The case with the tiles that ran, which the learner's own configuration may set."""
    case, config = outcome.case, outcome.prepared.config
    tiles = {} if config is None else {name: int(value) for name, value in config.meta.items()}
    return replace(case, meta={**case.meta, **tiles})


def _in_whole_tiles(case: Case) -> Case:
    """The case with every size rounded up to full tiles."""
    tiles = {size: case.meta[tile] for size in case.sizes if (tile := factors.tile_of(size, case.meta))}
    return replace(case, sizes={**case.sizes, **{name: -(-case.sizes[name] // n) * n for name, n in tiles.items()}})


def fails(puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
    return bool(overdrawn(puzzle, outcome))


def failing_outcome(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The first outcome in which a tensor exceeds its allowance by the largest factor."""

    def excess(outcome: Outcome) -> float:  # infinite if nothing is allowed
        return max(moved / allowed if allowed else math.inf for _, _, moved, allowed in overdrawn(puzzle, outcome))

    return max((o for o in outcomes if overdrawn(puzzle, o)), key=excess, default=None)


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    largest = max(outcomes, key=bytes_moved, default=None)
    if largest is None or largest.trace is None:
        return GateResult(GATE, "passed", "Nothing exceeded what the puzzle allows.")
    parts = [
        f"{short(name)} {verb} {_times(moved / full, 'times')}"
        for name, traffic in _traffic(largest).items()
        for verb, moved in (("loaded", traffic.loaded), ("stored", traffic.stored))
        if moved and (full := _tensor_bytes(largest, name))
    ]
    message = f"{join(parts)}: within what this puzzle allows." if parts else "Nothing was moved."
    return GateResult(GATE, "passed", message, case=largest.case, traffic=_table(puzzle, largest))


def failed(candidate: Candidate, failure: Failure) -> GateResult:
    puzzle, source, failing = candidate.puzzle, candidate.source, failure.outcome
    name, verb, moved, allowed = overdrawn(puzzle, failing)[0]
    lines = _lines_moving(failing.trace, name, verb)
    where = f"It is {verb} by {join(source.line_words(line) for line in lines)}." if lines else ""
    advice = (
        "Is a tile loaded twice? Load it once and reuse it: it stays in the program's registers. If not, some load is unnecessary."
        if verb == "loaded"
        else "Store each result once, when it is final."
    )
    message = f"{_excess(failing, name, verb, moved, allowed)} ({factors.described(failing.case)}: {moved:,} bytes, allowed {allowed:,})."
    return GateResult(
        GATE,
        "failed",
        " ".join(filter(None, (message, where, _because(puzzle, failing, name), failure.experiment))),
        line=lines[-1] if lines else None,
        advice=advice,
        case=failing.case,
        traffic=_table(puzzle, failing),
    )


def _excess(outcome: Outcome, name: str, verb: str, moved: int, allowed: int) -> str:
    full, tensor = _tensor_bytes(outcome, name), short(name)
    if full == 0:
        return f"{tensor} was {verb} more than this puzzle allows"
    if moved < full:
        return f"{100 * moved / full:.2g}% of {tensor} was {verb}; this puzzle allows {100 * allowed / full:.2g}%"
    limit = f"{allowed / full:.3g}" if allowed else "none"
    return f"{tensor} was {verb} {_times(moved / full, 'times over')}; this puzzle allows {limit}"


def _times(times: float, unit: str) -> str:
    return "once" if abs(times - 1) < 0.005 else f"{times:.3g} {unit}"


def _because(puzzle: Puzzle, outcome: Outcome, name: str) -> str:
    because = puzzle.budget(_in_its_tiles(outcome)).get(name, _NONE).because
    if not because:
        return ""
    if because.split()[0] in map(short, puzzle.parameters):
        return f"{because}."  # a tensor's name keeps its case
    return f"{because[0].upper()}{because[1:]}."


def _tensor_bytes(outcome: Outcome, name: str) -> int:
    tensor = outcome.prepared.tensors[name]
    return tensor.numel() * tensor.element_size()


def _lines_moving(trace: Trace | None, name: str, verb: str) -> list[int]:
    kinds = ("load", "atomic") if verb == "loaded" else ("store", "atomic")
    events = trace.events if trace else []
    return sorted({e.line for e in events if e.tensor == name and e.kind in kinds and e.bytes})


def _table(puzzle: Puzzle, outcome: Outcome) -> dict[str, tuple[Traffic, int, int]]:
    budget = puzzle.budget(_in_its_tiles(outcome))
    allowances = {name: budget.get(name, _NONE) for name in _traffic(outcome)}
    return {name: (t, allowances[name].loaded, allowances[name].stored) for name, t in _traffic(outcome).items()}
