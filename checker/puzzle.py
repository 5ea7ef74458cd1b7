"""The vocabulary of the course: what a puzzle consists of. Data only, no behaviour.

The files in `checker/course/` fill these in, and every other room reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, get_args

import torch

from checker.films.diagram import Diagram

Scalar = int | float | bool
Tensors = dict[str, torch.Tensor]
"""Tensors by the name of the kernel parameter that points to them, for example ``{"x_ptr": x, "y_ptr": y}``."""

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
Gate = Literal["source", "compile", "values", "memory", "traffic", "gpu", "speed"]
GATES: tuple[Gate, ...] = get_args(Gate)
"""What a kernel has to get through, in order."""
DECIDING: tuple[Gate, ...] = GATES[:-1]
"""The gates that can stop a kernel: speed earns medals."""
LARGEST_SIZE = 2**31 - 2**20
"""No size is larger, so that a tile that begins inside a tensor ends below 2³¹: Triton's largest has 2²⁰ elements. Offsets may be larger."""
CPU, GPU, TIMED = frozenset({"cpu"}), frozenset({"gpu"}), frozenset({"bench"})
"""Values of `Case.devices`: simulator only, GPU only, and neither: `bench` times these, and `xray` compiles them."""


def _unchanged(values: Any, case: Case) -> Any:
    return values


@dataclass(frozen=True)
class Family:
    """A way to make the values of a case.

    - `words` end a sentence that begins with "It fails with", `label` stands for the family in the names of cases.
    - ``make(values, case)`` changes normal values, or makes others. What `values` are is up to the puzzles that share the family:
      the rows of a matrix, or queries, keys and values.
    - `chunks` is the number of chunks or tiles that a row needs to show what the family is for.
    - `without` maps words for one kind of part to the same family without such parts.
    """

    name: str
    words: str = ""
    label: str = ""
    make: Callable[..., Any] = _unchanged
    chunks: int = 2
    without: Mapping[str, Family] = field(default_factory=dict, compare=False)


NORMAL = Family("normal", "ordinary values")


@dataclass(frozen=True)
class Case:
    """One combination of sizes, values and memory layout that a kernel is tried on. Two cases are the same if their fields are.

    - `sizes`: the puzzle's symbols, ``{"M": 5, "N": 37}``. The checker may reduce them to find the smallest failing shape.
    - `meta`: the constexpr tile sizes that the course chooses, ``{"BLOCK_N": 64}``.
    - `family`: how values are made. `layout`: how the tensors lie in memory.
    - `devices`: where the case runs. Large cases run only on a GPU.
    - `flags`: switches of the puzzle, ``{"IS_CAUSAL": True}``.
    """

    sizes: Mapping[str, int]
    meta: Mapping[str, int]
    dtype: str = "float32"
    family: Family = NORMAL
    layout: str = "contiguous"
    seed: int = 0
    devices: frozenset[str] = frozenset({"cpu", "gpu"})
    flags: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``M = 5, N = 37, BLOCK_N = 16, float16, ascending rows, padded``: everything but the defaults."""
        flags = {name: value for name, value in self.flags.items() if value}
        numbers = {**self.sizes, **self.meta, **flags, **({"seed": self.seed} if self.seed else {})}
        words = [name if value is True else f"{name} = {value}" for name, value in numbers.items()]
        words += [self.dtype, self.family.label, "" if self.layout == "contiguous" else self.layout]
        return ", ".join(filter(None, words))

    def __hash__(self) -> int:
        mappings = (frozenset(mapping.items()) for mapping in (self.sizes, self.meta, self.flags))
        return hash((*mappings, self.dtype, self.family.name, self.layout, self.seed, self.devices))


@dataclass(frozen=True)
class Larger:
    """A launch too large to make: its grid, and its whole numbers by parameter."""

    grid: tuple[int, int, int]
    numbers: Mapping[str, int]
    counts: Mapping[int, int] = field(default_factory=dict)
    """A size of the small launch, and what it is in this one: for sizes that the kernel loads."""
    indices: Mapping[str, int] = field(default_factory=dict)
    """By tensor, how much larger the indices are that the kernel loads from it."""


@dataclass(frozen=True)
class Launch:
    """One launch: what the course passes to the learner's kernel.

    `arguments` holds all tensors and numbers, `meta` all constexpr parameters. `options` are launch options (``num_warps``,
    ``num_stages``), not parameters of the kernel.
    """

    grid: tuple[int, ...]
    arguments: Mapping[str, torch.Tensor | Scalar]
    meta: Mapping[str, Scalar]
    outputs: tuple[str, ...]
    options: Mapping[str, int] = field(default_factory=dict)
    larger: Larger | None = None
    """If given, the simulator also follows the integers that this launch would have, and reports those that wrap around."""


@dataclass(frozen=True)
class Allowance:
    """How many bytes of one tensor a kernel may load and store, and why."""

    loaded: int
    stored: int
    because: str = ""


@dataclass(frozen=True)
class Tolerance:
    """|y - ref| <= rtol * |ref| + c * eps(dtype) * scale, for every element; the reference is float64.

    Without `near_zero`, an element whose reference is exactly 0 has to be exactly 0.
    """

    rtol: float
    c: float
    near_zero: bool = True


@dataclass(frozen=True)
class Domain:
    """What a kernel may assume. It has to work everywhere inside, and no case lies outside.

    - `sizes`: the values that each size may have; empty for any number from 1.
    - `related`: what holds between sizes, in words, and whether it holds for a case.
    - `tiles`: the smallest of each tile. All tiles are powers of two.
    - `masked`: the inputs, without ``_ptr``, that may hold -inf. No input holds NaN or +inf, but for those in `scratch`, which hold
      anything where nobody wrote.
    - `indices`: the inputs whose numbers are indices, which may be as large as any size.
    - `values`, `memory`, `accuracy`: what numbers inputs hold, how tensors lie in memory, and what an output may lose.
    - `expanded`: the inputs that may be expanded along some dimension: their stride is 0.
    """

    sizes: Mapping[str, tuple[int, ...]]
    tiles: Mapping[str, int]
    values: str
    memory: str
    accuracy: str
    related: Mapping[str, Callable[[Case], bool]] = field(default_factory=dict)
    masked: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    indices: tuple[str, ...] = ()
    expanded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hint:
    """Three levels, shown one after another: a question, an idea, a skeleton of the code."""

    question: str
    idea: str
    skeleton: str


@dataclass(frozen=True)
class Text:
    """What a puzzle's page says: its task, help while solving it, and the explanation afterwards."""

    title: str
    statement: str
    assumptions: tuple[str, ...]
    """The domain in words, a line each."""
    hint: Hint
    explanation: str


@dataclass(frozen=True)
class FilmSpec:
    """The film of a puzzle: its case, its diagram, and words for the state.

    `state` gives the film's words for local variables of the kernel (``{"m_i": "running max"}``). Other small values appear under
    their own names. `choices` are the sizes in the notebook's controls (``{"N": (7, 12, 24), "BLOCK_N": (4, 8, 16)}``).
    """

    case: Case
    diagram: Diagram
    state: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rescales:
    """When an online softmax has to rescale its accumulator: three cases of one shape and one program ask for it.

    In `level` no maximum grows, in `calm` it grows by less than the threshold in all, and in `steep` by more than the threshold in
    each of `tiles` tiles. One rescale takes `each` operations at least: the numbers in the accumulator.
    """

    level: Case
    calm: Case
    steep: Case
    tiles: int
    each: int


@dataclass(frozen=True)
class Part:
    """A step on the way to a whole kernel that can be checked before the rest is written. It never counts as a pass of the puzzle.

    It is judged on the cases that it `takes`, except those that an earlier part was judged on for the same `outputs`. Any other
    output is judged only if the kernel mentions it. With `rescales`, the kernel also has to avoid those that it does not need.
    """

    name: str
    asks: str
    takes: Callable[[Case], bool]
    outputs: tuple[str, ...]
    rescales: Rescales | None = None


@dataclass(frozen=True)
class Remark:
    """What to say about a launcher that is wrong in cases of one kind, and right in all others."""

    holds: Callable[[Case], bool]
    advice: str


@dataclass(frozen=True)
class Used:
    """A kernel that a launcher launches: its puzzle, and how those sizes that are no parameters follow from the launcher's."""

    puzzle: Puzzle
    sizes: Mapping[str, Callable[[Mapping[str, int]], int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Launcher:
    """The Python function around kernels, where a puzzle asks for no kernel: it allocates, launches them and returns the output.

    Each case has several steps, calls one after another. A step has tensors of its own, with its number in their names (``q_1``), and
    shares the others.
    """

    steps: int
    kernels: tuple[Used, ...]
    shapes: Sequence[Case]
    """Cases whose launches are only looked at, so that sizes may be large: what each kernel may assume has to hold. The flag
    MULTIPROCESSORS counts those of the GPU."""
    drawn: Callable[[Random], tuple[Case, ...]]
    """Random shapes from the same space, which graded runs also look at."""
    choice: str
    """The number that it has to choose, and to pass to every kernel: ``SPLITS``."""
    most: Callable[[Case], int]
    """The largest choice that makes sense."""
    too_many: str
    """Why a larger one does not."""
    remarks: tuple[Remark, ...]
    peer: Callable[..., Callable[[], object]]
    """A library's function to time beside it: it takes the same and returns a call. It knows no more than `torch` and `Callable`."""
    timed: Callable[[Case], Tensors]
    """Inputs of one step and outputs to time, quick to make."""
    medals: tuple[tuple[Case, float], ...]
    """Cases to time, and the share of a copy's rate that earns a medal."""


@dataclass(frozen=True)
class Puzzle:
    """One exercise: its task, launch, judgement and help. Course files make it with `checker.authoring.puzzle`."""

    name: str
    kernel: str
    parameters: tuple[str, ...]
    notebook: str
    points: int
    outputs: tuple[str, ...]
    text: Callable[[], Text]
    """Reads the puzzle's page, once."""
    cases: Sequence[Case]
    make: Callable[[Case], Tensors]
    """All tensors of a case, outputs included. The contents of outputs do not matter: the checker poisons them."""
    reference: Callable[[Case, Tensors], Tensors]
    """Expected outputs in float64, from the inputs in float64, which are already rounded to the case's dtype."""
    launch: Callable[[Case, Tensors, Mapping[str, Scalar]], Launch]
    """A launch with the given tensors and meta-parameters, which are the case's or those of a learner's autotune."""
    budget: Callable[[Case], Mapping[str, Allowance]]
    """Bytes that may be moved, by tensor; none for a tensor that is not named."""
    scale: Callable[[Case, str, torch.Tensor], torch.Tensor]
    """The scale of an absolute error in an output, broadcastable to its float64 reference."""
    tolerance: Mapping[str, Tolerance]
    """By the case's dtype, for outputs that are not in `output_tolerance`."""
    film: FilmSpec
    domain: Domain
    output_tolerance: Mapping[str, Mapping[str, Tolerance]] = field(default_factory=dict)
    """By output, then by the case's dtype."""
    huge: bool = True
    """Whether index arithmetic has to hold in launches that are too large to make."""
    drawn: Callable[[Random], tuple[Case, ...]] = lambda random: ()
    """Random cases from the same space as `cases`, which graded runs use in addition."""
    parts: tuple[Part, ...] = ()
    """In the order they are written; each includes those before it."""
    launcher: Launcher | None = None
    """Set where the learner writes a function around kernels. `kernel` and `parameters` are the function's then."""

    @property
    def title(self) -> str:
        return self.text().title

    @property
    def statement(self) -> str:
        return self.text().statement

    @property
    def assumptions(self) -> tuple[str, ...]:
        return self.text().assumptions

    @property
    def hint(self) -> Hint:
        return self.text().hint

    @property
    def explanation(self) -> str:
        return self.text().explanation


RunKernel = Callable[[str, Launch], Mapping[str, torch.Tensor]]
"""Launches the kernel of the named puzzle and returns the launch's tensors afterwards."""


@dataclass(frozen=True)
class Pipeline:
    """Several kernels launched one after another, each on the results of the one before."""

    name: str
    title: str
    kernels: tuple[Puzzle, ...]
    tiles: Mapping[str, tuple[str, ...]]
    """The tile sizes of each kernel, by its puzzle's name."""
    case: Case
    """The default sizes, tiles and flags."""
    check: Callable[[Case], None]
    """Raises ValueError for sizes that the kernels do not take."""
    make: Callable[[Case], Tensors]
    reference: Callable[[Case, Tensors], Tensors]
    run: Callable[[Case, Tensors, RunKernel, Mapping[str, Mapping[str, Scalar]]], Tensors]
    """The outputs. The last argument overrides the case's tile sizes by kernel."""
    outputs: Mapping[str, str]
    """A word for each output (``{"o_ptr": "output"}``)."""
    remark: Callable[[Case], str]
    """A sentence for below the figures."""
