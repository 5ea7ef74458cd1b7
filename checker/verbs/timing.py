"""Time contestants in turn, so that a GPU that slows down as it warms up slows all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

import torch

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
    """Time a library call on this process's GPU as `gpu.time_kernel` times kernels: with events, flushing the L2 cache before each."""
    l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    flush = torch.empty(max(4 * l2, 1 << 26), dtype=torch.uint8, device="cuda")
    for _ in range(warmup):
        call()
    pairs = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, stop in pairs:
        flush.zero_()
        start.record()
        call()
        stop.record()
    torch.cuda.synchronize()
    times = sorted(start.elapsed_time(stop) / 1e3 for start, stop in pairs)
    return Timing(statistics.median(times), times[len(times) // 5], times[-1 - len(times) // 5], len(times))
