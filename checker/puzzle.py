"""The vocabulary of the course: what a puzzle is made of. Data only, no behaviour.

A puzzle file in `checker/course/` fills these in; every other room reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

import torch

Scalar = int | float | bool
Tensors = dict[str, torch.Tensor]
"""Tensors by the name of the kernel parameter that points at them, e.g. ``{"x_ptr": x, "y_ptr": y}``."""

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
CPU, GPU = frozenset({"cpu"}), frozenset({"gpu"})
"""Values of `Case.devices`: in the simulator only, and on a GPU only."""


@dataclass(frozen=True)
class Case:
    """One set of sizes, values and layout that a kernel is tried on.

    `sizes` are the puzzle's own symbols (``{"M": 5, "N": 37}``), `meta` the constexpr tile sizes the course picks
    (``{"BLOCK_N": 64}``), `family` names how the values are drawn (see `checker/course/families.py`), `layout` how the
    tensors lie in memory. `devices` says where the case runs: large ones only on a GPU. `flags` are the puzzle's own
    switches (``{"IS_CAUSAL": True}``). Sizes may be made smaller when the checker looks for the smallest failing shape.
    """

    name: str
    sizes: Mapping[str, int]
    meta: Mapping[str, int]
    dtype: str = "float32"
    family: str = "normal"
    layout: str = "contiguous"
    seed: int = 0
    devices: frozenset[str] = frozenset({"cpu", "gpu"})
    flags: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """One launch, bound: what the course passes to the learner's kernel.

    `arguments` holds every parameter that is not a constexpr (tensors and numbers), `meta` every constexpr. `options`
    are launch options (``num_warps``, ``num_stages``) and do not reach the kernel's parameters.

    `far` names tensors that the simulator treats as if they lay at these strides, in elements, wherever they really lie: a
    matrix whose offsets pass 2³¹ without the memory of one. `arguments` then hold those strides. Only the simulator knows it.
    """

    grid: tuple[int, ...]
    arguments: Mapping[str, torch.Tensor | Scalar]
    meta: Mapping[str, Scalar]
    outputs: tuple[str, ...]
    options: Mapping[str, int] = field(default_factory=dict)
    far: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Allowance:
    """How many bytes of one tensor a kernel may move, and why."""

    loaded: int
    stored: int
    because: str = ""


@dataclass(frozen=True)
class Tolerance:
    """|y - ref| <= rtol * |ref| + c * eps(dtype) * scale, for every element; the reference is float64.

    Without `near_zero`, what is exactly 0 in the reference has to be exactly 0.
    """

    rtol: float
    c: float
    near_zero: bool = True


@dataclass(frozen=True)
class Hint:
    """Three levels, each one click away: a question, then an idea, then a skeleton of the code."""

    question: str
    idea: str
    skeleton: str


@dataclass(frozen=True)
class ExactState:
    """What an honest kernel may hold at one time, by the name of its variable: [alternatives, rows] in float64.

    The plain value comes first, other forms of it (another base, a logarithm) after it. NaN where nothing can be said.
    """

    during: Mapping[str, torch.Tensor]
    """Between one chunk and the next."""
    afterwards: Mapping[str, torch.Tensor]
    """Once the walk is over: also what a kernel goes on with."""


@dataclass(frozen=True)
class Accumulator:
    """A matrix that is updated like the sum beside it: one row of it belongs to one number of the sum.

    `names` are variables, the first one found is shown; its new terms are the product of the tiles `left` [rows, chunk] and
    `right` [chunk, columns], each the first of its names that is found. `said` may use what `Update`'s sentences may.
    """

    names: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Update:
    """How a running sum takes in one more chunk, ``old × factor + new``: what a film draws as bars, and what it says.

    `measure` and `total` are variables of the running state: what the terms are measured against, and their sum.
    ``factor(before, after)`` is what the old sum is multiplied by when the measure goes from one number to the other.

    The sentences: `begins` for the first chunk, `changes` where the measure changed, `stays` where it did not, and `departs`
    behind them where the kernel holds another sum. They may use ``{before}`` and ``{after}``, the measure, ``{old}``, ``{factor}``,
    ``{new}`` and ``{sum}`` of ``old × factor + new = sum``, and ``{got}``, what the kernel holds.
    """

    measure: str
    total: str
    factor: Callable[[float, float], float]
    begins: str
    changes: str
    stays: str
    departs: str
    accumulator: Accumulator | None = None


@dataclass(frozen=True)
class RunningState:
    """Numbers for each row that a kernel keeps while it walks over a tensor in chunks: columns beside the rows, compared with what they must be.

    `walked` is the tensor whose loads are the chunks, `rows` the one whose rows the state belongs to: entry i of a vector
    (or the one number) stands for row i of the last tile of `rows` that the program loaded. `names` are the variables.

    ``exact(case, tensors, seen, at)`` gives what an honest kernel may hold after it has seen `seen`: one `ExactState` for
    every honest way of walking, the puzzle's own way first. `tensors` are the inputs in float64. `seen` [rows, columns] counts
    how often this program loaded each element, or, where `walked` is another tensor than `rows`, how often each row of
    `walked` was loaded while that row of `rows` was held. `at` is the index of the slice in the leading dimensions of
    `rows`, ``()`` for a matrix. `tolerance` is relative. Without `exact` the columns are shown and nothing is compared.

    `in_memory` says that the state does not stay with the program: tiles of `rows` pass by as well, and each visit, of one
    tile of `rows` with one of `walked`, ends with stores that leave the new values in memory. The variables then belong to
    the rows of the visit, and have to be exact at its end, however the two loops are nested.
    """

    walked: str
    rows: str
    names: tuple[str, ...]
    exact: Callable[[Case, Tensors, torch.Tensor, tuple[int, ...]], tuple[ExactState, ...]] | None = None
    tolerance: float = 1e-3
    in_memory: bool = False
    update: Update | None = None
    """How the sum takes in one more chunk, where that is more than an addition."""


@dataclass(frozen=True)
class Band:
    """A strip of the stage, across or down: what has its axis stands in it, aligned and at one scale.

    `name` is an axis, or any other word for a strip that things are put into by `Drawn.at`. `room` is how many pixels the
    elements of the axis take together, `unit` how many one of them, both at most. `numbered`: with indices at its edge.
    """

    name: str
    room: float = 64.0
    unit: float = 16.0
    numbered: bool = False


@dataclass(frozen=True)
class Drawn:
    """A tensor on the stage. `axes` are those of its last dimensions, two, or one of a vector.

    `at` names the bands ``(down, across)`` where the axes do not say enough. An `inset` is small and has a scale of its own.
    `in_a_row`: the dimension before the named ones is laid out from left to right, one block for each index.
    """

    axes: tuple[str, ...]
    at: tuple[str, str] | None = None
    inset: bool = False
    in_a_row: bool = False


@dataclass(frozen=True)
class Enlarged:
    """One value on chip in the row of enlarged pictures: `names` are variables, the first one found is shown.

    `when` it is shown: ``"made"`` by the step that makes the tile of the square and after, or ``"before"`` and ``"after"``
    the step that changes it (or `changes`, another variable). `sign` stands before it, `note` below it.
    """

    names: tuple[str, ...]
    when: Literal["made", "before", "after"] = "made"
    sign: str = ""
    note: str = ""
    vector: bool = False
    signed: bool = False
    changes: str = ""


@dataclass(frozen=True)
class Square:
    """The tiles that a kernel makes of a tile of one tensor's rows and a tile of another's, on chip: where they lie, what they hold.

    `rows` and `columns` are the tensors whose loads say where the tile lies. `tile` are the names under which a kernel may
    hold it [rows, columns], `lens` what is enlarged beside it. The words: `made` and `used` are the captions of a product
    that makes the tile and of one that does not, `here` and `nothing` what stands over the enlarged tile, `about` lines
    beside the square, `legend` what the tile is, and what its cells of -inf are. ``{rows}`` and ``{columns}`` are ranges,
    ``{tile}`` and ``{result}`` names of variables. `products` are captions of products that go to variables of these names, in
    the place of `made` and `used`. `skips`: tiles that were never made are crossed out in the end.
    """

    rows: str
    columns: str
    tile: tuple[str, ...]
    lens: tuple[Enlarged, ...]
    made: str
    used: str
    here: str
    nothing: str
    legend: tuple[str, str]
    about: tuple[str, ...] = ()
    products: Mapping[str, str] = field(default_factory=dict)
    skips: bool = True


@dataclass(frozen=True)
class KeptState:
    """A state that a kernel keeps on chip and adds to, chunk by chunk: a heat map of it before and after each step.

    `names` are variables under which a kernel may hold its part of the state [rows, columns], the first one found is shown;
    `sums` those of a vector beside it [rows]. What goes to memory or comes from there is found by its values, under any
    name: `start`, `end` and `chunks` name a tensor for the state and one for its vector. With `given`, `chunks` hold what
    each chunk of `chunk_size` rows (a tile size of the case) starts from. Which rows and columns of the whole state a part is, is read off the columns of `rows` and `columns` that
    the program loads; `added` is the tensor whose rows go into the state. It is read by a product that names it, else where
    `output` is stored; `queries` then are those that read. A `flat` state is one row, added to as it is, and read where it is stored.

    `axes` are its own, `at` and `before_at` the bands ``(down, across)`` where it stands after and before a step. The
    formulas: `adds` for each range ``{added}``, `reads` with ``{queries}`` or ``{stored}``, `holds` and `empty` behind it
    with ``{seen}``, `tokens` behind a start from memory; ``{state}`` is the variable. `about`, with or without a square of
    weights beside it, `unread` and `title` are words about all of it.
    """

    names: tuple[str, ...]
    axes: tuple[str, ...]
    at: tuple[str, str]
    before_at: tuple[str, str]
    added: str
    columns: str
    adds: str
    reads: str
    holds: str
    empty: str
    title: str
    rows: str = ""
    sums: tuple[str, ...] = ()
    queries: str = ""
    output: str = ""
    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    given: bool = False
    chunk_size: str = "CHUNK"
    flat: bool = False
    tokens: str = ""
    about: str = ""
    unread: str = ""
    square: tuple[str, str] | None = None
    """Tensors whose rows are the sides of the square in which the pairs that went through the state are grey."""


@dataclass(frozen=True)
class Diagram:
    """The stage of a film: each tensor by the axes of its last two dimensions, and what is on chip between them.

    What shares an axis stands side by side or one above the other, aligned at one scale. `down` and `across` are the
    bands that the axes stand in; a thing is turned where its second axis goes down. Without bands the tensors flow like words
    on a line, the first axis down and the second across.
    """

    tensors: Mapping[str, Drawn]
    down: tuple[Band, ...] = ()
    across: tuple[Band, ...] = ()
    running: RunningState | None = None
    square: Square | None = None
    state: KeptState | None = None


@dataclass(frozen=True)
class FilmSpec:
    """What the film of a puzzle shows: which case, which diagram, and names for the state variables.

    `state` maps local variables of the kernel to the words the film prints for them (``{"m_i": "running max"}``).
    Other small local values are shown under their own names. `choices` are the sizes that the notebook's controls offer
    (``{"N": (7, 12, 24), "BLOCK_N": (4, 8, 16)}``).
    """

    case: Case
    diagram: Diagram
    state: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Guard:
    """A condition under which a kernel could be wrong that is right everywhere else (`tools/guarded.py`).

    `test` is an expression of Triton over what a kernel can know: its parameters, ``tl.program_id``, ``tl.num_programs`` and element
    types; a flag of the case may stand for what the kernel would have to load. One that names ``turn`` or ``turns`` is asked in
    every turn of a loop: which it is, counted from 0, and of how many. With `chunk`, the name of a variable, it is asked after the last
    assignment of that variable in a loop (or outside of all), and may use any variable that the solution has by then. `twice`: it
    holds where the test did in the last turn, too.
    """

    name: str
    test: str
    chunk: str = ""
    twice: bool = False


@dataclass(frozen=True)
class Slips:
    """What the mutants of a solution need to know (`tools/mutations.py`, `tools/mutate.py`, `tools/guarded.py`).

    ``draw(puzzle, random, number)`` draws one more case, of any size, family, dtype and layout that the puzzle allows: a mutant is
    *equivalent* only where it does there, too, what the solution does. From number `FAR` on, sizes and tiles lie far beyond the
    puzzle's own. `alike` names stand for the same sort of thing, so that one
    is easily typed for another; `mistaken` names are taken for others in this direction only. Strides and names
    that share a word (``mask_m``, ``mask_n``) are found without being named here. Of the `guards`, those count whose names the kernel has.
    """

    draw: Callable[[Puzzle, Random, int], Case]
    alike: tuple[frozenset[str], ...] = ()
    mistaken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What a parameter equals so often that a kernel may leave it out: expressions by its name."""


FAR = 1000
"""The number from which on drawn cases are large."""


@dataclass(frozen=True)
class Long:
    """Tensors that in practice have so many elements that an offset into them passes 2³¹.

    `axes` are dimensions that lie one after another and are counted by one number, a `unit`: the number of a ``row``, say.
    """

    tensors: tuple[str, ...]
    unit: str = "row"
    axes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Part:
    """A step on the way to a whole kernel, which can be checked before the rest is written. It is never a pass of the puzzle.

    It is judged on the cases that it `takes` and that no part before it was judged on for the same `outputs`. An output
    that is not among them is judged only if the kernel mentions it.
    """

    name: str
    asks: str
    takes: Callable[[Case], bool]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Puzzle:
    """One exercise: what is asked, how it is launched, how it is judged, how it is helped with."""

    name: str
    title: str
    kernel: str
    parameters: tuple[str, ...]
    notebook: str
    points: int
    outputs: tuple[str, ...]
    statement: str
    cases: tuple[Case, ...]
    make: Callable[[Case], Tensors]
    """All tensors of a case, outputs included (contents of outputs do not matter: the checker poisons them)."""
    reference: Callable[[Case, Tensors], Tensors]
    """Expected outputs in float64, from the inputs in float64 (already rounded to the case's dtype)."""
    launch: Callable[[Case, Tensors, Mapping[str, Scalar]], Launch]
    """Bind a launch for the given tensors and meta-parameters (the case's own, or those of a learner's autotune)."""
    budget: Callable[[Case], Mapping[str, Allowance]]
    """Bytes each tensor may move; a tensor not named may move none."""
    scale: Callable[[Case, str, torch.Tensor], torch.Tensor]
    """The magnitude that an absolute error in an output is measured against, broadcastable to its (float64) reference."""
    tolerance: Mapping[str, Tolerance]
    """By the case's dtype, for every output that `output_tolerance` does not name."""
    hint: Hint
    explanation: str
    film: FilmSpec
    output_tolerance: Mapping[str, Mapping[str, Tolerance]] = field(default_factory=dict)
    """By output, then by the case's dtype."""
    long: tuple[Long, ...] = ()
    """What has to be addressed in 64 bits; empty for a puzzle that comes before this is taught."""
    drawn: Callable[[Random], tuple[Case, ...]] = lambda draw: ()
    """Cases of the same construction as `cases`, sizes and tiles as they fall: what a graded run is tried on besides."""
    parts: tuple[Part, ...] = ()
    """In the order in which they are written; each includes the ones before it."""
    slips: Slips | None = None
    """Without it mutants are compared with the solution on the puzzle's own cases only."""


RunKernel = Callable[[str, Launch], Mapping[str, torch.Tensor]]
"""Launches the kernel of the puzzle so named and returns the launch's tensors as they are afterwards."""


@dataclass(frozen=True)
class Pipeline:
    """Several kernels, launched one after another on what each really hands to the next."""

    name: str
    title: str
    kernels: tuple[Puzzle, ...]
    tiles: Mapping[str, tuple[str, ...]]
    """The tile sizes of each kernel, by its puzzle's name."""
    case: Case
    """Sizes, tiles and flags where none are asked for."""
    named: Callable[[Case], Case]
    """The case with a name that says its sizes. Raises ValueError for sizes that the kernels cannot have."""
    make: Callable[[Case], Tensors]
    reference: Callable[[Case, Tensors], Tensors]
    run: Callable[[Case, Tensors, RunKernel, Mapping[str, Mapping[str, Scalar]]], Tensors]
    """The outputs; the last argument holds tile sizes for single kernels, in the place of the case's own."""
    outputs: Mapping[str, str]
    """What people call each output (``{"o_ptr": "output"}``)."""
    remark: Callable[[Case], str]
    """A sentence to read below the figures."""
