"""How often an online softmax rescales its accumulator, counted by the operations of one kernel on other numbers.

Cases of one shape take the same operations unless the kernel decides by their numbers, whatever its variables are called.
"""

from __future__ import annotations

from checker.judge.launches import prepare
from checker.judge.outcome import Candidate
from checker.phrases import count
from checker.puzzle import Rescales

EAGER = (
    "The number of operations is the same whether a maximum grows or not, so every tile rescales the accumulator. Put the rescale "
    "under an `if`."
)
UNITS = "Compare in powers of two: 1 more in a score is 1.44 of them."


def count_rescales(candidate: Candidate, asked: Rescales) -> tuple[bool, str]:
    """Whether a kernel with right values rescales where it has to and nowhere else, and a sentence on how often it does."""
    prepared = [prepare(candidate.puzzle, case) for case in (asked.level, asked.calm, asked.steep)]
    traces = [outcome.trace for outcome in candidate.simulate(prepared)]
    level, calm, steep = (trace.lane_flops if trace is not None else 0 for trace in traces)
    if level == calm == steep:
        return False, EAGER
    few, many = (min(-(-(taken - level) // asked.each), asked.tiles) for taken in (calm, steep))
    if few > 0:
        return False, (
            f"In {asked.tiles} tiles the maximum grew by less than the threshold altogether, and the accumulator was rescaled "
            f"{count(few, 'time')}. Keep the old maximum until a new one exceeds it by more than the threshold. {UNITS}"
        )
    if many < asked.tiles:
        return False, (
            f"In each of {asked.tiles} tiles the maximum grew by more than the threshold, and the accumulator was rescaled "
            f"{count(many, 'time')} only. {UNITS}"
        )
    return True, (
        f"{asked.tiles} rescales were avoided in {asked.tiles} tiles whose maximum grew by less than the threshold altogether. Where it grew "
        f"by more in each tile, all {asked.tiles} were made."
    )
