"""A Trace as JSON and arrays, and back. Reading trusts nothing: the writer is a process that ran a stranger's code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import numpy as np

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

T = TypeVar("T")

MAX_EVENTS = 100_000
MAX_FINDINGS = 1_000
MAX_TENSORS = 64
MAX_DIMENSIONS = 8
MAX_ELEMENTS = 10_000  # listed in one tile or finding
MAX_TEXT = 10_000
MAX_STATE_NAMES = 200
MAX_STATE_NUMBERS = 4_096
MAX_LINES = 1_000
BOUND = 1 << 62
"""No honest number in a trace is larger."""

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
    head = _object(head, "a trace", fields)
    tensors = {
        _text(n, "a tensor's name"): _tensor_in(t) for n, t in _mapping(head["tensors"], "tensors", MAX_TENSORS).items()
    }
    events = [_event_in(e, i) for i, e in enumerate(_list(head["events"], "events", MAX_EVENTS))]
    grid = _triple(head["grid"], "a grid")
    return Trace(
        grid=grid,
        tensors=tensors,
        events=events,
        findings=[_finding_in(f) for f in _list(head["findings"], "findings", MAX_FINDINGS)],
        traffic={
            _known(n, tensors): Traffic(*_numbers(t, "traffic", exactly=4, low=0))
            for n, t in _mapping(head["traffic"], "traffic", MAX_TENSORS).items()
        },
        writers=_arrays(head["writers"], arrays, tensors, np.int64, -1, max(math.prod(grid), 1) - 1),
        flops=_integer(head["flops"], "flops", 0),
        lane_flops=_integer(head["lane_flops"], "lane_flops", 0),
        writer_lines=_arrays(head["writer_lines"], arrays, tensors, np.int32, 0, 2**31 - 1),
        printed=tuple(_text(p, "a printed line") for p in _list(head["printed"], "printed", MAX_LINES)),
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


def _fail(what: str, value: Any) -> ValueError:
    return ValueError(f"not {what}: {str(value)[:80]!r}")


def _object(value: Any, what: str, fields: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != fields:
        raise _fail(what, value)
    return value


def _mapping(value: Any, what: str, most: int) -> dict[str, Any]:
    if not isinstance(value, dict) or len(value) > most or not all(isinstance(k, str) for k in value):
        raise _fail(what, value)
    return value


def _list(value: Any, what: str, most: int, exactly: int | None = None) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) > most or (exactly is not None and len(value) != exactly):
        raise _fail(what, value)
    return list(value)


def _integer(value: Any, what: str, low: int = -BOUND, high: int = BOUND) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _fail(what, value)
    return value


def _numbers(
    value: Any, what: str, most: int = MAX_DIMENSIONS, exactly: int | None = None, low: int = -BOUND
) -> tuple[int, ...]:
    return tuple(_integer(v, what, low) for v in _list(value, what, most, exactly))


def _triple(value: Any, what: str) -> tuple[int, int, int]:
    x, y, z = _numbers(value, what, exactly=3, low=0)
    return x, y, z


def _text(value: Any, what: str, most: int = MAX_TEXT) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise _fail(what, value)
    return value


def _maybe(read: Callable[..., T], value: Any, what: str) -> T | None:
    return None if value is None else read(value, what)


def _known(name: Any, tensors: dict[str, TensorInfo]) -> str:
    if name not in tensors:
        raise _fail("the name of a tensor", name)
    return str(name)


def _choice(value: Any, what: str, choices: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise _fail(what, value)
    return value


def _tensor_in(value: Any) -> TensorInfo:
    shape, strides, dtype = _list(value, "a tensor", 3, 3)
    sizes = _numbers(shape, "a shape", low=0)
    return TensorInfo(sizes, _numbers(strides, "strides", exactly=len(sizes), low=0), _text(dtype, "a dtype", 40))


def _box(value: Any) -> tuple[tuple[int, int], ...]:
    sides = []
    for side in _list(value, "a box", MAX_DIMENSIONS):
        start, stop = _numbers(side, "a box", exactly=2)
        if start > stop:
            raise _fail("a box", side)
        sides.append((start, stop))
    return tuple(sides)


def _tile_in(value: Any) -> Tile:
    box, active, elements = _list(value, "a tile", 3, 3)
    return Tile(
        _box(box),
        None if active is None else _box(active),
        None if elements is None else _numbers(elements, "elements", MAX_ELEMENTS, low=0),
    )


def _event_in(value: Any, step: int) -> Event:
    program, kind, tensor, line, function, loops, tile, counts, state = _list(value, "an event", 9, 9)
    moved, masked, undefined, outside, kernel_line = _numbers(counts, "counts", exactly=5, low=0)
    around = []
    for pair in _list(loops, "loops", 64):
        name, number = _list(pair, "a loop", 2, 2)
        around.append((_text(name, "a loop variable", 200), _integer(number, "a loop variable")))
    return Event(
        step=step,
        program=_triple(program, "a program"),
        kind=_choice(kind, "a kind of event", get_args(EventKind)),
        tensor=_text(tensor, "a tensor's name", 200),
        line=_integer(line, "a line", 0),
        function=_text(function, "a function's name", 200),
        loops=tuple(around),
        tile=None if tile is None else _tile_in(tile),
        bytes=moved,
        masked=masked,
        undefined=undefined,
        out_of_bounds=outside,
        state={_text(n, "a name", 200): _state_in(v) for n, v in _mapping(state, "state", MAX_STATE_NAMES).items()},
        kernel_line=kernel_line,
    )


def _finding_in(value: Any) -> Finding:
    kind, message, line, program, tensor, elements, count, operation = _list(value, "a finding", 8, 8)
    return Finding(
        kind=_choice(kind, "a kind of finding", get_args(FindingKind)),
        message=_text(message, "a message"),
        line=_maybe(_integer, line, "a line"),
        program=_maybe(_triple, program, "a program"),
        tensor=_maybe(_text, tensor, "a tensor's name"),
        elements=tuple(_numbers(e, "an index") for e in _list(elements, "elements", MAX_ELEMENTS)),
        count=_integer(count, "a count", 0),
        operation=_maybe(_text, operation, "an operation"),
    )


def _state_in(value: Any) -> Any:
    """A number, a nested list of numbers of even lengths, or the summary of a large tile."""
    if isinstance(value, dict):
        _object(value, "a summary", {"shape", "min", "max"})
        shape = list(_numbers(value["shape"], "a shape", low=0))
        return {"shape": shape, "min": _number(value["min"]), "max": _number(value["max"])}
    left = [MAX_STATE_NUMBERS]
    return _nested(value, left, MAX_DIMENSIONS)


def _nested(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth < 0:
        raise _fail("a small tile", "too many numbers")
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
    raise _fail("a number", value)


def _arrays(
    value: Any, arrays: list[np.ndarray], tensors: dict[str, TensorInfo], dtype: Any, low: int, high: int
) -> dict[str, np.ndarray]:
    out = {}
    for pair in _list(value, "arrays", MAX_TENSORS):
        name, number = _list(pair, "an array", 2, 2)
        name = _known(name, tensors)
        _integer(number, "an array's number", 0, len(arrays) - 1)
        array = arrays[number]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            raise _fail(f"an array of {np.dtype(dtype)}", array)
        if array.size != math.prod(tensors[name].shape):
            raise _fail(f"as long as {name}", array.size)
        if array.size and (int(array.min()) < low or int(array.max()) > high):
            raise _fail(f"within {low} and {high}", "array")
        out[name] = array
    return out
