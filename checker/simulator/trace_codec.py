"""A `Trace` as bytes (msgpack), and back.

Reading trusts nothing, because the bytes come from a process that ran a stranger's code. The types of `trace` are the schema.
Lengths are checked before anything of that length is allocated, and the work is linear in the bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from checker.simulator.trace import MAX_STATE_NUMBERS, Box, TensorInfo, Trace

MAX_BYTES = 32 << 20
"""The largest honest traces, films of attention, have 4 MB. Decoding takes up to 64 times the memory of the bytes."""

_ELEMENT = np.dtype("<i4")


class MalformedTrace(ValueError):
    """Bytes that the simulator cannot have written."""


def _bytes_of(array: np.ndarray) -> bytes:
    return array.astype(_ELEMENT).tobytes()


def _array_of(_: type, data: Any) -> np.ndarray:
    if not isinstance(data, bytes):
        raise ValueError("an array is bytes")
    return np.frombuffer(data, _ELEMENT)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_bytes_of)
_DECODER = msgspec.msgpack.Decoder(Trace, dec_hook=_array_of)
encode = _ENCODER.encode


def decode(data: bytes | bytearray | memoryview, max_bytes: int = MAX_BYTES) -> Trace:
    """The trace that `encode` wrote. Raises MalformedTrace for any other bytes, and for more than `max_bytes`."""
    if len(data) > max_bytes:
        raise MalformedTrace(f"{len(data)} bytes are more than a trace may have")
    try:
        trace = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedTrace(str(error)) from error
    _check(trace)
    _check_arrays(trace.writers, trace.tensors, -1, max(math.prod(trace.grid), 1) - 1)
    _check_arrays(trace.writer_lines, trace.tensors, 0, 2**31 - 1)
    return trace


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


def _check_arrays(arrays: Mapping[str, np.ndarray], tensors: Mapping[str, TensorInfo], low: int, high: int) -> None:
    """Each array must hold one number from `low` to `high` for each element of its tensor."""
    for name, array in arrays.items():
        if name not in tensors or array.size != math.prod(tensors[name].shape):
            raise MalformedTrace(f"the array for {name} does not have one number for each element of a tensor")
        if array.size and (int(array.min()) < low or int(array.max()) > high):
            raise MalformedTrace(f"the array for {name} holds numbers outside {low} to {high}")
