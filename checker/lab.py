"""What notebook cells use besides the verbs: compare, film, measure and call the kernels of several puzzles; and figures.

These functions use the learner's newest kernel that passed. For a puzzle that the learner has not solved, they use the course's
solution, but do not film it, because a film shows the source. Demonstrations, which learners do not write, always use the
course's kernel.

Sizes are those of the puzzle: ``{"M": 4, "N": 1000, "BLOCK_N": 256, "IS_CAUSAL": True}``. By default they are as in its film.
Every function raises UsageError for a puzzle, size or dtype that does not exist, and if a kernel does not run.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from markupsafe import Markup
from rich.console import Console

from checker import gpu, workspace
from checker.checking import check_source
from checker.compiler import EXAMINED, CompileResult, compile_kernel, requests_for
from checker.course import PUZZLES
from checker.course.demonstrations import DEMONSTRATIONS, FOLDER, PIPELINES
from checker.films.page import linked
from checker.judge.launches import prepare, without_numbers
from checker.judge.phrases import stopped
from checker.judge.runner import RunResult
from checker.misconceptions import bank
from checker.phrases import count
from checker.puzzle import DTYPES, Case, Family, Launch, Pipeline, Puzzle, Scalar, Tensors
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
from checker.view.online_steps import online_steps as online_steps
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

NOT_SOLVED = "You have not solved the kernels marked with * yet, so the course's solution {} for them."
ORDERS = ("row-major", "reversed", "shuffled")
GROWN = 4096
"""How many times larger one size becomes on a GPU, so that every multiprocessor has work."""
LARGEST = 1 << 25
"""The most elements that a tensor then has; the size grows less if need be."""


# --- what each kernel does at given sizes -------------------------------------------------------------------------------


def films(names: Mapping[str, Sizes], together: bool = False) -> None:
    """Show films of several puzzles at the given sizes, one below another.

    With `together` they are side by side if the page is wide enough, and share a play button and a time line:
    ``films({"chunked_softmax/chunk_local_max": sizes, "online_softmax": sizes}, together=True)``. A name with a slash is a puzzle
    and one of its wrong kernels (`python -m checker mutants` lists them). All of them get the last one's kind of values, and so the
    same row.
    """
    names = _by_name("films", names)
    values = _puzzle(list(names)[-1].partition("/")[0]).film.case.family if together and names else None
    outputs = [_film(name, sizes, values) for name, sizes in names.items()]
    for output in [_together(outputs)] if together else outputs:
        display.show(output)


def card(name: str) -> None:
    """Show the card of a puzzle's wrong kernel, e.g. ``card("row_softmax/no_mask")``. This does not count as an attempt."""
    puzzle_name, _, mistake = name.partition("/")
    puzzle = _puzzle(puzzle_name)
    source = _wrong_kernel(puzzle, mistake)
    with display.working(f"Checking {source.kernel} …") as area:
        area.show(display.verdict_card(check_source(puzzle, source, "cpu")))


def bytes_moved(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Bytes loaded and stored at each of several sizes, counted in the simulator: ``bytes_moved("flash_attention", [{"D": 16}])``."""
    return [_bytes(trace) for trace in _traces("bytes_moved", name, sizes)]


def operations(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Floating-point operations at each of several sizes, counted in the simulator.

    A `tl.dot` of [m, k] and [k, n] counts 2·m·k·n. Element-wise operations and reductions count one per element; see
    `Trace.lane_flops`.
    """
    return [trace.flops + trace.lane_flops for trace in _traces("operations", name, sizes)]


def errors(name: str, sizes: Sequence[Sizes], dtype: str = "", output: str = "") -> list[float]:
    """The simulator's `relative_error` against the float64 reference at each of several sizes.

    `dtype` is the tensors' type, e.g. ``"bfloat16"`` (default: as in the film), and `output` the parameter, e.g. ``"o_ptr"``
    (default: the first). The reference uses inputs that are already rounded to `dtype`.
    """
    puzzle = _puzzle(name)
    output = output or puzzle.outputs[0]
    if output not in puzzle.outputs:
        raise UsageError(f"{name} has no output called {output}. Its outputs are {', '.join(puzzle.outputs)}.")
    cases = _cases("errors", puzzle, sizes, dtype)
    with sizes_as_usage_errors():
        prepared = [prepare(puzzle, case) for case in cases]
    runs = _simulated(puzzle, _kernel(puzzle)[0], cases, [one.launch for one in prepared])
    pairs = zip(prepared, runs, strict=True)
    return [relative_error(after[output], one.expected[output]) for one, (_, after) in pairs]


def timed(name: str, sizes: Sequence[Sizes], dtype: str = "") -> list[float] | None:
    """Median seconds on this machine's GPU at each of several sizes, with a cold L2 cache; None without a GPU.

    A kernel with `@triton.autotune` runs in its first configuration, except for tile sizes given in `sizes`.
    """
    puzzle = _puzzle(name)
    cases = _cases("timed", puzzle, sizes, dtype)
    if not gpu.available():
        return None
    source, _ = _kernel(puzzle)
    return _seconds(puzzle, source, cases, map(partial(timed_launch, puzzle, source), cases, sizes))


def memory_hierarchy(name: str = "", sizes: Sizes | None = None) -> Plot:
    """The memories of an H100: the size, bandwidth and latency of each, with sources.

    With a puzzle's `name`, marks show the bytes of all tensors at these `sizes`, and the bytes that one program may load:
    ``memory_hierarchy("row_softmax", {"M": 4096, "N": 1024, "BLOCK_N": 1024})``. No tensors are allocated.
    """
    if not name:
        return memory_levels()
    puzzle = _puzzle(name)
    case = _case(puzzle, sizes or {})
    with sizes_as_usage_errors():
        launch = without_numbers(puzzle, case)
    tensors = [value for value in launch.arguments.values() if isinstance(value, torch.Tensor)]
    moved, programs = allowed_bytes(puzzle, case), math.prod(launch.grid)
    loaded = sum(allowance.loaded for allowance in puzzle.budget(case).values())
    marks = [
        ("one program loads", loaded // programs),
        ("all tensors", sum(t.numel() * t.element_size() for t in tensors)),
    ]
    seconds = moved / H100[-1].bandwidth
    caption = f"{puzzle.kernel} moves {size(moved)} in {count(programs, 'program')}. At HBM's bandwidth that takes {duration(seconds)}."
    return memory_levels(marks, caption)


def banks() -> Banks:
    """Which lane hits which bank when a tile of 16-bit numbers is read along a row or down a column, in three layouts."""
    return Banks()


def levels(measured: Mapping[str, Sequence[float]], products: float) -> Plot:
    """TFLOP/s of kernels, each full and causal, as bars against the rate of large matrix products."""
    return levels_plot(measured, ("full", "causal"), products, title=f"TFLOP/s, and per cent of {products:,.0f}")


def compile_for(
    target: str, kernel: Any, arguments: Mapping[str, torch.Tensor | Scalar], meta: Mapping[str, Scalar], **options: int
) -> CompileResult:
    """Compile any kernel for the ``"T4"``, ``"A100"``, ``"L4"``, ``"H100"`` or ``"B200"``, which need not be present.

    `arguments` are those of a launch, in the kernel's order, `meta` its constexprs, and `options` may be ``num_warps`` and
    ``num_stages``. `CompileResult.facts` lists what the result tells.
    """
    if target not in EXAMINED:
        raise UsageError(f"There is no GPU called {target} in the course. Its GPUs are {', '.join(EXAMINED)}.")
    launch = Launch((1,), arguments, meta, (), options)
    (request,) = requests_for(launch, (*arguments, *meta), (EXAMINED[target],))
    return compile_kernel(kernel, request)


# --- several kernels compared -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparedKernel:
    """One kernel: the bytes of its budget, the bytes it moved, and its time if there is a GPU.

    For the timing, the size `grown` has the value `grown_to`, and the budget is `timed_bytes`.
    """

    puzzle: str
    predicted: int
    counted: int
    own: bool  # whether it is the learner's kernel
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
    """The result of `compare`, which a notebook shows as a plot."""

    kernels: tuple[ComparedKernel, ...]
    device: str = ""

    def _repr_html_(self) -> str:
        bars = [(kernel.label, kernel.predicted, kernel.counted) for kernel in self.kernels]
        plot = traffic_plot(bars, title="Bytes between memory and chip")._repr_html_()
        sentences = [
            f"{k.puzzle}: {k.time}, {k.rate} on the {self.device}, with {k.grown} = {k.grown_to:,}."
            for k in self.kernels
            if k.seconds
        ]
        if not all(kernel.own for kernel in self.kernels):
            sentences.append(NOT_SOLVED.format("was counted"))
        return plot + "".join(map(Markup("<p>{}</p>").format, sentences))

    def __repr__(self) -> str:
        lines = [
            f"{k.label}: {k.predicted:,} B predicted, {k.counted:,} counted" + (f", {k.time}" if k.seconds else "")
            for k in self.kernels
        ]
        note = [] if all(kernel.own for kernel in self.kernels) else ["* the course's solution"]
        return "\n".join(lines + note)


def compare(sizes: Mapping[str, Sizes]) -> Comparison:
    """Count the bytes of several puzzles' kernels in the simulator, and time them if there is a GPU.

    `sizes` names the puzzles in order: ``{"chunked_softmax": {"M": 4, "N": 1000, "BLOCK_N": 256}}``. For the timing, the
    outermost size, such as rows, heads or batches, becomes larger by the same factor in all puzzles.
    """
    device = gpu.device_name() if gpu.available() else ""
    puzzles = [_puzzle(name) for name in _by_name("compare", sizes)]
    cases = [_case(puzzle, sizes[puzzle.name]) for puzzle in puzzles]
    times = growth(puzzles, cases)
    with display.working("Counting bytes …") as area:
        compared = [_compared(p, case, times if device else 0) for p, case in zip(puzzles, cases, strict=True)]
        area.show(display.NOTHING)
    return Comparison(tuple(compared), device)


def _compared(puzzle: Puzzle, case: Case, times: int) -> ComparedKernel:
    source, own = _kernel(puzzle)
    ((trace, _),) = _simulated(puzzle, source, [case], [launch_of(puzzle, case)])
    counted = ComparedKernel(puzzle.name, allowed_bytes(puzzle, case), _bytes(trace), own)
    if not times:
        return counted
    name, large = grown(case, times)
    (seconds,) = _seconds(puzzle, source, [large], [timed_launch(puzzle, source, large, case.meta)])
    allowed = allowed_bytes(puzzle, large)
    return replace(counted, seconds=seconds, timed_bytes=allowed, grown=name, grown_to=int(large.sizes[name]))


def growth(puzzles: Sequence[Puzzle], cases: Sequence[Case]) -> int:
    """The power of two by which the outermost size of every case can grow."""
    with sizes_as_usage_errors():
        inputs = [puzzle.make(case) for puzzle, case in zip(puzzles, cases, strict=True)]
    largest = max((t.numel() for tensors in inputs for t in tensors.values()), default=1)
    return min(GROWN, 1 << max(0, (LARGEST // max(largest, 1)).bit_length() - 1))


def grown(case: Case, times: int) -> tuple[str, Case]:
    """The outermost size, and the case in which it is larger."""
    name = next(iter(case.sizes))
    return name, replace(case, sizes={**case.sizes, name: case.sizes[name] * times})


# --- several kernels, one after another ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One launch: its number of programs, and the bytes counted in the simulator."""

    puzzle: str
    programs: int
    moved: int
    own: bool  # whether it is the learner's kernel


@dataclass(frozen=True)
class PipelineRun:
    """The result of `pipeline`, with the `relative_error` of each output."""

    pipeline: Pipeline
    case: Case
    steps: tuple[Step, ...]
    errors: Mapping[str, float]

    @property
    def moved(self) -> int:
        """Bytes moved in all launches together."""
        return sum(step.moved for step in self.steps)

    def _repr_html_(self) -> str:
        rows = [
            [
                Cell(step.puzzle + ("" if step.own else " *")),
                Cell(f"{step.programs:,}", number=True),
                Cell(f"{step.moved:,}", number=True),
            ]
            for step in self.steps
        ]
        errors = f"Relative error in the simulator, against float64: {self._listed_errors}."
        others = [] if all(step.own for step in self.steps) else [NOT_SOLVED.format("ran")]
        title, heads = f"{self.pipeline.title}: {self.case.name}", ("launch", "programs", "bytes moved")
        return Panel(title, heads=heads, rows=rows, footer=[self.pipeline.remark(self.case), errors, *others]).html()

    def __repr__(self) -> str:
        title = self.pipeline.title[:1].lower() + self.pipeline.title[1:]
        others = "" if all(step.own for step in self.steps) else "; some are the course's solution"
        return f"<{title}, {self.moved:,} bytes moved; error against float64: {self._listed_errors}{others}>"

    @property
    def _listed_errors(self) -> str:
        return ", ".join(f"{self.pipeline.outputs[name]} {error:.1e}" for name, error in self.errors.items())


def pipeline(name: str, dtype: str = "float32", **sizes: Scalar) -> PipelineRun:
    """Simulate the kernels of a pipeline one after another: ``pipeline("causal_linear_attention", N=500, dtype="bfloat16")``.

    A kernel with `@triton.autotune` runs in its first configuration, except for tile sizes given in `sizes`.
    """
    if name not in PIPELINES:
        raise UsageError(f"There is no pipeline called {name}. The pipelines are {', '.join(PIPELINES)}.")
    if dtype not in DTYPES:
        raise UsageError(f"The pipeline has no {dtype!r} tensors. Its types are {', '.join(DTYPES)}.")
    selected = PIPELINES[name]
    with sizes_as_usage_errors():
        case = case_for("pipeline", sizes, replace(selected.case, dtype=dtype))
        selected.check(case)
        tensors = selected.make(case)
    kernels = {puzzle.name: (puzzle, *_kernel(puzzle)) for puzzle in selected.kernels}
    tiles = {
        name: {t: v for t, v in source.configs[0].meta.items() if t in selected.tiles[name] and t not in sizes}
        for name, (_, source, _) in kernels.items()
        if source.configs
    }
    steps: list[Step] = []

    def run(name: str, launch: Launch) -> Mapping[str, torch.Tensor]:
        puzzle, source, own = kernels[name]
        ((trace, after),) = _simulated(puzzle, source, [case], [launch])
        steps.append(Step(name, math.prod(launch.grid), _bytes(trace), own))
        return after

    with display.working(f"Running {len(kernels)} kernels …") as area:
        outputs = selected.run(case, tensors, run, tiles)
        area.show(display.NOTHING)
    expected = selected.reference(case, {name: tensor.double() for name, tensor in tensors.items()})
    errors = {name: relative_error(tensor, expected[name]) for name, tensor in outputs.items()}
    return PipelineRun(selected, case, tuple(steps), errors)


# --- kernels as functions of tensors ------------------------------------------------------------------------------------


def kernels(*names: str, device: str = "auto", order: str = "row-major") -> Kernels:
    """Call the kernels of several puzzles on your own tensors: ``with kernels("row_softmax") as run: …``.

    `device` is "cpu" (the simulator), "cuda", or "auto" (a GPU if there is one). `order` is the order of programs in the
    simulator: "row-major", "reversed" or "shuffled". Raises UnavailableHere for "cuda" without a GPU.
    """
    if order not in ORDERS:
        raise UsageError(f"order must be one of {', '.join(map(repr, ORDERS))}, not {order!r}.")
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"device must be 'auto', 'cpu' or 'cuda', not {device!r}.")
    if device == "cuda" and not gpu.available():
        raise UnavailableHere("There is no GPU here that PyTorch can use; kernels(device='cpu') uses the simulator.")
    on_gpu = device != "cpu" and gpu.available()
    puzzles = [_puzzle(name) for name in names]
    return Kernels({p.name: (p, *_kernel(p)) for p in puzzles}, on_gpu, order)


class Kernels:
    """Kernels whose processes live as long as the ``with`` statement, so that every launch starts at once."""

    def __init__(self, sources: Mapping[str, tuple[Puzzle, KernelSource, bool]], on_gpu: bool, order: str) -> None:
        self._sources, self._on_gpu = sources, on_gpu
        self._options = SimulateOptions(order=order, together=order == ORDERS[0])
        self._open, self._calls = ExitStack(), dict[str, Generator[Mapping[str, torch.Tensor], Launch, None]]()

    def __enter__(self) -> Kernels:
        return self

    def __exit__(self, *_: object) -> None:
        self._calls.clear()
        self._open.close()

    @property
    def not_solved(self) -> list[str]:
        """The unsolved puzzles, for which the course's kernel runs."""
        return [name for name, (_, _, own) in self._sources.items() if not own]

    def __call__(self, name: str, tensors: Tensors, **sizes: Scalar) -> Tensors:
        """Launch a kernel on copies of `tensors`, outputs included, and return the copies, on the CPU.

        Pass the puzzle's sizes, flags and tile sizes: ``run("row_softmax", {"x_ptr": x, "y_ptr": y}, M=4, N=7, BLOCK_N=8)``. The
        strides are those of the tensors. Raises UsageError if a tensor is missing or the kernel does not run.
        """
        if name not in self._sources:
            raise UsageError(f"{name} is not among these kernels: {', '.join(self._sources)}.")
        puzzle, source, _ = self._sources[name]
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
        except BaseException:  # the job has ended, so the next call starts another
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


# --- the kernel of a puzzle ---------------------------------------------------------------------------------------------


def _puzzle(name: str) -> Puzzle:
    puzzle = PUZZLES.get(name) or DEMONSTRATIONS.get(name)
    if puzzle is None:
        raise UsageError(f"There is no puzzle called {name}. The puzzles are {', '.join([*PUZZLES, *DEMONSTRATIONS])}.")
    return puzzle


def _kernel(puzzle: Puzzle) -> tuple[KernelSource, bool]:
    """The learner's kernel or else the course's, and whether to present it as the learner's own."""
    own = _own_kernel(puzzle)
    return own or _course_kernel(puzzle), own is not None or puzzle.name in DEMONSTRATIONS


def _own_kernel(puzzle: Puzzle) -> KernelSource | None:
    """The learner's newest kernel that passed."""
    passed = (workspace.find().ours / "passed").glob(f"{puzzle.name}-*.py")
    newest = max(passed, key=lambda path: path.stat().st_mtime, default=None)
    return kernel_in(newest, puzzle) if newest else None


def _course_kernel(puzzle: Puzzle) -> KernelSource:
    demonstration = puzzle.name in DEMONSTRATIONS
    path = workspace.find().solution_file(f"{FOLDER}/{puzzle.name}" if demonstration else puzzle.name)
    source = kernel_in(path, puzzle) if path else None
    if source is None:
        unsolved = "" if demonstration else f"You have not solved {puzzle.name} yet. "
        raise UsageError(f"{unsolved}The course's kernel is missing, because there is no folder solutions/ here.")
    return source


def _film(name: str, sizes: Sizes, values: Family | None) -> display.Output:
    """The film; the card if the kernel does not run; a sentence if the learner has not solved the puzzle yet."""
    puzzle_name, _, mistake = name.partition("/")
    puzzle = _puzzle(puzzle_name)
    case = _case(puzzle, sizes)  # refuses bad sizes even if the puzzle is unsolved
    if values is not None and values.name in {known.family.name for known in puzzle.cases}:
        case = replace(case, family=values)
    source = _own_kernel(puzzle)
    if mistake:
        source = _wrong_kernel(puzzle, mistake)
    elif puzzle.name in DEMONSTRATIONS:
        source = _course_kernel(puzzle)
    if source is not None:
        return film_output(film_at(puzzle, source, case))
    sentence = f"{puzzle.title}: the film will be here once your kernel has passed."
    return display.Output(
        lambda: Markup("<p>{}</p>").format(sentence), lambda console: console.print(sentence, markup=False)
    )


def _wrong_kernel(puzzle: Puzzle, mistake: str) -> KernelSource:
    kernels = {wrong.name: wrong.source for wrong in bank(puzzle.name)}
    if mistake not in kernels:
        listed = ", ".join(kernels) or "none"
        raise UsageError(f"{puzzle.name} has no wrong kernel called {mistake}. Its wrong kernels are {listed}.")
    return kernels[mistake]


def _together(outputs: Sequence[display.Output]) -> display.Output:
    def print_all(console: Console) -> None:
        for output in outputs:
            output.print(console)

    return display.Output(lambda: linked(*(output.html() for output in outputs)), print_all)


# --- sizes and runs -----------------------------------------------------------------------------------------------------


def _by_name(function: str, sizes: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
    if not isinstance(sizes, Mapping):
        name, puzzle = next(iter(PUZZLES.items()))
        example = {name: dict(puzzle.film.case.sizes)}
        raise UsageError(f"{function} takes puzzles with their sizes, as in {function}({example}), not {sizes!r}.")
    return sizes


def _case(puzzle: Puzzle, sizes: Sizes, dtype: str = "") -> Case:
    case = case_for(puzzle.name, sizes, puzzle.film.case)
    if dtype and dtype not in puzzle.tolerance:
        raise UsageError(f"{puzzle.name} has no {dtype!r} tensors. Its types are {', '.join(puzzle.tolerance)}.")
    return replace(case, dtype=dtype or case.dtype)


def _cases(function: str, puzzle: Puzzle, sizes: Sequence[Sizes], dtype: str = "") -> list[Case]:
    if isinstance(sizes, Mapping | str):
        example = repr(dict(sizes)) if isinstance(sizes, Mapping) else "{...}"
        raise UsageError(f"{function} takes a list of sizes, even for one: {function}({puzzle.name!r}, [{example}])")
    return [_case(puzzle, case_sizes, dtype) for case_sizes in sizes]


def _traces(function: str, name: str, sizes: Sequence[Sizes]) -> list[Trace]:
    """Simulate one launch for each of the sizes."""
    puzzle = _puzzle(name)
    cases = _cases(function, puzzle, sizes)
    source, _ = _kernel(puzzle)
    launches = [launch_of(puzzle, case) for case in cases]
    return [trace for trace, _ in _simulated(puzzle, source, cases, launches)]


def _simulated(
    puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], launches: Sequence[Launch]
) -> Iterator[tuple[Trace, Mapping[str, torch.Tensor]]]:
    results = Sandbox.shared().simulate(source, launches, SimulateOptions())
    # a result that is not `passed` is the last, and raises here
    for case, launch, result in zip(cases, launches, results, strict=False):
        if result.trace is None or result.status != "passed":
            why = stopped(source, result.line, result.message or result.status)
            raise UsageError(f"{puzzle.kernel} did not run at {case.name}: {why}")
        refuse_tiles_no_gpu_takes(puzzle, source, case, launch, result.trace)
        yield result.trace, result.tensors


def _seconds(puzzle: Puzzle, source: KernelSource, cases: Sequence[Case], launches: Iterable[Launch]) -> list[float]:
    """Median seconds of each launch on the GPU, one per case."""
    medians: list[float] = []
    try:
        for timing in Sandbox.shared().time(source, launches):
            medians.append(timing.median)
    except RuntimeError as error:
        raise UsageError(f"{puzzle.kernel} could not be timed at {cases[len(medians)].name}: {error}") from error
    return medians


def _bytes(trace: Trace) -> int:
    return sum(traffic.loaded + traffic.stored for traffic in trace.traffic.values())


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Root mean square of the difference, relative to the root mean square of `expected`, in float64.

    Infinite elements of `expected` are ignored, e.g. the log-sum-exp of a row that sees nothing. The error is NaN if `got` has
    NaN elsewhere, and infinite if `expected` is zero but `got` is not.
    """
    expected = expected.double().expand(got.shape)
    finite = expected.isfinite()
    difference = (got.double() - expected)[finite].square().mean().sqrt().item()
    scale = expected[finite].square().mean().sqrt().item()
    if scale == 0:
        return 0.0 if difference == 0 else math.inf
    return difference / scale
