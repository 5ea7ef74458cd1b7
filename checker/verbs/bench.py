"""`bench`: time a kernel on this machine's GPU against libraries, the course's solution and the GPU's limits.

All of them take turns in one run. Without a GPU, `bench` predicts the limits on the GPUs of the course.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from markupsafe import Markup

from checker import gpu, workspace
from checker.checking import check_source
from checker.course.work import WORK, Work
from checker.gpu import Timing
from checker.judge.launches import volume
from checker.judge.verdict import Verdict
from checker.puzzle import NORMAL, Case, Launch, Puzzle, Scalar, Tensors
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path
from checker.submission.kernel import KernelSource
from checker.verbs import roofline, timing
from checker.verbs.arguments import case_and_options, sizes_as_usage_errors
from checker.verbs.roofline import Demand, Limits, share
from checker.view import display
from checker.view.panel import Cell, Panel
from checker.view.plots import Bar, Roof, roofline_plot, time_plot

if TYPE_CHECKING:
    from rich.console import Console

YOURS, COURSE = "yours", "the course's"
MOST_CASES = 3
MEDALS = ((0.97, "gold"), (0.8, "silver"), (0.5, "bronze"))
"""By speed relative to the course's solution in the same run."""
HEADS = ("", "median", "rounds", "GB/s", "TFLOP/s", "of the limit", "vs. the course's")
IMPOSSIBLE = (
    "is not reported, because it is faster than this GPU can move the bytes or multiply the matrices. Either the clock did not wait "
    "for the kernel, or the kernel did not do the work: look for a failed launch, an output left over from an earlier launch, or "
    "input that was never read."
)
MEASURED = (
    "These are medians of {rounds} rounds. Each round launches every contestant many times, after a warm-up and with the L2 cache flushed "
    "before each launch; `rounds` shows the fastest and slowest. The limit is {limit}, as measured on this GPU.",
    "GB/s assumes that every input is read once and every output written once. Medals are for {gold} (gold), {silver} (silver) and "
    "{bronze} (bronze) times the speed of the course's solution; they do not affect the verdict.",
)
PREDICTED = (
    "There is no GPU here, so nothing was timed. These predictions depend only on the case, not on your kernel. Each is the longer of "
    "two times: moving every input and output once at the speed of a copy, and doing the products at the speed of a large matrix "
    "product. Both speeds are those of the GPU's data sheet, scaled by the fraction that an H200 reaches of its own."
)


def bench_and_show(puzzle: Puzzle, source: KernelSource, choices: Mapping[str, Any]) -> Benchmark | Panel | Verdict:
    """Time a kernel on the largest cases made for a GPU, or with the caller's `choices` of sizes, dtype and options.

    Without a GPU, it predicts the limits; for a failing kernel, it shows the verdict. Raises UsageError.
    """
    cases, options = cases_to_time(puzzle, choices)
    with display.working(f"Timing {source.kernel} …") as area:
        if not gpu.available():
            panel = predictions(puzzle, cases)
            area.show(panel)
            return display.shown(panel)
        verdict = check_source(puzzle, source, "cuda", diagnose=False)
        if not verdict.passed:  # the speed of a wrong kernel means nothing
            area.show(display.verdict_card(verdict))
            return display.shown(verdict)
        limits, clock = roofline.measured_limits(), OnGpu()
        timed = tuple(measure(puzzle, source, case, clock, options, choices) for case in cases)
        if any(measured.beyond(limits) for measured in timed):  # the limits may be wrong, rather than the kernel
            limits = roofline.measured_again(limits)
        benchmark = Benchmark(puzzle.title, limits, timed)
        area.show(benchmark)
    return display.shown(benchmark)


def large_cases(puzzle: Puzzle) -> list[Case]:
    """The cases made for timing or, if there are none, those that run only on a GPU."""
    timed = [case for case in puzzle.cases if case.devices == {"bench"}]
    return timed or [case for case in puzzle.cases if case.devices == {"gpu"}]


def cases_to_time(puzzle: Puzzle, choices: Mapping[str, Any]) -> tuple[list[Case], dict[str, int]]:
    """The largest of `large_cases` or, if sizes are chosen, one case of normally distributed numbers. Raises UsageError."""
    large = sorted(large_cases(puzzle), key=volume)[-MOST_CASES:]
    cases = large or [puzzle.cases[-1]]
    case, options = case_and_options(puzzle, cases[-1], choices)
    if choices.keys() - options.keys():
        return [replace(case, family=NORMAL)], options
    return cases, options


# --- one case -----------------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Times kernels and library calls, once for each item taken from an iterator."""

    def kernel(self, source: KernelSource, launch: Launch) -> Iterator[Timing]: ...
    def peers(self, work: Work, case: Case, tensors: Tensors) -> Mapping[str, Iterator[Timing]]: ...


class OnGpu:
    """Times kernels in the sandbox and libraries in this process."""

    def kernel(self, source: KernelSource, launch: Launch) -> Iterator[Timing]:
        return Sandbox.shared().time(source, repeat(launch))

    def peers(self, work: Work, case: Case, tensors: Tensors) -> Mapping[str, Iterator[Timing]]:
        peers = [peer for peer in work.peers if peer.takes(case)]
        if not peers:
            return {}
        on_gpu = {name: tensor.cuda() for name, tensor in tensors.items()}
        calls = {peer.name: peer.prepare(case, on_gpu) for peer in peers}
        return {name: map(timing.time_call, repeat(call)) for name, call in calls.items()}


@dataclass(frozen=True)
class Measured:
    """One case: its least work, each contestant's time or error, and the libraries `left_out` because they do other work."""

    case: Case
    demand: Demand
    times: Mapping[str, Timing | str]
    left_out: tuple[str, ...] = ()

    def beyond(self, limits: Limits) -> list[str]:
        """The contestants with impossible times."""
        timings = {name: time for name, time in self.times.items() if isinstance(time, Timing)}
        return [name for name, time in timings.items() if limits.impossible(time.median, self.demand)]


def measure(
    puzzle: Puzzle,
    source: KernelSource,
    case: Case,
    clock: Clock,
    options: Mapping[str, int] | None = None,
    named: Collection[str] = (),
    rounds: int = timing.ROUNDS,
) -> Measured:
    """Time a kernel, the course's solution and the libraries in turn. Raises UsageError for impossible sizes."""
    kernels = {YOURS: source}
    path = workspace.find().solution_file(puzzle.name)
    if path and (solution := kernel_in(path, puzzle)):
        kernels[COURSE] = solution
    with sizes_as_usage_errors():
        tensors = puzzle.make(case)
    contestants: dict[str, Iterator[Timing]] = {}
    for name, kernel in kernels.items():
        launch = timed_launch(puzzle, kernel, case, named, tensors)
        contestants[name] = clock.kernel(kernel, replace(launch, options={**launch.options, **(options or {})}))
    work = WORK.get(puzzle.name, Work())
    contestants |= clock.peers(work, case, tensors)
    left_out = tuple(peer.name for peer in work.peers if peer.name not in contestants)
    return Measured(case, roofline.demand(puzzle, case), timing.interleaved(contestants, rounds), left_out)


# --- the report ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Benchmark:
    """The result of `bench`: a table of all cases, and the bars and roofline of the last."""

    title: str
    limits: Limits
    measured: tuple[Measured, ...]

    def __repr__(self) -> str:
        return f"<{self.panel().title}>"

    def html(self) -> str:
        last = self.measured[-1]
        return str(Markup(self.panel().html()) + Markup("").join(Markup(plot) for plot in _plots(last, self.limits)))  # noqa: S704 (both escape what they show)

    def print(self, console: Console) -> None:
        self.panel().print(console)

    def panel(self) -> Panel:
        labels, case_sentences = _labelled([measured.case for measured in self.measured])
        rows, refused, others = list[list[Cell]](), list[str](), list[str]()
        for label, measured in zip(labels, self.measured, strict=True):
            rows += _rows(label, measured, self.limits)
            refused += [f"{label}{name} {IMPOSSIBLE}" for name in measured.beyond(self.limits)]
            where = f" in case {label[0]}" if label else ""
            others += [f"{name} was not timed{where}, because it cannot do this case." for name in measured.left_out]
        rates = [f"{self.limits.copy / 1e9:,.0f} GB/s for copying"]
        for dtype in dict.fromkeys(measured.demand.dtype for measured in self.measured if measured.demand.operations):
            rates.append(f"{self.limits.products[dtype] / 1e12:,.0f} TFLOP/s for matrix products in {dtype}")
        words = {medal: f"{ratio:g}" for ratio, medal in MEDALS}
        footer = [text.format(limit=" and ".join(rates), rounds=timing.ROUNDS, **words) for text in MEASURED]
        prose = [*case_sentences, *refused]
        return Panel(f"{self.title} on {self.limits.gpu}", prose, HEADS, rows, footer=[*footer, *others])


def _labelled(cases: Sequence[Case]) -> tuple[list[str], list[str]]:
    """Prefixes for the names in a table of several cases, and sentences that name the cases."""
    if len(cases) == 1:
        return [""], [f"{cases[0].name}."]
    return [f"{i} · " for i in range(1, len(cases) + 1)], [f"Case {i}: {case.name}." for i, case in enumerate(cases, 1)]


def _possible(measured: Measured, limits: Limits) -> dict[str, Timing]:
    """The times within the limits, which are reported."""
    beyond = measured.beyond(limits)
    return {n: t for n, t in measured.times.items() if isinstance(t, Timing) and n not in beyond}


def _rows(label: str, measured: Measured, limits: Limits) -> list[list[Cell]]:
    possible = _possible(measured, limits)
    least = limits.least(measured.demand)
    rows = []
    for name, time in measured.times.items():
        if isinstance(time, str) or name not in possible:
            why = time if isinstance(time, str) else "beyond the limit"
            rows.append([Cell(label + name), Cell(why, "bad", number=True), *[Cell("", number=True)] * 5])
            continue
        flops = f"{measured.demand.operations / time.median / 1e12:,.0f}" if measured.demand.operations else "–"
        ratio = possible[COURSE].median / time.median if COURSE in possible else 0.0
        rows.append(
            [
                Cell(label + name),
                Cell(duration(time.median), number=True),
                Cell(f"{duration(time.low)} to {duration(time.high)}", "soft", number=True),
                Cell(f"{measured.demand.bytes / time.median / 1e9:,.0f}", number=True),
                Cell(flops, number=True),
                Cell(share(least, time.median), number=True),
                Cell(_ratio(name, ratio), "good" if ratio >= MEDALS[0][0] and name == YOURS else "", number=True),
            ]
        )
    return rows


def _ratio(name: str, ratio: float) -> str:
    if not ratio or name == COURSE:
        return ""
    medal = next((f", {medal}" for least, medal in MEDALS if ratio >= least), "") if name == YOURS else ""
    return f"{ratio:.2f} ×{medal}"


def _plots(measured: Measured, limits: Limits) -> Iterator[str]:
    shown = _possible(measured, limits)
    if not shown:
        return
    demand = measured.demand
    bars = [Bar(name, time.median, time.low, time.high) for name, time in shown.items()]
    yield time_plot(bars, limits.least(demand), title="Time of a launch")._repr_html_()
    if demand.operations:
        points = [(name, demand.operations / time.median) for name, time in shown.items()]
        roof = Roof(limits.gpu, limits.copy, limits.products[demand.dtype])
        yield roofline_plot(points, demand.operations / demand.bytes, roof, title="Under the roof")._repr_html_()


def predictions(puzzle: Puzzle, cases: Sequence[Case]) -> Panel:
    """The least time of each case on the GPUs of the course. Raises UsageError for impossible sizes."""
    labels, case_sentences = _labelled(cases)
    rows = []
    for label, case in zip(labels, cases, strict=True):
        with sizes_as_usage_errors():
            demand = roofline.demand(puzzle, case)
        products = f", {demand.operations / 1e9:,.0f} GFLOP" if demand.operations else ""
        size = f"{demand.bytes / 1e6:,.1f} MB{products}"
        for sheet in roofline.SHEETS:
            least = sheet.least(demand)
            bound = sheet.bound(demand)
            rows.append([Cell(label + sheet.gpu), Cell(duration(least), "soft", number=True), Cell(bound), Cell(size)])
    heads = ("", "predicted limit", "limited by", "work")
    title = f"{puzzle.title}: predicted, not measured"
    return Panel(title, (PREDICTED, *case_sentences), heads, rows, footer=(roofline.OBSERVED,))


# --- also used by `lab` and `xray` --------------------------------------------------------------------------------------


def kernel_in(path: Path, puzzle: Puzzle) -> KernelSource | None:
    """The puzzle's kernel in a file; None if there is none."""
    return next((entry.source for entry in from_path(path, [puzzle]) if entry.source is not None), None)


def launch_of(
    puzzle: Puzzle, case: Case, meta: Mapping[str, Scalar] | None = None, tensors: Tensors | None = None
) -> Launch:
    """A launch on these tensors or on new ones. Unlike `prepare`, it computes no reference, which is slow at large sizes."""
    if tensors is None:
        with sizes_as_usage_errors():
            tensors = puzzle.make(case)
    return puzzle.launch(case, tensors, case.meta if meta is None else meta)


def timed_launch(
    puzzle: Puzzle, source: KernelSource, case: Case, named: Collection[str] = (), tensors: Tensors | None = None
) -> Launch:
    """A launch in the first configuration of the kernel's autotune, if any, except for the sizes that the caller `named`."""
    if not source.configs:
        return launch_of(puzzle, case, tensors=tensors)
    own = {name: value for name, value in source.configs[0].meta.items() if name not in named}
    launch = launch_of(puzzle, case, {**case.meta, **own}, tensors)
    return replace(launch, options={**launch.options, **source.configs[0].options})


def allowed_bytes(puzzle: Puzzle, case: Case) -> int:
    """The budget of all tensors together."""
    return sum(allowance.loaded + allowance.stored for allowance in puzzle.budget(case).values())


def duration(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"
