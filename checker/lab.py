"""What notebook cells use beside the verbs: kernels side by side, their films, what each moves, computes, rounds and takes; figures; and
kernels to call.

A puzzle that the learner has solved is shown with their own kernel, the newest that passed. One that they skipped is counted
with the course's solution, so that the comparison is whole, but not filmed: a film shows the source. Demonstrations, which
learners do not write, are taken as puzzles are, always with the course's kernel.

Sizes are the puzzle's own: ``{"M": 4, "N": 1000, "BLOCK_N": 256, "IS_CAUSAL": True}``; what is not named is as in its film.
Everything here raises UsageError for a puzzle, a size or a type that does not exist, and where a kernel does not run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from markupsafe import Markup
from rich.console import Console

from checker import gpu, workspace
from checker.checking import check_source
from checker.compiler import TARGETS, CompileResult, compile_kernel, requests_for
from checker.course import PUZZLES
from checker.course.demonstrations import DEMONSTRATIONS, FOLDER, PIPELINES
from checker.films.page import linked, side_by_side
from checker.judge.launches import prepare, without_numbers
from checker.judge.phrases import stopped
from checker.judge.runner import RunResult
from checker.misconceptions import bank
from checker.phrases import count
from checker.puzzle import DTYPES, Case, Launch, Pipeline, Puzzle, Scalar, Tensors
from checker.sandbox import Sandbox
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource
from checker.verbs.arguments import (
    UnavailableHere,
    UsageError,
    case_for,
    refuse_tiles_no_gpu_takes,
    sizes_as_usage_errors,
)
from checker.verbs.bench import allowed_bytes, duration, kernel_in, launch_of, timed_launch
from checker.verbs.film import film_at, film_output
from checker.view import display
from checker.view.banks import Banks
from checker.view.formats import size
from checker.view.memory_levels import H100, memory_levels
from checker.view.panel import Cell, Panel
from checker.view.plots import Plot, Subplot, curves_plot, levels_plot, scaling_plot, traffic_plot

__all__ = [
    "Kernels",
    "Subplot",
    "banks",
    "bytes_moved",
    "card",
    "compare",
    "compile_for",
    "curves_plot",
    "errors",
    "films",
    "kernels",
    "levels",
    "memory_hierarchy",
    "operations",
    "pipeline",
    "scaling_plot",
    "timed",
]

Sizes = Mapping[str, Scalar]

NOT_SOLVED = "You have not solved the kernels marked with * yet: for those, the course's solution {}."
ORDERS = ("row-major", "reversed", "shuffled")
GROWN = 4096
LARGEST = 1 << 25
"""On a GPU one size is made this many times as large, so that every multiprocessor has work, or fewer times where a tensor
would have more elements than `LARGEST`."""


# --- what each kernel does at given sizes -------------------------------------------------------------------------------


def films(names: Mapping[str, Sizes], beside: bool = False, together: bool = False) -> None:
    """Show the films of several puzzles at the given sizes, below one another; one that is not solved yet says so.

    With `beside` they are side by side where the page is wide enough, and with `together` they also have one play button and
    one time line: ``films({"chunked_softmax/chunk_local_max": sizes, "online_softmax": sizes}, together=True)``. A name with a
    slash is one of the course's wrong kernels, the puzzle and the mistake (`python -m checker mutants` lists them).
    """
    made = [_film(name, sizes) for name, sizes in _by_name("films", names).items()]
    for shown in [_beside(made, together)] if beside or together else made:
        display.show(shown)


def card(name: str) -> None:
    """Show the card of one of the course's wrong kernels, the puzzle and the mistake: ``card("row_softmax/no_mask")``. It counts as nobody's attempt."""
    of, _, mistake = name.partition("/")
    puzzle = _puzzle(of)
    source = _wrong_kernel(puzzle, mistake)
    with display.working(f"Checking {source.kernel} …") as area:
        area.show(display.verdict_card(check_source(puzzle, source, "cpu")))


def bytes_moved(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Bytes between memory and chip at each of several sizes, counted in the simulator: ``bytes_moved("flash_attention", [{"D": 16}])``."""
    return [_bytes(trace) for trace in _counted("bytes_moved", name, sizes)]


def operations(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Floating-point operations at each of several sizes, counted in the simulator: those of `tl.dot` and those of lanes.

    A product of [m, k] and [k, n] is 2·m·k·n. An addition, multiplication, division, exponential or maximum of lanes is one
    for each element, and so is a sum or maximum over an axis; `Trace.lane_flops` has the list.
    """
    return [trace.flops + trace.lane_flops for trace in _counted("operations", name, sizes)]


def errors(name: str, sizes: Sequence[Sizes], dtype: str = "", output: str = "") -> list[float]:
    """The error in the simulator at each of several sizes: root mean square of the difference from the float64 reference over
    root mean square of the reference.

    `dtype` is that of the tensors, such as ``"bfloat16"``, `output` the kernel's parameter, such as ``"o_ptr"``; if not named,
    those of the film and the first. The reference starts from inputs that are rounded to `dtype` already.
    """
    puzzle = _puzzle(name)
    output = output or puzzle.outputs[0]
    if output not in puzzle.outputs:
        raise UsageError(f"{name} has no output called {output}. Its outputs are {', '.join(puzzle.outputs)}.")
    cases = _cases("errors", puzzle, sizes, dtype)
    with sizes_as_usage_errors():
        ready = [prepare(puzzle, case) for case in cases]
    runs = _simulated(puzzle, _kernel(puzzle)[0], cases, [made.launch for made in ready])
    return [relative_error(after[output], made.expected[output]) for made, (_, after) in zip(ready, runs, strict=True)]


def timed(name: str, sizes: Sequence[Sizes], dtype: str = "") -> list[float] | None:
    """Median seconds on this machine's GPU at each of several sizes, or None where there is no GPU that torch can use.

    The L2 cache is cold at each launch. A kernel with `@triton.autotune` runs in its first configuration, except for what
    `sizes` name.
    """
    puzzle = _puzzle(name)
    cases = _cases("timed", puzzle, sizes, dtype)
    if not gpu.available():
        return None
    source, _ = _kernel(puzzle)
    return _seconds(puzzle, source, cases, map(partial(timed_launch, puzzle, source), cases, sizes))


def memory_hierarchy(name: str = "", sizes: Sizes | None = None) -> Plot:
    """The memories of an H100: how large each is, how fast, and how far away, with their sources.

    With a puzzle's `name`, the bytes of its kernel at these `sizes` are marked in it: those of all tensors, and what one program
    loads and stores within the budget: ``memory_hierarchy("row_softmax", {"M": 4096, "N": 1024, "BLOCK_N": 1024})``. The
    tensors are not allocated.
    """
    if not name:
        return memory_levels()
    puzzle = _puzzle(name)
    case = _case(puzzle, sizes or {})
    with sizes_as_usage_errors():
        launch = without_numbers(puzzle, case)
    tensors = [value for value in launch.arguments.values() if isinstance(value, torch.Tensor)]
    moved, programs = allowed_bytes(puzzle, case), math.prod(launch.grid)
    marks = [("one program", moved // programs), ("all tensors", sum(t.numel() * t.element_size() for t in tensors))]
    seconds = moved / H100[-1].bandwidth
    caption = f"{puzzle.kernel} moves {size(moved)} in {count(programs, 'program')}. At HBM's bandwidth that takes {duration(seconds)}."
    return memory_levels(marks, caption)


def banks() -> Banks:
    """Which lane hits which bank: a tile of 16-bit numbers in three layouts, read along a row or down a column. The buttons choose."""
    return Banks()


def levels(measured: Mapping[str, Sequence[float]], products: float) -> Plot:
    """TFLOP/s of kernels, each full and causal, as bars beside the rate of large products of matrices.

    Below those that were `measured` stand the kernels of the course's own report, `reports/speed-*.json`, where it is there.
    """
    found = dict(measured)
    for path in sorted((workspace.find().root / "reports").glob("speed-*.json")):
        with suppress(OSError, ValueError, LookupError, TypeError):  # a report of another form
            pairs = _in_report(json.loads(path.read_text("utf-8")))
            found |= {f"{path.stem}: {name}": pair for name, pair in pairs.items()}
    return levels_plot(found, ("full", "causal"), products, title=f"TFLOP/s, and per cent of {products:,.0f}")


def _in_report(report: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The attention that notebook 13 is about, of each kernel in a report that `bench/speed.py` wrote: TFLOP/s full and causal."""
    both: dict[str, dict[str, float]] = {}
    for row in report["rows"]:
        mask = {f"D128 {mask} b1 h16 n16384": mask for mask in ("full", "causal")}.get(row["case"], "")
        if mask and row["family"] == "forward" and row["status"] == "timed":
            both.setdefault(row["name"], {})[mask] = row["figure"][0]
    return {name: (of["full"], of["causal"]) for name, of in both.items() if len(of) == 2}


def compile_for(
    target: str, kernel: Any, arguments: Mapping[str, torch.Tensor | Scalar], meta: Mapping[str, Scalar], **options: int
) -> CompileResult:
    """Compile any kernel for one GPU of the course, ``"T4"``, ``"A100"``, ``"L4"`` or ``"H100"``, which need not be present.

    `arguments` are those of a launch, in the kernel's order, and `meta` its constexprs; `options` are ``num_warps`` and
    ``num_stages``. See `CompileResult.facts` for what is known of the outcome.
    """
    if target not in TARGETS:
        raise UsageError(f"There is no GPU called {target} in the course. Its GPUs are {', '.join(TARGETS)}.")
    launch = Launch((1,), arguments, meta, (), options)
    (request,) = requests_for(launch, (*arguments, *meta), (TARGETS[target],))
    return compile_kernel(kernel, request)


# --- several kernels compared -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedKernel:
    """One kernel at one size: the bytes its budget allows, the bytes it moved, and its time where there is a GPU.

    It is timed with the size `grown` made as large as `grown_to`, so that every multiprocessor has work; `timed_bytes` are
    those that the budget allows there.
    """

    puzzle: str
    predicted: int
    counted: int
    own: bool  # the learner's kernel, not the course's
    seconds: float | None = None
    timed_bytes: int = 0
    grown: str = ""
    grown_to: int = 0

    @property
    def label(self) -> str:
        return self.puzzle + ("" if self.own else " *")

    @property
    def time(self) -> str:
        return duration(self.seconds or 0.0)

    @property
    def rate(self) -> str:
        return f"{self.timed_bytes / (self.seconds or 1.0) / 1e9:,.0f} GB/s"


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; a notebook shows it as a plot."""

    kernels: tuple[ComparedKernel, ...]
    device: str = ""

    def _repr_html_(self) -> str:
        bars = [(kernel.label, kernel.predicted, kernel.counted) for kernel in self.kernels]
        plot = traffic_plot(bars, title="Bytes between memory and chip")._repr_html_()
        words = [
            f"{k.puzzle}: {k.time}, {k.rate} on the {self.device}, with {k.grown} = {k.grown_to:,}."
            for k in self.kernels
            if k.seconds
        ]
        if not all(kernel.own for kernel in self.kernels):
            words.append(NOT_SOLVED.format("was counted"))
        return plot + "".join(map(Markup("<p>{}</p>").format, words))

    def __repr__(self) -> str:
        lines = [
            f"{k.label}: {k.predicted:,} B predicted, {k.counted:,} counted" + (f", {k.time}" if k.seconds else "")
            for k in self.kernels
        ]
        note = [] if all(kernel.own for kernel in self.kernels) else ["* the course's solution"]
        return "\n".join(lines + note)


def compare(sizes: Mapping[str, Sizes], grow: str = "") -> Comparison:
    """Run the kernel of each puzzle at its sizes in the simulator and count its bytes; time it as well where there is a GPU.

    `sizes` names the puzzles in order: ``{"chunked_softmax": {"M": 4, "N": 1000, "BLOCK_N": 256}}``. Each is timed with its
    size `grow` made the same number of times as large; if none is named, with its outermost one (rows, heads, batches).
    """
    device = gpu.device_name() if gpu.available() else ""
    puzzles = [_puzzle(name) for name in _by_name("compare", sizes)]
    cases = [_case(puzzle, sizes[puzzle.name]) for puzzle in puzzles]
    times = growth(puzzles, cases, grow)
    with display.working("Counting bytes …") as area:
        found = [_compared(p, case, grow, times if device else 0) for p, case in zip(puzzles, cases, strict=True)]
        area.show(display.NOTHING)
    return Comparison(tuple(found), device)


def _compared(puzzle: Puzzle, case: Case, grow: str, times: int) -> ComparedKernel:
    source, own = _kernel(puzzle)
    ((trace, _),) = _simulated(puzzle, source, [case], [launch_of(puzzle, case)])
    counted = ComparedKernel(puzzle.name, allowed_bytes(puzzle, case), _bytes(trace), own)
    if not times:
        return counted
    name, large = grown(case, grow, times)
    (took,) = _seconds(puzzle, source, [large], [timed_launch(puzzle, source, large, case.meta)])
    allowed = allowed_bytes(puzzle, large)
    return replace(counted, seconds=took, timed_bytes=allowed, grown=name, grown_to=int(large.sizes[name]))


def growth(puzzles: Sequence[Puzzle], cases: Sequence[Case], grow: str) -> int:
    """How many times as large one size of every case may be made: a power of two. Raises UsageError where one has no size `grow`."""
    for puzzle, case in zip(puzzles, cases, strict=True):
        if grow and grow not in case.sizes:
            raise UsageError(f"{puzzle.name} has no size {grow} to grow. Its sizes are {', '.join(case.sizes)}.")
    with sizes_as_usage_errors():
        made = [puzzle.make(case) for puzzle, case in zip(puzzles, cases, strict=True)]
    largest = max((t.numel() for tensors in made for t in tensors.values()), default=1)
    return min(GROWN, 1 << max(0, (LARGEST // max(largest, 1)).bit_length() - 1))


def grown(case: Case, grow: str, times: int) -> tuple[str, Case]:
    """Which size was made `times` as large (the outermost, which comes first, if none is named), and the case."""
    name = grow or next(iter(case.sizes))
    return name, replace(case, sizes={**case.sizes, name: case.sizes[name] * times})


# --- several kernels, one after another ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One launch: its programs, the bytes that the simulator counted, its median time on the GPU."""

    puzzle: str
    programs: int
    own: bool  # the learner's kernel, not the course's
    moved: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class PipelineRun:
    """What the kernels came to. Errors are root mean square of the difference over root mean square of float64."""

    pipeline: Pipeline
    case: Case
    steps: tuple[Step, ...]
    errors: Mapping[str, float]
    gpu_errors: Mapping[str, float]
    device: str = ""

    @property
    def moved(self) -> int | None:
        """Bytes between memory and chip in all launches together; None where nothing was simulated."""
        counted = [step.moved for step in self.steps if step.moved is not None]
        return sum(counted) if counted else None

    def _repr_html_(self) -> str:
        columns = {
            "launch": [Cell(step.puzzle + ("" if step.own else " *")) for step in self.steps],
            "programs": [Cell(f"{step.programs:,}", number=True) for step in self.steps],
        }
        if self.moved is not None:
            columns["bytes moved"] = [Cell(f"{step.moved:,}", number=True) for step in self.steps]
        if self.device:
            times = ["" if step.seconds is None else duration(step.seconds) for step in self.steps]
            columns[self.device] = [Cell(time, number=True) for time in times]
        words = [self.pipeline.remark(self.case)]
        for place, found in (("In the simulator", self.errors), (f"On the {self.device}", self.gpu_errors)):
            if found:
                words.append(f"{place}, distance from float64, relative to its size: {self._listed(found)}.")
        if not all(step.own for step in self.steps):
            words.append(NOT_SOLVED.format("ran"))
        rows = list(zip(*columns.values(), strict=True))
        return Panel(f"{self.pipeline.title}: {self.case.name}", heads=list(columns), rows=rows, footer=words).html()

    def __repr__(self) -> str:
        title = self.pipeline.title[:1].lower() + self.pipeline.title[1:]
        counted = "" if self.moved is None else f", {self.moved:,} bytes moved"
        others = "" if all(step.own for step in self.steps) else "; some of them are the course's solution"
        return f"<{title}{counted}; distance from float64: {self._listed(self.gpu_errors or self.errors)}{others}>"

    def _listed(self, found: Mapping[str, float]) -> str:
        return ", ".join(f"{self.pipeline.outputs[name]} {error:.1e}" for name, error in found.items())


def pipeline(name: str, device: str = "auto", dtype: str = "float32", **sizes: Scalar) -> PipelineRun:
    """Run the kernels of a pipeline one after another: ``pipeline("causal_linear_attention", N=500, dtype="bfloat16")``.

    Each is the learner's newest that passed, else the course's; a kernel with `@triton.autotune` runs in its first
    configuration, except for what `sizes` name. `device` is "cpu" (the simulator), "cuda", or "auto": the simulator, and the
    GPU too where there is one. Raises UnavailableHere for "cuda" without a GPU.
    """
    if name not in PIPELINES:
        raise UsageError(f"There is no pipeline called {name}. The pipelines are {', '.join(PIPELINES)}.")
    if dtype not in DTYPES:
        raise UsageError(f"There are no {dtype!r} tensors here. The types are {', '.join(DTYPES)}.")
    on_gpu = _on_gpu(device, "pipeline(device='cpu') runs in the simulator")
    chosen = PIPELINES[name]
    with sizes_as_usage_errors():
        case = case_for("pipeline", sizes, replace(chosen.case, dtype=dtype))
        chosen.check(case)
    with display.working(f"Running {len(chosen.kernels)} kernels …") as area:
        found = _run(chosen, case, device != "cuda", on_gpu, sizes)
        area.show(display.NOTHING)
    return found


def _run(chosen: Pipeline, case: Case, simulated: bool, on_gpu: bool, named: Collection[str]) -> PipelineRun:
    kernels = {puzzle.name: (puzzle, *_kernel(puzzle)) for puzzle in chosen.kernels}
    configs = {name: source.configs[0] for name, (_, source, _) in kernels.items() if source.configs}
    tiles = {
        name: {tile: v for tile, v in config.meta.items() if tile in chosen.tiles[name] and tile not in named}
        for name, config in configs.items()
    }
    with sizes_as_usage_errors():
        tensors = chosen.make(case)
    expected = chosen.reference(case, {name: tensor.double() for name, tensor in tensors.items()})
    simulated_steps: list[Step] = []
    timed_steps: list[Step] = []

    def in_simulator(name: str, launch: Launch) -> Mapping[str, torch.Tensor]:
        puzzle, source, own = kernels[name]
        ((trace, after),) = _simulated(puzzle, source, [case], [launch])
        simulated_steps.append(Step(name, math.prod(launch.grid), own, _bytes(trace)))
        return after

    def on_the_gpu(name: str, launch: Launch) -> Mapping[str, torch.Tensor]:
        puzzle, source, own = kernels[name]
        if name in configs:
            launch = replace(launch, options={**launch.options, **configs[name].options})
        after, seconds = _launched(puzzle, source, launch, case)
        timed_steps.append(Step(name, math.prod(launch.grid), own, seconds=seconds))
        return after

    def distances(got: Tensors) -> dict[str, float]:
        return {name: relative_error(tensor, expected[name]) for name, tensor in got.items()}

    errors = distances(chosen.run(case, tensors, in_simulator, tiles)) if simulated else {}
    gpu_errors = distances(chosen.run(case, tensors, on_the_gpu, tiles)) if on_gpu else {}
    steps = simulated_steps or timed_steps
    if simulated and on_gpu:
        steps = [replace(a, seconds=b.seconds) for a, b in zip(simulated_steps, timed_steps, strict=True)]
    return PipelineRun(chosen, case, tuple(steps), errors, gpu_errors, gpu.device_name() if on_gpu else "")


# --- kernels as functions of tensors ------------------------------------------------------------------------------------


def kernels(*names: str, device: str = "auto", order: str = "row-major") -> Kernels:
    """The kernels of several puzzles, to be called on tensors of one's own: ``with kernels("row_softmax") as run: …``.

    Each is the learner's newest that passed, else the course's. `device` is "cpu" (the simulator), "cuda", or "auto": a GPU where
    there is one. `order` is that of the programs in the simulator: "row-major", "reversed" or "shuffled". Raises UnavailableHere for
    "cuda" without a GPU.
    """
    if order not in ORDERS:
        raise UsageError(f"order is {', '.join(map(repr, ORDERS))}, not {order!r}.")
    on_gpu = _on_gpu(device, "kernels(device='cpu') uses the simulator")
    puzzles = [_puzzle(name) for name in names]
    return Kernels({p.name: (p, *_kernel(p)) for p in puzzles}, on_gpu, order)


class Kernels:
    """Kernels whose processes stay until the ``with`` statement is left, so that one launch after another starts at once."""

    def __init__(self, chosen: Mapping[str, tuple[Puzzle, KernelSource, bool]], on_gpu: bool, order: str) -> None:
        self._chosen, self._on_gpu = chosen, on_gpu
        self._options = SimulateOptions(order=order, together=order == ORDERS[0])
        self._open, self._calls = ExitStack(), dict[str, Generator[Mapping[str, torch.Tensor], Launch, None]]()

    def __enter__(self) -> Kernels:
        return self

    def __exit__(self, *_: object) -> None:
        self._calls.clear()
        self._open.close()

    @property
    def not_solved(self) -> list[str]:
        """The puzzles that are not solved yet, and for which the course's kernel runs."""
        return [name for name, (_, _, own) in self._chosen.items() if not own]

    def __call__(self, name: str, tensors: Tensors, **sizes: Scalar) -> Tensors:
        """Launch a kernel on `tensors`, all that it takes, outputs included, and give them as they are afterwards: new ones, on the CPU.

        `sizes` are those of the puzzle, its flags and tile sizes: ``run("row_softmax", {"x_ptr": x, "y_ptr": y}, M=4, N=7, BLOCK_N=8)``.
        The kernel is passed the strides of the tensors. Raises UsageError where a tensor is missing or the kernel does not run.
        """
        if name not in self._chosen:
            raise UsageError(f"{name} is not among these kernels: {', '.join(self._chosen)}.")
        puzzle, source, _ = self._chosen[name]
        needed = [parameter for parameter in puzzle.parameters if parameter.endswith("_ptr")]
        if missing := [parameter for parameter in needed if parameter not in tensors]:
            raise UsageError(f"{puzzle.kernel} needs {', '.join(missing)} as well.")
        case = _case(puzzle, sizes)
        with sizes_as_usage_errors():
            launch = puzzle.launch(case, {parameter: tensors[parameter] for parameter in needed}, case.meta)
        if name not in self._calls:
            run = self._launched if self._on_gpu else self._simulated
            self._calls[name] = run(puzzle, source)
            self._open.callback(self._calls[name].close)
            next(self._calls[name])
        try:
            after = self._calls[name].send(launch)
        except BaseException:  # its job has ended: the next call starts another
            del self._calls[name]
            raise
        return {parameter: after[parameter] for parameter in needed}

    def _simulated(self, puzzle: Puzzle, source: KernelSource) -> Generator[Mapping[str, torch.Tensor], Launch, None]:
        after: Mapping[str, torch.Tensor] = {}
        with Sandbox.shared().session() as session:
            while True:
                launch = yield after
                (result,) = session.simulate(source, [launch], self._options)
                after = _tensors(puzzle, source, result)

    def _launched(self, puzzle: Puzzle, source: KernelSource) -> Generator[Mapping[str, torch.Tensor], Launch, None]:
        queued: list[Launch] = []
        results = Sandbox.shared().launch(source, iter(queued.pop, None), ahead=1)
        after: Mapping[str, torch.Tensor] = {}
        while True:
            queued.append((yield after))
            after = _tensors(puzzle, source, next(results))


def _tensors(puzzle: Puzzle, source: KernelSource, result: RunResult) -> Mapping[str, torch.Tensor]:
    if result.status != "passed":
        raise UsageError(
            f"{puzzle.kernel} did not run: {stopped(source, result.line, result.message or result.status)}"
        )
    return result.tensors


def _on_gpu(device: str, instead: str) -> bool:
    """Whether a GPU is used. Raises UnavailableHere, with what works `instead`, where there is none and it was asked for."""
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"device is 'auto', 'cpu' or 'cuda', not {device!r}.")
    if device == "cuda" and not gpu.available():
        raise UnavailableHere(f"There is no GPU here that PyTorch can use; {instead}.")
    return device != "cpu" and gpu.available()


# --- the kernel of a puzzle ---------------------------------------------------------------------------------------------


def _puzzle(name: str) -> Puzzle:
    found = PUZZLES.get(name) or DEMONSTRATIONS.get(name)
    if found is None:
        raise UsageError(f"There is no puzzle called {name}. The puzzles are {', '.join([*PUZZLES, *DEMONSTRATIONS])}.")
    return found


def _kernel(puzzle: Puzzle) -> tuple[KernelSource, bool]:
    """The kernel to count and to time, and whether it counts as the learner's: not where the course's fills in."""
    own = _own_kernel(puzzle)
    return own or _course_kernel(puzzle), own is not None or puzzle.name in DEMONSTRATIONS


def _own_kernel(puzzle: Puzzle) -> KernelSource | None:
    """The learner's newest kernel that passed."""
    passed = (workspace.find().ours / "passed").glob(f"{puzzle.name}-*.py")
    newest = max(passed, key=lambda path: path.stat().st_mtime, default=None)
    return kernel_in(newest, puzzle) if newest else None


def _course_kernel(puzzle: Puzzle) -> KernelSource:
    shown = puzzle.name in DEMONSTRATIONS
    path = workspace.find().solution_file(f"{FOLDER}/{puzzle.name}" if shown else puzzle.name)
    source = kernel_in(path, puzzle) if path else None
    if source is None:
        needed = "is a kernel of the course's own" if shown else "is not solved yet"
        raise UsageError(f"{puzzle.name} {needed}, and the folder solutions/ is not here to run it from.")
    return source


def _film(name: str, sizes: Sizes) -> display.Output:
    """The film; the card where the kernel does not run; a sentence where the learner still has the puzzle ahead."""
    of, _, mistake = name.partition("/")
    puzzle = _puzzle(of)
    case = _case(puzzle, sizes)  # sizes that do not exist are refused, solved or not
    source = _own_kernel(puzzle)
    if mistake:
        source = _wrong_kernel(puzzle, mistake)
    elif puzzle.name in DEMONSTRATIONS:
        source = _course_kernel(puzzle)
    if source is not None:
        return film_output(film_at(puzzle, source, case))
    sentence = f"{puzzle.title}: there will be a film here once your kernel has passed."
    return display.Output(
        lambda: Markup("<p>{}</p>").format(sentence), lambda console: console.print(sentence, markup=False)
    )


def _wrong_kernel(puzzle: Puzzle, mistake: str) -> KernelSource:
    known = {wrong.name: wrong.source for wrong in bank(puzzle.name)}
    if mistake not in known:
        raise UsageError(f"{puzzle.name} has no wrong kernel called {mistake}. They are {', '.join(known) or 'none'}.")
    return known[mistake]


def _beside(shown: Sequence[display.Output], together: bool) -> display.Output:
    def print_all(console: Console) -> None:
        for output in shown:
            output.print(console)

    arrange = linked if together else side_by_side
    return display.Output(lambda: arrange(*(output.html() for output in shown)), print_all)


# --- sizes and runs -----------------------------------------------------------------------------------------------------


def _by_name(function: str, sizes: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
    if not isinstance(sizes, Mapping):
        name, puzzle = next(iter(PUZZLES.items()))
        example = {name: dict(puzzle.film.case.sizes)}
        raise UsageError(f"{function} takes puzzles with their sizes: {function}({example}), not {sizes!r}.")
    return sizes


def _case(puzzle: Puzzle, sizes: Sizes, dtype: str = "") -> Case:
    case = case_for(puzzle.name, sizes, puzzle.film.case)
    if dtype and dtype not in puzzle.tolerance:
        raise UsageError(f"{puzzle.name} has no {dtype!r} tensors. Its types are {', '.join(puzzle.tolerance)}.")
    return replace(case, dtype=dtype or case.dtype)


def _cases(function: str, puzzle: Puzzle, sizes: Sequence[Sizes], dtype: str = "") -> list[Case]:
    if isinstance(sizes, Mapping | str):
        shown = repr(dict(sizes)) if isinstance(sizes, Mapping) else "{...}"
        raise UsageError(f"{function} takes a list of sizes, even for one: {function}({puzzle.name!r}, [{shown}])")
    return [_case(puzzle, case_sizes, dtype) for case_sizes in sizes]


def _counted(function: str, name: str, sizes: Sequence[Sizes]) -> list[Trace]:
    """One launch in the simulator for each of the sizes, with the tiles that they name."""
    puzzle = _puzzle(name)
    cases = _cases(function, puzzle, sizes)
    source, _ = _kernel(puzzle)
    launches = [launch_of(puzzle, case) for case in cases]
    return [trace for trace, _ in _simulated(puzzle, source, cases, launches)]


def _simulated(
    puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], launches: Sequence[Launch]
) -> Iterator[tuple[Trace, Mapping[str, torch.Tensor]]]:
    results = Sandbox.shared().simulate(source, launches, SimulateOptions())
    # the first result that is not `passed` is the last, and raises here
    for case, launch, result in zip(cases, launches, results, strict=False):
        if result.trace is None or result.status != "passed":
            why = stopped(source, result.line, result.message or result.status)
            raise UsageError(f"{puzzle.kernel} did not run at {case.name}: {why}")
        refuse_tiles_no_gpu_takes(puzzle, source, case, launch, result.trace)
        yield result.trace, result.tensors


def _seconds(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], launches: Iterable[Launch]) -> list[float]:
    """Median seconds of each launch on the GPU, one of each case."""
    medians: list[float] = []
    try:
        for timing in Sandbox.shared().time(source, launches):
            medians.append(timing.median)
    except RuntimeError as error:
        raise UsageError(f"{puzzle.kernel} could not be timed at {cases[len(medians)].name}: {error}") from error
    return medians


def _launched(
    puzzle: Puzzle, source: KernelSource, launch: Launch, case: Case
) -> tuple[Mapping[str, torch.Tensor], float]:
    (result,) = Sandbox.shared().launch(source, [launch])
    if result.status != "passed":
        raise UsageError(f"{puzzle.kernel} did not run on the GPU at {case.name}: {result.message or result.status}")
    (seconds,) = _seconds(puzzle, source, [case], [launch])
    return result.tensors, seconds


def _bytes(trace: Trace) -> int:
    return sum(traffic.loaded + traffic.stored for traffic in trace.traffic.values())


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Root mean square of the difference over root mean square of `expected`, in float64.

    Elements whose reference is infinite are left out (the log-sum-exp of a row that sees nothing). NaN where `got` holds one
    elsewhere; a difference from a reference of nothing but zeros is infinite.
    """
    expected = expected.double().expand(got.shape)
    counted = expected.isfinite()
    difference = (got.double() - expected)[counted].square().mean().sqrt().item()
    size = expected[counted].square().mean().sqrt().item()
    if size == 0:
        return 0.0 if difference == 0 else math.inf
    return difference / size
