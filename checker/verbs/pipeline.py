"""Causal linear attention in three kernels, run one after another on what each really hands to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from checker import workspace
from checker.puzzle import DTYPES, Case, Launch, Scalar
from checker.verbs import rung_kernels
from checker.verbs.naming import Unavailable, UsageError
from checker.view import display
from checker.view.panel import Cell, Panel

if TYPE_CHECKING:
    import torch

    from checker.submission.kernel import KernelSource

DEFAULTS = {"B": 1, "H": 2, "N": 200, "D": 16, "D_V": 24, "CHUNK": 16, "BLOCK_V": 16, "BLOCK_SIZE": 64, "PAST": 0}
LARGEST = 1 << 25
"""Numbers in one tensor: the float64 reference is computed on the processor."""
WORDS = {"o_ptr": "output", "s_ptr": "final state S", "z_ptr": "final z"}


@dataclass(frozen=True)
class Step:
    """One launch: its programs, the bytes that the simulator counted, its median time on the GPU."""

    puzzle: str
    programs: int
    own: bool  # the learner's kernel, not the course's
    moved: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Pipeline:
    """What the three kernels came to. Errors are root mean square of the difference over root mean square of float64."""

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

    def _panel(self) -> Panel:
        shown = [
            ("launch", lambda s: Cell(s.puzzle + ("" if s.own else " *"))),
            ("programs", lambda s: Cell(f"{s.programs:,}", number=True)),
        ]
        if self.moved is not None:
            shown.append(("bytes moved", lambda s: Cell(f"{s.moved:,}", number=True)))
        if self.device:
            shown.append((self.device, lambda s: Cell(_time(s.seconds), number=True)))
        return Panel(
            f"Three kernels in four launches: {self.case.name}",
            heads=[head for head, _ in shown],
            rows=[[cell(step) for _, cell in shown] for step in self.steps],
            footer=self._words(),
        )

    def _words(self) -> tuple[str, ...]:
        alone = -(-self.case.sizes["D_V"] // self.case.meta["BLOCK_V"]) * self.case.sizes["B"] * self.case.sizes["H"]
        words = [
            f"One program for each head and slice of the values, as the recurrent kernel has them, would be {alone}."
        ]
        for place, errors in (("In the simulator", self.errors), (f"On the {self.device}", self.gpu_errors)):
            if errors:
                told = ", ".join(f"{WORDS[name]} {error:.1e}" for name, error in errors.items())
                words.append(f"{place}, distance from float64, relative to its size: {told}.")
        if not all(step.own for step in self.steps):
            words.append("Kernels marked with * you have not solved yet: what ran there is the course's solution.")
        return tuple(words)

    def _repr_html_(self) -> str:
        return self._panel().html()

    def __repr__(self) -> str:
        counted = "" if self.moved is None else f", {self.moved:,} bytes moved"
        errors = ", ".join(f"{WORDS[name]} {error:.1e}" for name, error in (self.gpu_errors or self.errors).items())
        others = "" if all(step.own for step in self.steps) else "; some of them are the course's solution"
        return f"<three kernels in four launches{counted}; distance from float64: {errors}{others}>"


def pipeline(device: str = "auto", dtype: str = "float32", **sizes: Scalar) -> Pipeline:
    """Run the three kernels for few heads one after another: ``pipeline(N=500, CHUNK=32, dtype="bfloat16")``.

    Each is the learner's newest that passed, else the course's. `sizes` are those of `DEFAULTS`: BLOCK_SIZE is the prefix's
    tile, PAST the number of tokens that the initial state holds. `device` is "cpu" (the simulator), "cuda", or "auto": the
    simulator, and the GPU too where there is one. Raises UsageError for sizes, types and devices that do not exist and where a
    kernel does not run, Unavailable for "cuda" without a GPU.
    """
    from checker import gpu

    case = _case(dtype, sizes)
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"device is 'auto', 'cpu' or 'cuda', not {device!r}.")
    if device == "cuda" and not gpu.available():
        raise Unavailable("There is no GPU here that PyTorch can use; pipeline(device='cpu') runs in the simulator.")
    with display.working("Running three kernels …") as card:
        found = _run(case, device != "cuda", device != "cpu" and gpu.available(), frozenset(sizes))
        card.show(lambda: "", lambda console: None)
    return found


def _case(dtype: str, sizes: Mapping[str, Any]) -> Case:
    from checker.course.linear_pipeline import pipeline_case
    from checker.verbs.sizes import case_for

    if dtype not in DTYPES:
        raise UsageError(f"There are no {dtype!r} tensors here. The types are {', '.join(DTYPES)}.")
    b, h, n, d, d_v, chunk, block_v, block, past = DEFAULTS.values()
    case = pipeline_case(b, h, n, d, d_v, chunk, block_v, block, dtype=dtype, flags={"PAST": past})
    case = case_for("pipeline", sizes, case)
    past = int(case.flags["PAST"])
    if past < 0:
        raise UsageError(f"PAST counts tokens and cannot be {past}.")
    tiles = (case.meta[name] for name in ("CHUNK", "BLOCK_V", "BLOCK_SIZE"))
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    if case.meta["CHUNK"] < 16 or case.meta["BLOCK_V"] < 16:
        raise UsageError("CHUNK and BLOCK_V are at least 16: tensor cores take no smaller tiles.")
    if (largest := b * h * n * max(d, d_v)) > LARGEST:
        raise UsageError(
            f"A tensor of these sizes has {largest:,} numbers; {LARGEST:,} are the most that can be tried here."
        )
    return pipeline_case(b, h, n, d, d_v, *tiles, dtype=dtype, flags={"PAST": past})


def _run(case: Case, simulated: bool, on_gpu: bool, named: frozenset[str]) -> Pipeline:
    from checker import gpu
    from checker.course import linear_causal
    from checker.course.linear_pipeline import KERNELS, META, chained

    space = workspace.find()
    chosen = {puzzle.name: rung_kernels.chosen(space, puzzle) for puzzle in KERNELS}
    sources = {name: source for name, (source, _) in chosen.items()}
    tiles = {name: _tiles(source, META[name], named) for name, source in sources.items()}
    try:
        tensors = linear_causal.make(case)
    except ValueError as error:
        raise UsageError(f"{error}.") from error
    expected = linear_causal.reference(case, {name: tensor.double() for name, tensor in tensors.items()})
    steps: list[Step] = []

    def in_simulator(name: str, launch: Launch) -> Mapping[str, torch.Tensor]:
        after, moved = _simulated(sources[name], launch, case)
        steps.append(Step(name, _programs(launch), not chosen[name][1], moved))
        return after

    timed: list[Step] = []

    def on_the_gpu(name: str, launch: Launch) -> Mapping[str, torch.Tensor]:
        launch = _configured(sources[name], launch)
        after, seconds = _launched(sources[name], launch, case)
        timed.append(Step(name, _programs(launch), not chosen[name][1], seconds=seconds))
        return after

    errors, gpu_errors = {}, {}
    if simulated:
        errors = _errors(chained(case, tensors, in_simulator, tiles), expected)
    if on_gpu:
        gpu_errors = _errors(chained(case, tensors, on_the_gpu, tiles), expected)
        steps = [replace(a, seconds=b.seconds) for a, b in zip(steps or timed, timed, strict=True)]
    return Pipeline(case, tuple(steps), errors, gpu_errors, gpu.device_name() if on_gpu else "")


def _tiles(source: KernelSource, known: tuple[str, ...], named: frozenset[str]) -> dict[str, Scalar]:
    """The tiles of the kernel's own first configuration, where it has one; not those that the caller named."""
    if not source.configs:
        return {}
    return {name: v for name, v in source.configs[0].meta.items() if name in known and name not in named}


def _configured(source: KernelSource, launch: Launch) -> Launch:
    return replace(launch, options={**launch.options, **source.configs[0].options}) if source.configs else launch


def _simulated(source: KernelSource, launch: Launch, case: Case) -> tuple[Mapping[str, torch.Tensor], int]:
    from checker.sandbox import Sandbox
    from checker.simulator.trace import SimulateOptions

    (result,) = Sandbox.shared().simulate(source, [launch], SimulateOptions())
    if result.trace is None or result.status != "passed":
        raise UsageError(f"{source.kernel} did not run at {case.name}: {result.message or result.status}")
    return result.tensors, sum(t.loaded + t.stored for t in result.trace.traffic.values())


def _launched(source: KernelSource, launch: Launch, case: Case) -> tuple[Mapping[str, torch.Tensor], float]:
    from checker.sandbox import Sandbox

    (result,) = Sandbox.shared().launch(source, [launch])
    if result.status != "passed":
        raise UsageError(f"{source.kernel} did not run on the GPU at {case.name}: {result.message or result.status}")
    try:
        (timing,) = Sandbox.shared().time(source, [launch])
    except RuntimeError as error:
        raise UsageError(f"{source.kernel} could not be timed at {case.name}: {error}") from error
    return result.tensors, timing.median


def _programs(launch: Launch) -> int:
    programs = 1
    for size in launch.grid:
        programs *= size
    return programs


def _errors(got: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> dict[str, float]:
    from checker.verbs.measuring import relative_error

    return {name: relative_error(tensor, expected[name]) for name, tensor in got.items()}


def _time(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"
