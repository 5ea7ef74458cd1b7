"""The speed of the course's kernels beside libraries and limits, on the GPU here, in one run: reports/speed-<device>.json and docs/speed.md.

    python bench/speed.py [--quick] [--jobs N] [--seconds N] [--only FAMILY …] [--page FILE]

Each kernel's output is first compared with float64; a wrong one is reported and not timed. All contestants of a case take turns, in
rounds, and each launch finds an empty L2 cache and a queue that is full, so that neither the one before nor Python is part of its time:
a launch of under a millisecond waits behind a sleep until it is queued; longer ones follow each other without a pause, as in training,
so that a GPU that reaches its power limit does so here.
`--quick` takes the cases that the aims are about, and no time for peers that compile for long; `--seconds` starts no case after so many.
With `--jobs`, everything is compiled first, in so many processes: what is timed then finds its kernels in the caches on disk.
What was left out is named in the report. `--page` makes the page and its plots from a report, without a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.speed_page import write_page  # noqa: E402
from tools.gpu_report import environment, slug  # noqa: E402

SLEEP = 1_000_000  # cycles, about half a millisecond: longer than Python takes to queue a launch
LONG = 1e-3  # seconds: behind a launch this long Python is ahead anyway, and a sleep would let the GPU cool down


@dataclass(frozen=True)
class Timed:
    """One contestant in one case. `status` is timed, wrong, failed or missing; seconds and figure are medians, with 20 % and 80 %."""

    family: str
    case: str
    unit: str
    name: str
    kind: str
    status: str
    note: str = ""
    error: float | None = None
    seconds: tuple[float, float, float] | None = None
    figure: tuple[float, float, float] | None = None
    samples: int = 0


@dataclass
class Report:
    date: str
    environment: dict[str, str]
    options: dict[str, object]
    rows: list[Timed] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    schema: str = "speed/v1"


class Clock:
    """Times launches with CUDA events. Needs a GPU."""

    def __init__(self) -> None:
        import torch

        size = max(4 * torch.cuda.get_device_properties(0).L2_cache_size, 1 << 26)
        self._cold = torch.empty(size, dtype=torch.uint8, device="cuda")
        self._cuda = torch.cuda

    def times(self, run: Callable[[], object], count: int, sleep: bool = True) -> list[float]:
        """Seconds of each of `count` launches, queued without waiting; with `sleep`, each begins when it is queued whole."""
        pairs = [(self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, stop in pairs:
            if sleep:
                self._cuda._sleep(SLEEP)
            self._cold.zero_()
            start.record()
            run()
            stop.record()
        self._cuda.synchronize()
        return [start.elapsed_time(stop) / 1e3 for start, stop in pairs]


def contend(case, thorough: bool, rounds: int, clock: Clock) -> list[Timed]:  # type: ignore[no-untyped-def]
    """All contestants of a case, compared with float64 and then timed in turns."""
    contest = case.make(thorough)
    fixed = {"family": case.family, "case": case.name, "unit": contest.unit}
    rows = [Timed(**fixed, name=n, kind="peer", status="missing", note=why) for n, why in contest.missing.items()]
    ready, samples, errors = [], {}, {}
    for one in contest.contestants:
        mine = {**fixed, "name": one.name, "kind": one.kind}
        try:
            outputs = one.run()
            clock._cuda.synchronize()
            errors[one.name] = contest.error(outputs) if one.checked else None
            del outputs
            first = statistics.median(clock.times(one.run, 3))
        except Exception as error:
            rows.append(Timed(**mine, status="failed", note=in_words(error)))
            continue
        tolerance = contest.tolerance if one.tolerance is None else one.tolerance
        if one.checked and not errors[one.name] <= tolerance:
            rows.append(Timed(**mine, status="wrong", note=one.note, error=errors[one.name]))
            continue
        ready.append((one, max(3, min(20, int(0.04 / first))), first < LONG))
        samples[one.name] = []
    for _ in range(rounds):
        for one, count, sleep in ready:
            samples[one.name] += clock.times(one.run, count, sleep)[1:]  # the first of a row follows another contestant
    for one, _, _ in ready:
        times = sorted(samples[one.name])
        seconds = (statistics.median(times), times[len(times) // 5], times[-1 - len(times) // 5])
        scale = contest.work / (1e12 if contest.unit == "TFLOP/s" else 1e9)
        found = {"seconds": seconds, "figure": (scale / seconds[0], scale / seconds[2], scale / seconds[1])}
        found |= {"note": one.note, "error": errors[one.name], "samples": len(times)}
        rows.append(Timed(**fixed, name=one.name, kind=one.kind, status="timed", **found))
    return rows


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}"


def show(rows: Sequence[Timed]) -> None:
    for row in rows:
        outcome = f"{row.figure[0]:9.1f} {row.unit}" if row.figure else f"{row.status}: {row.note or row.error}"
        print(f"{row.family:9}{row.case:32}{row.name:36}{outcome}", flush=True)


def save(report: Report) -> Path:
    """Whole after every case: a run that is cut off leaves what it saw."""
    path = ROOT / "reports" / f"speed-{slug(report.environment['device'])}.json"
    path.write_text(json.dumps(asdict(report), indent=1) + "\n", "utf-8")
    return path


def compile_all(work: tuple[int, bool]) -> None:
    """Launches all contestants of a case once, in a process of its own. What fails here fails again, and is reported, when its turn comes."""
    import torch

    from bench.contestants import cases

    number, thorough = work
    with contextlib.suppress(Exception):
        for one in cases()[number].make(thorough).contestants:
            with contextlib.suppress(Exception):
                one.run()
        torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()


def measure(options: argparse.Namespace) -> Path:
    import torch

    from bench.contestants import cases

    began = time.monotonic()
    given = {"quick": options.quick, "seconds": options.seconds, "only": options.only}
    runs = [
        (number, not (options.quick or case.brief))
        for number, case in enumerate(cases())
        if (case.quick or not options.quick) and (not options.only or case.family in options.only)
    ]
    if options.jobs > 1:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(compile_all, runs))
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
    report = Report(datetime.now(UTC).date().isoformat(), environment(), given)
    clock = Clock()
    report.left_out = [f"{case.family}: {case.name}" for case in cases()]
    path = save(report)
    for number, thorough in runs:
        case = cases()[number]
        if time.monotonic() - began > options.seconds:
            break
        try:
            rows = contend(case, thorough, 3 if options.quick else 5, clock)
        except Exception as error:
            rows = [Timed(case.family, case.name, "", "all", "", "failed", in_words(error))]
        show(rows)
        report.rows += rows
        report.left_out.remove(f"{case.family}: {case.name}")
        gc.collect()
        torch.cuda.empty_cache()
        path = save(report)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="only the cases that the aims are about, with fewer rounds"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile before anything is timed")
    parser.add_argument("--seconds", type=float, default=900, help="start no case after so many")
    parser.add_argument(
        "--only", action="append", choices=["limits", "forward", "backward", "decode", "softmax", "linear"]
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="make docs/speed.md from this report, and time nothing"
    )
    options = parser.parse_args()
    path = options.page or measure(options)
    print(f"{path}, {write_page(path, ROOT / 'docs')}")


if __name__ == "__main__":
    main()
