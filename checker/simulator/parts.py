"""A Trace as JSON and arrays, and back. Reading trusts nothing: the writer is a process that ran a stranger's code."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np

from checker.simulator import reading
from checker.simulator.trace import (
    Event,
    EventKind,
    Finding,
    FindingKind,
    TensorInfo,
    Tile,
    Trace,
    Traffic,
)

MAX_EVENTS = 100_000
MAX_FINDINGS = 1_000
MAX_TENSORS = 64
MAX_ELEMENTS = 10_000  # listed in one tile or finding
MAX_STATE_NAMES = 200
MAX_STATE_NUMBERS = 4_096
MAX_LINES = 1_000

_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def trace_to_parts(trace: Trace) -> tuple[dict[str, Any], list[np.ndarray]]:
    """A trace as strict JSON (NaN and infinities are the strings "nan", "inf", "-inf") and a list of arrays."""
    arrays: list[np.ndarray] = []
    maps: dict[str, list[list[Any]]] = {}
    for key, dtype in (("writers", np.int64), ("writer_lines", np.int32)):
        maps[key] = []
        for name, array in getattr(trace, key).items():
            maps[key].append([name, len(arrays)])
            arrays.append(np.ascontiguousarray(array, dtype))
    head = {
        "grid": list(trace.grid),
        "tensors": {n: [list(t.shape), list(t.strides), t.dtype] for n, t in trace.tensors.items()},
        "events": [_event_out(e) for e in trace.events],
        "findings": [_finding_out(f) for f in trace.findings],
        "traffic": {n: [t.loaded, t.stored, t.loads, t.stores] for n, t in trace.traffic.items()},
        "flops": trace.flops,
        "lane_flops": trace.lane_flops,
        "printed": list(trace.printed),
        **maps,
    }
    return head, arrays


def trace_from_parts(head: Any, arrays: list[np.ndarray]) -> Trace:
    """The trace that `trace_to_parts` took apart. Raises ValueError for anything it would not have made."""
    fields = {"grid", "tensors", "events", "findings", "traffic", "flops", "lane_flops", "printed"}
    fields |= {"writers", "writer_lines"}
    head = reading.fields(head, "a trace", fields)
    tensors = {
        reading.text(n, "a tensor's name"): _tensor_in(t)
        for n, t in reading.mapping(head["tensors"], "tensors", MAX_TENSORS).items()
    }
    events = [_event_in(e, i) for i, e in enumerate(reading.items(head["events"], "events", MAX_EVENTS))]
    grid = reading.triple(head["grid"], "a grid")
    return Trace(
        grid=grid,
        tensors=tensors,
        events=events,
        findings=[_finding_in(f) for f in reading.items(head["findings"], "findings", MAX_FINDINGS)],
        traffic={
            _known(n, tensors): Traffic(*reading.numbers(t, "traffic", exactly=4, low=0))
            for n, t in reading.mapping(head["traffic"], "traffic", MAX_TENSORS).items()
        },
        writers=_arrays(head["writers"], arrays, tensors, np.int64, -1, max(math.prod(grid), 1) - 1),
        flops=reading.integer(head["flops"], "flops", 0),
        lane_flops=reading.integer(head["lane_flops"], "lane_flops", 0),
        writer_lines=_arrays(head["writer_lines"], arrays, tensors, np.int32, 0, 2**31 - 1),
        printed=tuple(reading.text(p, "a printed line") for p in reading.items(head["printed"], "printed", MAX_LINES)),
    )


# writing --------------------------------------------------------------------------------------------------------------


def _event_out(event: Event) -> list[Any]:
    tile = event.tile
    return [
        list(event.program),
        event.kind,
        event.tensor,
        event.line,
        event.function,
        [list(pair) for pair in event.loops],
        None if tile is None else [tile.box, tile.active, tile.elements],
        [event.bytes, event.masked, event.undefined, event.out_of_bounds, event.kernel_line],
        {name: _plain(value) for name, value in event.state.items()},
    ]


def _finding_out(finding: Finding) -> list[Any]:
    return [
        finding.kind,
        finding.message,
        finding.line,
        finding.program,
        finding.tensor,
        [list(e) for e in finding.elements],
        finding.count,
        finding.operation,
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


# reading --------------------------------------------------------------------------------------------------------------


def _known(name: Any, tensors: dict[str, TensorInfo]) -> str:
    if name not in tensors:
        raise reading.fail("the name of a tensor", name)
    return str(name)


def _tensor_in(value: Any) -> TensorInfo:
    shape, strides, dtype = reading.items(value, "a tensor", 3, 3)
    sizes = reading.numbers(shape, "a shape", low=0)
    return TensorInfo(
        sizes, reading.numbers(strides, "strides", exactly=len(sizes), low=0), reading.text(dtype, "a dtype", 40)
    )


def _box(value: Any) -> tuple[tuple[int, int], ...]:
    sides = []
    for side in reading.items(value, "a box", reading.MAX_DIMENSIONS):
        start, stop = reading.numbers(side, "a box", exactly=2)
        if start > stop:
            raise reading.fail("a box", side)
        sides.append((start, stop))
    return tuple(sides)


def _tile_in(value: Any) -> Tile:
    box, active, elements = reading.items(value, "a tile", 3, 3)
    return Tile(
        _box(box),
        None if active is None else _box(active),
        None if elements is None else reading.numbers(elements, "elements", MAX_ELEMENTS, low=0),
    )


def _event_in(value: Any, step: int) -> Event:
    program, kind, tensor, line, function, loops, tile, counts, state = reading.items(value, "an event", 9, 9)
    moved, masked, undefined, outside, kernel_line = reading.numbers(counts, "counts", exactly=5, low=0)
    around = []
    for pair in reading.items(loops, "loops", 64):
        name, number = reading.items(pair, "a loop", 2, 2)
        around.append((reading.text(name, "a loop variable", 200), reading.integer(number, "a loop variable")))
    return Event(
        step=step,
        program=reading.triple(program, "a program"),
        kind=reading.choice(kind, "a kind of event", get_args(EventKind)),
        tensor=reading.text(tensor, "a tensor's name", 200),
        line=reading.integer(line, "a line", 0),
        function=reading.text(function, "a function's name", 200),
        loops=tuple(around),
        tile=None if tile is None else _tile_in(tile),
        bytes=moved,
        masked=masked,
        undefined=undefined,
        out_of_bounds=outside,
        state={
            reading.text(n, "a name", 200): _state_in(v)
            for n, v in reading.mapping(state, "state", MAX_STATE_NAMES).items()
        },
        kernel_line=kernel_line,
    )


def _finding_in(value: Any) -> Finding:
    kind, message, line, program, tensor, elements, count, operation = reading.items(value, "a finding", 8, 8)
    return Finding(
        kind=reading.choice(kind, "a kind of finding", get_args(FindingKind)),
        message=reading.text(message, "a message"),
        line=reading.maybe(reading.integer, line, "a line"),
        program=reading.maybe(reading.triple, program, "a program"),
        tensor=reading.maybe(reading.text, tensor, "a tensor's name"),
        elements=tuple(reading.numbers(e, "an index") for e in reading.items(elements, "elements", MAX_ELEMENTS)),
        count=reading.integer(count, "a count", 0),
        operation=reading.maybe(reading.text, operation, "an operation"),
    )


def _state_in(value: Any) -> Any:
    """A number, a nested list of numbers of even lengths, or the summary of a large tile."""
    if isinstance(value, dict):
        reading.fields(value, "a summary", {"shape", "min", "max"})
        shape = list(reading.numbers(value["shape"], "a shape", low=0))
        return {"shape": shape, "min": _number(value["min"]), "max": _number(value["max"])}
    left = [MAX_STATE_NUMBERS]
    return _nested(value, left, reading.MAX_DIMENSIONS)


def _nested(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        raise reading.fail("a small tile", "too many numbers")
    if isinstance(value, (list, tuple)):
        return [_nested(v, left, depth - 1) for v in value]
    return _number(value)


def _number(value: Any) -> int | float | bool:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= 1 << 64:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise reading.fail("a number", value)


def _arrays(
    value: Any, arrays: list[np.ndarray], tensors: dict[str, TensorInfo], dtype: Any, low: int, high: int
) -> dict[str, np.ndarray]:
    out = {}
    for pair in reading.items(value, "arrays", MAX_TENSORS):
        name, number = reading.items(pair, "an array", 2, 2)
        name = _known(name, tensors)
        reading.integer(number, "an array's number", 0, len(arrays) - 1)
        array = arrays[number]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise reading.fail(f"an array of {np.dtype(dtype)}", array)
        if array.size != math.prod(tensors[name].shape):
            raise reading.fail(f"as long as {name}", array.size)
        if array.size and (int(array.min()) < low or int(array.max()) > high):
            raise reading.fail(f"within {low} and {high}", "array")
        out[name] = array
    return out
