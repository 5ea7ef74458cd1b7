"""Times the course's kernels beside libraries and limits, on the GPU here: `reports/speed-<device>.json` and `docs/speed.md`.

    python -m bench.speed [--quick] [--jobs N] [--seconds N] [--only FAMILY …] [--page FILE]

Every output is first compared with float64; a wrong kernel is reported and not timed. All contestants of a case take turns, in rounds.
L2 is flushed before each launch. A launch shorter than a millisecond waits behind a sleep until it is queued, so that no time of Python's
is in it; longer ones follow each other without a pause, as in training, so that a GPU that reaches its power limit does so here.
"""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer

from bench.contestants import Case, cases
from bench.speed_page import write_page
from checker import gpu
from tools.gpu_report import environment, slug

ROOT = Path(__file__).resolve().parents[1]
SLEEP = 1_000_000  # cycles, about half a millisecond: longer than Python takes to queue a launch
LONG = 1e-3  # seconds: behind a launch this long Python is ahead anyway, and a sleep would let the GPU cool down


@dataclass(frozen=True)
class Timed:
    """One contestant in one case: medians of seconds and of the figure, each with its 20th and 80th percentile.

    `status` is timed, wrong, failed or missing.
    """

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
    again: dict[str, str] = field(default_factory=dict)  # families that were timed alone later, and when
    schema: str = "speed/v1"


def contend(case: Case, thorough: bool, rounds: int, clock: gpu.Clock) -> list[Timed]:
    """Compare all contestants of a case with float64, then time them in turns."""
    contest = case.make(thorough)
    timed = partial(Timed, case.family, case.name, contest.unit)
    rows = [timed(name, "peer", "missing", why) for name, why in contest.missing.items()]
    ready, samples, errors = [], dict[str, list[float]](), dict[str, float | None]()
    for one in contest.contestants:
        try:
            outputs = one.run()
            torch.cuda.synchronize()
            errors[one.name] = contest.error(outputs) if one.checked else None
            del outputs
            first = statistics.median(clock.times(one.run, 3, SLEEP))
        except Exception as failure:
            rows.append(timed(one.name, one.kind, "failed", in_words(failure)))
            continue
        tolerance = contest.tolerance if one.tolerance is None else one.tolerance
        error = errors[one.name]
        if error is not None and not error <= tolerance:
            rows.append(timed(one.name, one.kind, "wrong", one.note, error))
            continue
        ready.append((one, max(3, min(20, int(0.04 / first))), SLEEP if first < LONG else 0))
        samples[one.name] = []
    for _ in range(rounds):
        for one, count, sleep in ready:
            samples[one.name] += clock.times(one.run, count, sleep)[1:]  # the first follows another contestant
    for one, _, _ in ready:
        time, scale = gpu.Timing.of(samples[one.name]), contest.work / (1e12 if contest.unit == "TFLOP/s" else 1e9)
        seconds = (time.median, time.low, time.high)
        figure = (scale / time.median, scale / time.high, scale / time.low)
        rows.append(timed(one.name, one.kind, "timed", one.note, errors[one.name], seconds, figure, time.repeats))
    return rows


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}"


def show(rows: Sequence[Timed]) -> None:
    for row in rows:
        outcome = f"{row.figure[0]:9.1f} {row.unit}" if row.figure else f"{row.status}: {row.note or row.error}"
        print(f"{row.family:9}{row.case:32}{row.name:36}{outcome}", flush=True)


def path_of(report: Report) -> Path:
    return ROOT / "reports" / f"speed-{slug(report.environment['device'])}.json"


def keep_others(report: Report, only: Sequence[str]) -> Report:
    """A run of some families replaces their rows in the report that is there. Raises ValueError where that is of other versions."""
    path = path_of(report)
    if not only or not path.exists():
        return report
    old = Report(**json.loads(path.read_text("utf-8")))
    for what in ("torch", "triton"):
        before, now = (one.environment[what].partition("+")[0] for one in (old, report))  # without the build
        if before != now:
            raise ValueError(f"{path} is of {what} {before}, and this is {now}: run all families, or move it away")
    old.rows = [Timed(**row) for row in old.rows if row["family"] not in only]
    old.left_out = [name for name in old.left_out if name.partition(":")[0] not in only] + report.left_out
    old.again |= dict.fromkeys(only, report.date)
    return old


def save(report: Report) -> Path:
    """Write everything after every case: a run that is cut off leaves what it saw."""
    path = path_of(report)
    path.write_text(json.dumps(asdict(report), indent=1) + "\n", "utf-8")
    return path


def compile_all(work: tuple[int, bool]) -> None:
    """Launch all contestants of a case once, in a separate process. What fails here fails again, and is reported, when its turn comes."""
    number, thorough = work
    with contextlib.suppress(Exception):
        for one in cases()[number].make(thorough).contestants:
            with contextlib.suppress(Exception):
                one.run()
        torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()


def measure(quick: bool, jobs: int, limit: float, only: Sequence[str]) -> Path:
    began = time.monotonic()
    runs = [
        (number, not (quick or case.brief))
        for number, case in enumerate(cases())
        if (case.quick or not quick) and (not only or case.family in only)
    ]
    given: dict[str, object] = {"quick": quick, "seconds": limit, "only": only}
    left_out = [f"{case.family}: {case.name}" for case in cases() if not only or case.family in only]
    report = keep_others(Report(datetime.now(UTC).date().isoformat(), environment(), given, left_out=left_out), only)
    if jobs > 1:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            list(pool.map(compile_all, runs))
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
    clock = gpu.Clock()
    path = save(report)
    for number, thorough in runs:
        case = cases()[number]
        if time.monotonic() - began > limit:
            break
        try:
            rows = contend(case, thorough, 3 if quick else 5, clock)
        except Exception as error:
            rows = [Timed(case.family, case.name, "", "all", "", "failed", in_words(error))]
        show(rows)
        report.rows += rows
        report.left_out.remove(f"{case.family}: {case.name}")
        gc.collect()
        torch.cuda.empty_cache()
        path = save(report)
    return path


def main(
    quick: Annotated[
        bool, typer.Option("--quick", help="only the cases that the aims are about, in fewer rounds")
    ] = False,
    jobs: Annotated[int, typer.Option(help="processes that compile before anything is timed")] = 1,
    seconds: Annotated[float, typer.Option(help="start no case after so many")] = 900,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="limits, forward, backward, decode, softmax, linear, decay or delta; others keep their figures"
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option(help="make docs/speed.md from this report; time nothing")] = None,
) -> None:
    """Time the course's kernels beside libraries and limits, on the GPU here."""
    path = page or measure(quick, jobs, seconds, only or [])
    print(f"{path}, {write_page(path, ROOT / 'docs')}")


if __name__ == "__main__":
    typer.run(main)
