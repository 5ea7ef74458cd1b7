"""What a puzzle says about its film: the tensors on the stage, the running state, the tiles and states on chip.

Plain data, which the course fills in and the rest of `films` draws. It imports nothing of the checker, so that `puzzle.py` can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch


@dataclass(frozen=True)
class ExactState:
    """The values that a correct kernel may hold at one time, by the name of the variable: [alternatives, rows] in float64.

    The plain value is first, other forms of it (another base, a logarithm) follow. NaN where the value is unknown.
    """

    during: Mapping[str, torch.Tensor]
    """Between two chunks."""
    afterwards: Mapping[str, torch.Tensor]
    """After the last chunk: includes the forms that a kernel may continue with."""


@dataclass(frozen=True)
class Accumulator:
    """A matrix that is rescaled with a running sum: each of its rows belongs to one number of the sum.

    `names` are variables, of which the first that exists is shown. The new terms are the product of the tiles `left` [rows, chunk]
    and `right` [chunk, columns], whose names work the same way. The sentence `said` may use the fields of `Update`'s sentences.
    """

    names: tuple[str, ...]
    left: tuple[str, ...]
    right: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Update:
    """How a running sum is updated by one chunk, ``old × factor + new``: the bars and the sentences of a film.

    `measure` and `total` are variables of the running state: the reference point of the terms (a maximum) and their sum.
    ``factor(before, after)`` multiplies the old sum when the measure changes from one value to the other.

    The sentences: `begins` for the first chunk, `changes` if the measure changed, `stays` if it did not, and then `departs` if the
    kernel holds another sum. Their fields are ``{before}`` and ``{after}`` for the measure, ``{old}``, ``{factor}``, ``{new}`` and
    ``{sum}`` of ``old × factor + new = sum``, and ``{got}`` for the kernel's own value.
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
    """Numbers that a kernel keeps for each row while it walks over a tensor in chunks. A film draws them beside the rows and checks them.

    `walked` is the tensor whose loads are the chunks, `rows` the tensor whose rows have the state. `names` are the variables: entry i
    of a vector (or the only number) belongs to row i of the last tile of `rows` that the program loaded.

    ``exact(case, tensors, seen, at)`` gives the values that a correct kernel may hold: one `ExactState` for each correct way to walk,
    the solution's first. `tensors` are the inputs in float64. `seen` [rows, columns] counts how often this program loaded each
    element; if `walked` is not `rows`, how often it loaded each row of `walked` while it held that row of `rows`. `at` is the index
    of the slice in the leading dimensions of `rows`, ``()`` for a matrix. `tolerance` is relative. Without `exact` nothing is checked.

    With `in_memory` the state is kept in memory, and tiles of `rows` change, too. Each visit, of one tile of `rows` and one of
    `walked`, ends with stores of the new values. The variables then belong to the rows of the visit and are checked at its end,
    however the two loops are nested.
    """

    walked: str
    rows: str
    names: tuple[str, ...]
    exact: Callable[[Any, dict[str, torch.Tensor], torch.Tensor, tuple[int, ...]], tuple[ExactState, ...]] | None = None
    tolerance: float = 1e-3
    in_memory: bool = False
    update: Update | None = None
    """How a chunk updates the sum, if by more than an addition."""


@dataclass(frozen=True)
class Band:
    """A horizontal or vertical strip of the stage. Tensors with its axis are drawn in it, aligned and at one scale.

    `name` is an axis, or a name that `Drawn.at` refers to. `room` and `unit` are the most pixels for all elements of the axis and for
    one element. `numbered`: with indices at the edge.
    """

    name: str
    room: float = 64.0
    unit: float = 16.0
    numbered: bool = False


@dataclass(frozen=True)
class Drawn:
    """A tensor on the stage. `axes` are those of its last dimensions, two, or one of a vector.

    `at` names the bands ``(down, across)`` if the axes do not determine them. An `inset` is small and has its own scale.
    `in_a_row`: the dimension before the named ones goes from left to right, one block for each index.
    """

    axes: tuple[str, ...]
    at: tuple[str, str] | None = None
    inset: bool = False
    in_a_row: bool = False


@dataclass(frozen=True)
class Enlarged:
    """One on-chip value in the row of enlarged pictures. `names` are variables, of which the first that exists is shown.

    `when`: ``"made"`` shows it from the step that makes the tile of the square, ``"before"`` and ``"after"`` around the step that
    changes it (or changes the variable `changes`). `sign` is drawn before it, `note` below it.
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
    """On-chip tiles made from rows of two tensors, such as scores: where they lie in the square of all pairs, and what they hold.

    `rows` and `columns` are the tensors whose loads place the tile. `tile` are the names that a kernel may give it [rows, columns],
    `lens` the values enlarged beside it. Captions: `made` for a product that makes the tile, `used` for any other product, and
    `products` instead of both, by the variable that a product goes to. `here` and `nothing` are headings of the enlarged tile, with
    and without one. `about` are lines beside the square. `legend` says what the tile is, and what its cells of -inf are. Fields:
    ``{rows}`` and ``{columns}`` are ranges, ``{tile}`` and ``{result}`` variables. `skips`: tiles that were never made are crossed
    out at the end.
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
    """A state that a kernel keeps on chip and adds to chunk by chunk, drawn as a heat map before and after each step.

    What it is: `names` are variables that may hold the program's part of the state [rows, columns], `sums` those of a vector [rows];
    the first that exists is shown. `added` is the tensor whose rows go into the state. Which rows and columns of the whole state a
    part is follows from the columns of `rows` and `columns` that the program loads. A product with the state reads it; otherwise it
    is read where `output` is stored, for the rows of `queries`. A `flat` state is a single row that is added to and stored directly.

    In memory: `start`, `end` and `chunks` each name a tensor for the state and one for its vector. They are found by their values,
    whatever the variable. With `given`, `chunks` are the states that chunks of `chunk_size` rows (a tile size) start from.

    On the stage: `axes` are its own axes, `at` and `before_at` the bands ``(down, across)`` after and before a step. Formulas: `adds`
    for each range ``{added}``, `reads` with ``{queries}`` or ``{stored}``, followed by `holds` with ``{seen}`` or by `empty`, and
    `tokens` for a start from memory. ``{state}`` is the variable. `title`, `about` and `unread` describe the state as a whole.
    A state that `decays` is what `adds` says, not more by it. A product with the tensor `taken_by` is no read of the queries: it is
    what its ``{rows}`` take back, as `takes_back` says.
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
    decays: bool = False
    taken_by: str = ""
    takes_back: str = ""
    tokens: str = ""
    about: str = ""
    unread: str = ""
    square: tuple[str, str] | None = None
    """Tensors whose rows are the sides of a square in which pairs that went through the state are grey."""


@dataclass(frozen=True)
class Gather:
    """Pages that a table leads to: a row of boxes as they lie in memory, and an arrow from each entry that is read to its page.

    The first dimension of the tensors `pages` numbers the pages, and the one before their last the slots of a page. The row of boxes
    is at the bands ``(down, across)``, below the `table`.
    """

    table: str
    pages: tuple[str, ...]
    at: tuple[str, str]


@dataclass(frozen=True)
class Diagram:
    """The stage of a film: each tensor with the axes of its last two dimensions, and the values on chip between them.

    Tensors that share an axis are drawn side by side or one above the other, aligned at one scale. `down` and `across` are the bands
    of the axes. A tensor whose second axis goes down is transposed. Without bands the tensors follow one another like words on a
    line, with the first axis down and the second across.
    """

    tensors: Mapping[str, Drawn]
    down: tuple[Band, ...] = ()
    across: tuple[Band, ...] = ()
    running: RunningState | None = None
    square: Square | None = None
    state: KeptState | None = None
    gather: Gather | None = None
