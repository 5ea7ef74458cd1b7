"""The `traffic` gate: the bytes loaded and stored, against what the puzzle allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from checker.course import factors
from checker.judge.outcome import Outcome
from checker.judge.verdict import Gate, GateResult
from checker.phrases import join, short
from checker.puzzle import Allowance, Case, Puzzle
from checker.simulator.trace import Trace, Traffic
from checker.submission.kernel import KernelSource

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


def _in_its_tiles(outcome: Outcome) -> Case:
    """The case with the tiles that ran, which the learner's own configuration may set."""
    case, config = outcome.case, outcome.prepared.config
    tiles = {} if config is None else {name: int(value) for name, value in config.meta.items()}
    return replace(case, meta={**case.meta, **tiles})


def _in_whole_tiles(case: Case) -> Case:
    """The case with every size rounded up to full tiles."""
    tiles = {size: case.meta[tile] for size in case.sizes if (tile := factors.tile_of(size, case.meta))}
    return replace(case, sizes={**case.sizes, **{name: -(-case.sizes[name] // n) * n for name, n in tiles.items()}})


def _budget(puzzle: Puzzle, outcome: Outcome) -> Mapping[str, Allowance]:
    return puzzle.budget(_in_its_tiles(outcome))


def fails(puzzle: Puzzle, outcome: Outcome, like: Outcome) -> bool:
    return bool(overdrawn(puzzle, outcome))


def failure(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome that the gate reports: the first failing case in which a tensor is most over its allowance."""
    failing = [o for o in outcomes if overdrawn(puzzle, o)]
    return max(
        failing, key=lambda o: max(_ratio(m, allowed) for _, _, m, allowed in overdrawn(puzzle, o)), default=None
    )


def _ratio(moved: int, allowed: int) -> float:
    """How many times its allowance a tensor moved; infinite if nothing is allowed, so that the first such case is reported."""
    return moved / allowed if allowed else math.inf


def passed(puzzle: Puzzle, outcomes: Sequence[Outcome]) -> GateResult:
    shown = max(outcomes, key=bytes_moved, default=None)
    table = _table(puzzle, shown) if shown else {}
    return GateResult(GATE, "passed", _passes(shown), case=shown.case if shown else None, traffic=table)


def failed(
    puzzle: Puzzle,
    source: KernelSource,
    outcomes: Sequence[Outcome],
    failing: Outcome,
    replay: Trace | None,
    apart: str,
) -> GateResult:
    name, verb, moved, allowed = overdrawn(puzzle, failing)[0]
    lines = _lines_moving(replay, name, verb)
    where = f", by {join(source.line_words(line) for line in lines)}" if lines else ""
    advice = (
        "Is a tile loaded twice? Load it once and reuse it: it stays in the program's registers. If not, some load is unnecessary."
        if verb == "loaded"
        else "Store each result once, when it is final."
    )
    return GateResult(
        GATE,
        "failed",
        f"{_times(failing, name, verb, moved, allowed)}{where} ({failing.case.name}: {moved:,} bytes, allowed {allowed:,}). {_because(puzzle, failing, name)}".strip(),
        line=lines[-1] if lines else None,
        advice=f"{advice} {apart}".strip(),
        case=failing.case,
        traffic=_table(puzzle, failing),
    )


def _times(outcome: Outcome, name: str, verb: str, moved: int, allowed: int) -> str:
    full = _tensor_bytes(outcome, name)
    tensor = short(name)
    if full == 0:
        return f"{tensor} was {verb} more than this puzzle allows"
    limit = "this puzzle allows none" if allowed == 0 else f"this puzzle allows {allowed / full:.3g}"
    times = "once" if _is_once(moved / full) else f"{moved / full:.3g} times over"
    return f"{tensor} was {verb} {times}; {limit}"


def _is_once(times: float) -> bool:
    return abs(times - 1) < 0.005


def _because(puzzle: Puzzle, outcome: Outcome, name: str) -> str:
    allowance = _budget(puzzle, outcome).get(name)
    if allowance is None or not allowance.because:
        return ""
    because = allowance.because
    if because.split()[0] in map(short, puzzle.parameters):
        return f"{because}."  # a tensor's name keeps its case
    return f"{because[0].upper()}{because[1:]}."


def _tensor_bytes(outcome: Outcome, name: str) -> int:
    tensor = outcome.prepared.launch.arguments[name]
    return tensor.numel() * tensor.element_size()  # type: ignore[union-attr]


def _lines_moving(replay: Trace | None, name: str, verb: str) -> list[int]:
    kinds = ("load", "atomic") if verb == "loaded" else ("store", "atomic")
    events = replay.events if replay else []
    return sorted({e.line for e in events if e.tensor == name and e.kind in kinds and e.bytes})


def bytes_moved(outcome: Outcome) -> int:
    """Bytes loaded and stored for all tensors; 0 without a trace."""
    return sum(t.loaded + t.stored for t in outcome.trace.traffic.values()) if outcome.trace else 0


def _table(puzzle: Puzzle, outcome: Outcome) -> dict[str, tuple[Traffic, int, int]]:
    budget = _budget(puzzle, outcome)
    return {
        name: (t, budget[name].loaded if name in budget else 0, budget[name].stored if name in budget else 0)
        for name, t in (outcome.trace.traffic.items() if outcome.trace else ())
    }


def _passes(outcome: Outcome | None) -> str:
    if outcome is None or outcome.trace is None:
        return "Nothing exceeded what the puzzle allows."
    parts = []
    for name, traffic in outcome.trace.traffic.items():
        full = _tensor_bytes(outcome, name)
        for verb, moved in (("loaded", traffic.loaded), ("stored", traffic.stored)):
            if moved and full:
                times = moved / full
                parts.append(f"{short(name)} {verb} {'once' if _is_once(times) else f'{times:.3g} times'}")
    return f"{join(parts)}: within what this puzzle allows." if parts else "Nothing was moved."
