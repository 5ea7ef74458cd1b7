"""The vocabulary of the course: what a puzzle is made of. Data only, no behaviour.

A puzzle file in `checker/course/` fills these in; every other room reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

import torch

Scalar = int | float | bool
Tensors = dict[str, torch.Tensor]
"""Tensors by the name of the kernel parameter that points at them, e.g. ``{"x_ptr": x, "y_ptr": y}``."""

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


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
    """How many bytes of one tensor a rung of the ladder may move, and why."""

    loaded: int
    stored: int
    because: str = ""


@dataclass(frozen=True)
class Tolerance:
    """|y - ref| <= rtol * |ref| + c * eps(dtype) * scale, for every element; the reference is float64."""

    rtol: float
    c: float


@dataclass(frozen=True)
class Hint:
    """Three levels, each one click away: a question, then an idea, then a skeleton of the code."""

    question: str
    idea: str
    skeleton: str


@dataclass(frozen=True)
class Running:
    """What a kernel's running state must be while it walks over a tensor in chunks, so that the film can say where it departs.

    `walked` is the tensor whose loads are the chunks, `rows` the one whose rows the state belongs to: entry i of a vector
    (or the one number) stands for row i of the last tile of `rows` that the program loaded. `names` are the variables, a
    maximum first and the sum of exponentials measured against it second.

    ``exact(case, tensors, seen, at)`` gives, in float64, what an honest kernel may hold after it has seen `seen`: one mapping
    from names to [rows] tensors for every honest way of walking, the puzzle's own way first; NaN where nothing can be said.
    `tensors` are the inputs in float64. `seen` [rows, columns] counts how often this program loaded each element, or, where
    `walked` is another tensor than `rows`, how often each row of `walked` was loaded while that row of `rows` was held.
    `at` is the index of the slice in the leading dimensions of `rows`, ``()`` for a matrix. `tolerance` is relative. Without
    `exact` the columns are shown and nothing is compared.

    `in_memory` says that the state does not stay with the program: tiles of `rows` pass by as well, and each visit, of one
    tile of `rows` with one of `walked`, ends with stores that leave the new values in memory. The variables then belong to
    the rows of the visit, and have to be exact at its end, however the two loops are nested.
    """

    walked: str
    rows: str
    names: tuple[str, ...]
    exact: Callable[[Case, Tensors, torch.Tensor, tuple[int, ...]], tuple[Mapping[str, torch.Tensor], ...]] | None = (
        None
    )
    tolerance: float = 1e-3
    in_memory: bool = False


@dataclass(frozen=True)
class Scores:
    """Attention on the stage: the square of scores stands between the tensors that it comes from, queries down, keys across.

    `queries`, `keys`, `values`, `output` are tensors [..., N, D]; `per_query` those with one number a query [..., N]. `tile`
    are names under which a kernel may hold the scores of one tile [BLOCK_M, BLOCK_N], the first one found is shown; `alpha`
    is the factor per row of the accumulator [BLOCK_M, D], whose names are `accumulator`: before the tile's share is added,
    and after.
    """

    queries: str = "q_ptr"
    keys: str = "k_ptr"
    values: str = "v_ptr"
    output: str = "o_ptr"
    per_query: tuple[str, ...] = ()
    tile: tuple[str, ...] = ("s", "scores", "qk", "p")
    alpha: str = "alpha"
    accumulator: tuple[str, str] = ("acc", "acc")


@dataclass(frozen=True)
class Carried:
    """Linear attention on the stage: the state φ(K)ᵀ V [D, D_V] that a kernel carries from one token or chunk to the next.

    `names` are variables under which a kernel may hold its part of the state [rows, columns], the first one found is shown;
    `sums` those of the sum of features beside it [rows]. What goes to memory or comes from there is found by its values, under
    any name. Which rows and columns of the whole state a part is, is read off the
    columns of `keys` and `values` that the program loads. `queries`, `keys`, `values`, `output` are tensors [..., N, D]; the
    first and the last may be missing. `start` and `end` are a state and its sum in memory, [..., D, D_V] and [..., D], before
    and after the text. `chunks` are likewise tensors with one for each chunk, [..., N_CHUNKS, D, D_V] and [..., N_CHUNKS, D];
    with `given` they hold what each chunk starts from, all tokens before it.

    `added` makes it a sum of states that are there already: [..., N_CHUNKS, SIZE], whose rows are added as they are to a state
    [SIZE]. Of the others only `names`, `start` and `end` [..., SIZE] and `chunks` [..., N_CHUNKS, SIZE] have a meaning then.
    """

    names: tuple[str, ...] = ("state", "S", "kv", "mem", "s")
    sums: tuple[str, ...] = ("z", "z_i", "k_sum")
    queries: str = "q_ptr"
    keys: str = "k_ptr"
    values: str = "v_ptr"
    output: str = "o_ptr"
    start: tuple[str, ...] = ("s0_ptr", "z0_ptr")
    end: tuple[str, ...] = ("s_ptr", "z_ptr")
    chunks: tuple[str, ...] = ()
    given: bool = False
    added: str = ""


@dataclass(frozen=True)
class FilmSpec:
    """What the film of a puzzle shows: which case, which tensors side by side, and names for the state variables.

    `state` maps local variables of the kernel to the words the film prints for them (``{"m_i": "running max"}``).
    Other small local values are shown under their own names. `choices` are the sizes that the notebook's controls offer
    (``{"N": (7, 12, 24), "BLOCK_N": (4, 8, 16)}``). `running` puts a column for each of its names beside the tensor it
    belongs to, `scores` draws attention, `carried` linear attention (with both, the weights inside a chunk too).
    """

    case: Case
    tensors: tuple[str, ...]
    state: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    running: Running | None = None
    scores: Scores | None = None
    carried: Carried | None = None


@dataclass(frozen=True)
class Slips:
    """What the mechanical mutants of a solution need to know (`tools/mutations.py`, `tools/mutate.py`).

    ``draw(puzzle, random, number)`` draws one more case, of any size, family, dtype and layout that the puzzle allows: a mutant is
    *equivalent* only where it does there, too, what the solution does. `alike` names stand for the same sort of thing, so that one
    is easily typed for another; `mistaken` names are taken for others in this direction only. Strides and names
    that share a word (``mask_m``, ``mask_n``) are found without being named here.
    """

    draw: Callable[[Puzzle, Random, int], Case]
    alike: tuple[frozenset[str], ...] = ()
    mistaken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
    long: tuple[str, ...] = ()
    """Matrices that in practice may have so many elements that an offset into them passes 2³¹."""
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
