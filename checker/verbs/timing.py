"""Time contestants in turn, so that a GPU that slows down as it warms up slows all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

from checker import gpu
from checker.gpu import Timing

ROUNDS = 5


def interleaved(contestants: Mapping[str, Iterator[Timing]], rounds: int = ROUNDS) -> dict[str, Timing | str]:
    """For each contestant, the median of its rounds with the lowest and highest round, or the error that stopped it.

    Every round times every contestant once, in the given order. One that raises RuntimeError is not timed again.
    """
    timed: dict[str, list[Timing]] = {name: [] for name in contestants}
    failed: dict[str, str] = {}
    for _ in range(rounds):
        for name, timings in contestants.items():
            if name in failed:
                continue
            try:
                timed[name].append(next(timings))
            except RuntimeError as error:
                failed[name] = str(error).partition("\n")[0]
    return {name: failed.get(name) or _median(timings) for name, timings in timed.items()}


def _median(rounds: list[Timing]) -> Timing:
    medians = [timing.median for timing in rounds]
    return Timing(statistics.median(medians), min(medians), max(medians), sum(timing.repeats for timing in rounds))


def time_call(call: Callable[[], object], repeats: int = 20, warmup: int = 3) -> Timing:
    """Time a library's call on this process's GPU as `gpu.time_kernel` times kernels."""
    for _ in range(warmup):
        call()
    return Timing.of(gpu.Clock().times(call, repeats))
