"""What the simulator saw: events, findings, traffic. Plain data that crosses the sandbox's border as JSON and arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

EventKind = Literal["load", "store", "atomic", "dot"]
FindingKind = Literal[
    "out_of_bounds_load",  # an active lane reads outside its tensor (or in the gap of a strided view)
    "out_of_bounds_store",
    "undefined_lanes",  # a masked lane loaded without `other` changed a stored value
    "unwritten",  # output elements that no program stored
    "race",  # two programs (or two lanes of one store) touch one element, at least one of them storing
    "modified_input",  # an input changed, or was stored to
    "nan_born",  # an operation made a NaN out of numbers
]


@dataclass(frozen=True)
class Tile:
    """The elements one load, store or atomic touched, in the index space of its tensor.

    `box` is the whole tile, one ``(start, stop)`` per dimension of the tensor, and may pass the tensor's edges; `active`
    is the box around the lanes that were really accessed, or None where every lane was masked. `elements` lists row-major
    element indices of the active lanes where they do not fill `active` (None where they do).
    """

    box: tuple[tuple[int, int], ...]
    active: tuple[tuple[int, int], ...] | None
    elements: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Event:
    """One access of one program.

    `line` is the learner's line (as in the submission's source), `function` the jitted function it stands in, `loops` the
    loop variables around it from the outside in, ``(name, value)``; a `while` loop gives ``("while", visits)``. `bytes` counts active, in-bounds lanes. `masked`, `undefined` and
    `out_of_bounds` count lanes: masked off, masked off without an `other`, and active but outside the tensor. `state` holds local
    values as they were just before the event: numbers, or nested lists for small tiles.
    """

    step: int
    program: tuple[int, int, int]
    kind: EventKind
    tensor: str
    line: int
    function: str
    loops: tuple[tuple[str, int], ...]
    tile: Tile | None
    bytes: int = 0
    masked: int = 0
    undefined: int = 0
    out_of_bounds: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    kernel_line: int = 0
    """The kernel's own line: `line` itself, or the call of the helper that `line` stands in."""


@dataclass(frozen=True)
class Finding:
    """One defect the simulator is sure of. `elements` are a few index tuples into `tensor`, `operation` the Triton operation."""

    kind: FindingKind
    message: str
    line: int | None = None
    program: tuple[int, int, int] | None = None
    tensor: str | None = None
    elements: tuple[tuple[int, ...], ...] = ()
    count: int = 0
    operation: str | None = None


@dataclass(frozen=True)
class Traffic:
    """Bytes that crossed the border of the chip for one tensor, and how many load/store instructions did it."""

    loaded: int = 0
    stored: int = 0
    loads: int = 0
    stores: int = 0


@dataclass(frozen=True)
class TensorInfo:
    """Shape in elements, strides in elements, dtype as torch names it without the ``torch.``."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@dataclass
class Trace:
    """One simulated launch. `writers[name][i]` is the linear id (x fastest) of the last program that stored row-major element i, or -1."""

    grid: tuple[int, int, int]
    tensors: dict[str, TensorInfo]
    events: list[Event]
    findings: list[Finding]
    traffic: dict[str, Traffic]
    writers: dict[str, np.ndarray]
    flops: int = 0
    """Floating-point operations of `tl.dot`: 2·m·k·n for [m, k] @ [k, n], masked rows included."""
    writer_lines: dict[str, np.ndarray] = field(default_factory=dict)
    """Beside `writers`: the line of that last store, or 0."""
    printed: tuple[str, ...] = ()
    """What `tl.device_print` said, a line each."""
    lane_flops: int = 0
    """Floating-point operations of everything else, one for each element of a result, masked lanes included as they occupy
    the chip all the same: +, -, *, /, %, the larger and the smaller, exponentials and the other functions of `tl.math`; two
    for a fused multiply-add and for a clamp. A sum, maximum or minimum over an axis, and a running sum, count one for each
    element of the operand, other reductions and scans what their combining function computes; an atomic addition counts one
    for each active lane. Not counted: addresses and integers, comparisons, `tl.where`, casts, `tl.abs`."""


@dataclass(frozen=True)
class SimulateOptions:
    """How a launch is simulated.

    `events` keeps the list of events (a film needs it), `state` the local values beside them; `order` is the order of
    programs; `explain_nan` follows every operation to find where a NaN is born, asked for only after a NaN was seen.
    """

    events: bool = False
    state: bool = False
    explain_nan: bool = False
    order: str = "row-major"  # "row-major" (x fastest), "reversed", "shuffled"
