"""The record of a simulated launch: events, findings, traffic. Plain data.

The bounds in the types hold for every launch of the course; `trace_codec` refuses a trace outside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict

import numpy as np
from msgspec import Meta

MAX_DIMENSIONS = 8
MAX_EVENTS = 100_000
MAX_FINDINGS = 1_000
MAX_TENSORS = 64
MAX_ELEMENTS = 10_000
"""The most elements that a tile or finding lists."""
MAX_VARIABLES = 200
MAX_STATE_NUMBERS = 4_096
"""The most numbers in one list of a variable's state."""
MAX_PRINTED = 1_000
MAX_CONDITIONS = 1_000
_MAX_INTEGER = 1 << 62

Integer = Annotated[int, Meta(ge=-_MAX_INTEGER, le=_MAX_INTEGER)]
Count = Annotated[int, Meta(ge=0, le=_MAX_INTEGER)]
Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=10_000)]
ProgramId = tuple[Count, Count, Count]
"""x, y, z."""
Sizes = Annotated[tuple[Count, ...], Meta(max_length=MAX_DIMENSIONS)]
Index = Annotated[tuple[Integer, ...], Meta(max_length=MAX_DIMENSIONS)]
Box = Annotated[tuple[tuple[Integer, Integer], ...], Meta(max_length=MAX_DIMENSIONS)]
"""``(start, stop)`` for each dimension of a tensor."""

EventKind = Literal["load", "store", "atomic", "dot"]
Order = Literal["acq_rel", "acquire", "release", "relaxed"]
"""What an atomic promises: to come after what other programs released, to release what was done before, both, or nothing."""
Guard = Literal["mask", "boundary_check", "descriptor"]
"""What keeps lanes inside a tensor: a mask, or the shape of a block pointer or of a descriptor."""
FindingKind = Literal[
    "out_of_bounds_load",  # an active lane reads outside its tensor (or in the gap of a strided view)
    "out_of_bounds_store",
    "undefined_lanes",  # a masked lane loaded without `other` changed a stored value
    "unwritten",  # output elements that no program stored
    "race",  # two programs touch one element, at least one of them storing
    "race_in_store",  # two lanes of one store write one element
    "missing_barrier",  # a program loads what it stored with no barrier since: another thread may not have stored it yet
    "early_release",  # a program releases a lock or counter with no barrier since what it guards
    "modified_input",  # an input changed, or was stored to
    "false_promise",  # tl.multiple_of, tl.max_contiguous, tl.max_constancy or tl.assume says something false
    "wrap",  # a number on its way to an address, a mask or a decision does not fit in its type in a huge launch
    "nan_born",  # an operation made a NaN out of numbers
    "inf_born",  # an operation made inf out of finite numbers
]

Number = bool | int | float
_Side = Meta(max_length=MAX_STATE_NUMBERS)
_Rank2 = Annotated[list[Number | Annotated[list[Number], _Side]], _Side]
_Rank4 = Annotated[list[Number | Annotated[list[Number | _Rank2], _Side]], _Side]
_Rank6 = Annotated[list[Number | Annotated[list[Number | _Rank4], _Side]], _Side]
TileValues = Annotated[list[Number | Annotated[list[Number | _Rank6], _Side]], _Side]
"""The numbers of a tile of up to MAX_DIMENSIONS dimensions, as nested lists."""


class TileSummary(TypedDict):
    """A summary of a tile that is too large to list. `min` and `max` ignore NaN."""

    shape: list[Count]
    min: float
    max: float


StateValue = Number | TileValues | TileSummary


@dataclass(frozen=True)
class Tile:
    """The elements one load, store or atomic touched, in the index space of its tensor.

    `box` is the whole tile, one ``(start, stop)`` per dimension of the tensor, and may pass the tensor's edges. `active` is the
    box around the lanes that were accessed, None if all were masked. `elements` lists the row-major element indices of the
    active lanes if they do not fill `active`.
    """

    box: Box
    active: Box | None
    elements: Annotated[tuple[Count, ...], Meta(max_length=MAX_ELEMENTS)] | None = None


@dataclass(frozen=True)
class Event:
    """One access of one program.

    `line` is the learner's line, `function` the jitted function that it belongs to. `loops` are the loop variables around it,
    the outermost first, as ``(name, value)``; a `while` loop gives ``("while", visits)``. `bytes` counts active lanes inside the
    tensor. `masked`, `undefined` and `out_of_bounds` count lanes: masked off, masked off without an `other`, and active but
    outside the tensor. `state` holds the local values just before the event: numbers, nested lists for small tiles, summaries
    for large ones.
    """

    step: Count
    program: ProgramId
    kind: EventKind
    tensor: Name
    line: Count
    function: Name
    loops: Annotated[tuple[tuple[Name, Integer], ...], Meta(max_length=64)]
    tile: Tile | None
    bytes: Count = 0
    masked: Count = 0
    undefined: Count = 0
    out_of_bounds: Count = 0
    filler: float | None = None
    """The number that `other` put into the masked lanes."""
    state: Annotated[dict[Name, StateValue], Meta(max_length=MAX_VARIABLES)] = field(default_factory=dict)
    kernel_line: Count = 0
    """The line in the kernel itself: `line`, or the call of the helper that contains it."""


@dataclass(frozen=True)
class Finding:
    """One defect that the simulator is sure of. Fields that a kind does not need keep their defaults."""

    kind: FindingKind
    line: Count | None = None
    program: ProgramId | None = None
    tensor: Name | None = None
    elements: Annotated[tuple[Index, ...], Meta(max_length=MAX_ELEMENTS)] = ()
    """The first few indices into `tensor`. For a false promise: the lane of the tile, or nothing."""
    count: Count = 0
    """Lanes; elements of an output or input."""
    programs: Count = 1
    """How many programs they belong to; `program` is the first."""
    operation: Name | None = None
    """The operation that made a NaN, or the function that made a false promise."""
    guard: Guard | None = None
    """Out of bounds: what failed to keep the lanes inside, None without any mask. Undefined lanes: what switched them off."""
    accesses: tuple[EventKind, EventKind] | None = None
    """Race: what this program does, and what another does."""
    other: ProgramId | None = None
    """Race: the other program; None where there are several."""
    loaded: Name | None = None
    """Undefined lanes: the tensor that was loaded; `tensor` is the one they are stored to, None where they decide a branch."""
    reached_line: Count | None = None
    """Undefined lanes and NaN: the line of the store or branch that they reach; `line` is where they come from."""
    promised: Count = 0
    """False promise: the number promised; 0 for `tl.assume`."""
    type: Name | None = None
    """Wrap: the type that cannot hold the number."""
    values: Annotated[tuple[Integer, ...], Meta(max_length=2)] = ()
    """False promise: the value that contradicts it, preceded by its neighbour's where the two are compared. Of a pointer:
    bytes from the start of `tensor`. Wrap: the number that does not fit."""


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed the border of the chip for one tensor, and the number of loads and stores."""

    loaded: Count = 0
    stored: Count = 0
    loads: Count = 0
    stores: Count = 0


@dataclass(frozen=True)
class TensorInfo:
    """Shape and strides in elements; dtype as torch names it, without ``torch.``."""

    shape: Sizes
    strides: Sizes
    dtype: Annotated[str, Meta(max_length=40)]


ConditionKind = Literal["comparison", "test", "arm", "cast"]


@dataclass(frozen=True)
class Condition:
    """Which way one condition of the kernel went: true, false, both, or neither if no lane counted. `conditions` says what counts.

    The text goes from `line` and `column` to `end_line` and `end_column`, counted as in `ast`. Several launches that ran side by
    side share their conditions.
    """

    kind: ConditionKind
    function: Name
    line: Count
    column: Count
    end_line: Count
    end_column: Count
    true: bool = False
    false: bool = False
    whole: bool = False
    """All operands are integers."""
    true_at_infinity: bool = False
    false_at_infinity: bool = False
    """The ways that it went in lanes that do not count, because an operand is infinite."""


Arrays = Annotated[dict[Name, np.ndarray], Meta(max_length=MAX_TENSORS)]
"""For each tensor, one 32-bit number for each row-major element."""


@dataclass
class Trace:
    """One simulated launch. `writers[name][i]` is the linear id (x fastest) of the last program that stored row-major element i, or -1."""

    grid: ProgramId
    tensors: Annotated[dict[Name, TensorInfo], Meta(max_length=MAX_TENSORS)]
    events: Annotated[list[Event], Meta(max_length=MAX_EVENTS)]
    findings: Annotated[list[Finding], Meta(max_length=MAX_FINDINGS)]
    traffic: Annotated[dict[Name, Traffic], Meta(max_length=MAX_TENSORS)]
    writers: Arrays
    flops: Count = 0
    """Floating-point operations of `tl.dot`: 2·m·k·n for [m, k] @ [k, n], masked rows included."""
    writer_lines: Arrays = field(default_factory=dict)
    """The line of the last store of each element, or 0."""
    printed: Annotated[tuple[Text, ...], Meta(max_length=MAX_PRINTED)] = ()
    """The lines printed by `tl.device_print`."""
    lane_flops: Count = 0
    """All other floating-point operations. Each element of a result counts one, masked lanes included because they occupy the
    chip too: +, -, *, /, %, minimum, maximum and the functions of `tl.math`; two for a fused multiply-add and for a clamp. A
    sum, maximum or minimum over an axis and a running sum count one for each element of the operand; other reductions and
    scans count what their combining function computes; an atomic addition counts one for each active lane. Not counted:
    addresses and integers, comparisons, `tl.where`, casts, `tl.abs`."""
    in_lockstep: bool = False
    """All programs ran side by side, and there were no findings."""
    ran: Count | None = None
    """How many programs ran to their end, where some were left out."""
    conditions: Annotated[tuple[Condition, ...], Meta(max_length=MAX_CONDITIONS)] = ()
    """Those in the learner's own functions that were reached."""


@dataclass(frozen=True)
class SimulateOptions:
    """What is observed in a launch beside its values and the bounds of each access, and the order of its programs."""

    traffic: bool = True
    races: bool = True
    events: bool = False
    """Keep each access as an event; a film needs them."""
    state: bool = False
    """Keep the kernel's variables beside each event."""
    explain_nan: bool = False
    """Follow every operation to find where a NaN first appears."""
    explain_inf: bool = False
    """With `explain_nan`: also where an inf first appears."""
    order: str = "row-major"
    """The order of programs: "row-major" (x fastest), "reversed" or "shuffled"."""
    most_programs: int = 0
    """Run at most so many programs: the first, the last, and others drawn between them; 0 for all."""
    together: bool = False
    """Launches may run side by side until something is found in them; only without events, state and explain_nan."""
