"""A `Trace` as bytes (msgpack), and back.

Reading trusts nothing, because the bytes come from a process that ran a stranger's code. The types of `trace` are the schema.
Lengths are checked before anything of that length is allocated, and the work is linear in the bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import msgspec
import numpy as np

from checker.simulator.trace import MAX_STATE_NUMBERS, MAX_TENSORS, Box, Name, TensorInfo, Trace

MAX_BYTES = 32 << 20
"""The largest honest traces, films of attention, have 4 MB. Decoding takes up to 64 times the memory of the bytes."""

_Arrays = Annotated[dict[Name, bytes], msgspec.Meta(max_length=MAX_TENSORS)]
_WRITERS, _LINES = np.dtype("<i8"), np.dtype("<i4")


class MalformedTrace(ValueError):
    """Bytes that the simulator cannot have written."""


@dataclass
class _Packed(Trace):
    """A trace with the bytes of its arrays."""

    writers: _Arrays  # type: ignore[assignment]
    writer_lines: _Arrays = field(default_factory=dict)  # type: ignore[assignment]


_DECODER = msgspec.msgpack.Decoder(_Packed)


def encode(trace: Trace) -> bytes:
    """`trace` as bytes that `decode` takes."""
    packed: dict[str, Any] = {f.name: getattr(trace, f.name) for f in fields(trace)}
    packed["writers"] = {name: array.astype(_WRITERS).tobytes() for name, array in trace.writers.items()}
    packed["writer_lines"] = {name: array.astype(_LINES).tobytes() for name, array in trace.writer_lines.items()}
    return msgspec.msgpack.encode(packed)


def decode(data: bytes | bytearray | memoryview, max_bytes: int = MAX_BYTES) -> Trace:
    """The trace that `encode` wrote. Raises MalformedTrace for any other bytes, and for more than `max_bytes`."""
    if len(data) > max_bytes:
        raise MalformedTrace(f"{len(data)} bytes are more than a trace may have")
    try:
        packed = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedTrace(str(error)) from error
    _check(packed)
    last = max(math.prod(packed.grid), 1) - 1
    writers = _arrays(packed.writers, _WRITERS, packed.tensors, -1, last)
    lines = _arrays(packed.writer_lines, _LINES, packed.tensors, 0, 2**31 - 1)
    return Trace(**{**vars(packed), "writers": writers, "writer_lines": lines})


def _check(trace: Trace) -> None:
    """Check what the types cannot express."""
    for name, tensor in trace.tensors.items():
        if len(tensor.shape) != len(tensor.strides):
            raise MalformedTrace(f"{name} has {len(tensor.shape)} dimensions and {len(tensor.strides)} strides")
    if not trace.traffic.keys() <= trace.tensors.keys():
        raise MalformedTrace("traffic for a tensor that the launch does not have")
    for step, event in enumerate(trace.events):
        if event.step != step:
            raise MalformedTrace(f"event {step} has the number {event.step}")
        if event.tile is not None:
            _check_box(event.tile.box)
            _check_box(event.tile.active or ())
        for value in event.state.values():
            if isinstance(value, list) and _numbers(value) > MAX_STATE_NUMBERS:
                raise MalformedTrace("the state of a variable holds more numbers than a small tile has")


def _check_box(box: Box) -> None:
    if any(start > stop for start, stop in box):
        raise MalformedTrace(f"a box ends before it starts: {box}")


def _numbers(values: list[Any]) -> int:
    """How many numbers the nested lists hold."""
    if list not in set(map(type, values)):
        return len(values)
    return sum(_numbers(v) if isinstance(v, list) else 1 for v in values)


def _arrays(
    packed: Mapping[str, bytes], dtype: np.dtype, tensors: Mapping[str, TensorInfo], low: int, high: int
) -> dict[str, np.ndarray]:
    """One number from `low` to `high` for each element of these tensors."""
    out = {}
    for name, data in packed.items():
        if name not in tensors:
            raise MalformedTrace("an array for a tensor that the launch does not have")
        if len(data) != dtype.itemsize * math.prod(tensors[name].shape):
            raise MalformedTrace(f"the array for {name} does not have one number for each element")
        array = np.frombuffer(data, dtype)
        if array.size and (int(array.min()) < low or int(array.max()) > high):
            raise MalformedTrace(f"the array for {name} holds numbers outside {low} to {high}")
        out[name] = array
    return out
