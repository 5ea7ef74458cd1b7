"""Dataclasses as JSON and back, read strictly: what a job says must have exactly the declared shape.

The declared types of the vocabulary (`Trace`, `CompileResult`, …) are the schema, so a field that a room adds crosses by itself.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from checker.sandbox.wire import ProtocolError

_ARRAY = "$array"
_KINDS = "biuf"
_MAX_DEPTH = 32


def encode(value: Any, blobs: list[memoryview]) -> Any:
    """`value` as what JSON can say; arrays are appended to `blobs`. Raises TypeError for anything else."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        blobs.append(memoryview(data.reshape(-1).view(np.uint8).data))
        return {_ARRAY: len(blobs) - 1, "dtype": data.dtype.str, "shape": list(value.shape)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name), blobs) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): encode(item, blobs) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item, blobs) for item in value]
    raise TypeError(f"{type(value).__name__} does not cross the sandbox's border")


def decode(kind: Any, data: Any, blobs: Sequence[bytes], where: str = "value") -> Any:
    """`data` as an instance of `kind`. Raises ProtocolError where it is anything else."""
    try:
        return _decode(kind, data, blobs, where)
    except RecursionError as error:
        raise ProtocolError(f"{where} is nested too deeply") from error


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of type {type(key).__name__} does not cross the sandbox's border")
    return key


def _decode(kind: Any, data: Any, blobs: Sequence[bytes], where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return _plain(data, where)
    if kind is None or kind is types.NoneType:
        return _expect(data is None, None, where, "null")
    if kind is float:
        return _expect(
            type(data) in (int, float), float(data) if type(data) in (int, float) else None, where, "a number"
        )
    if kind in (int, str, bool):
        return _expect(type(data) is kind, data, where, kind.__name__)
    if kind is np.ndarray:
        return _array(data, blobs, where)
    if origin is Literal:
        return _expect(isinstance(data, str | int) and data in arguments, data, where, f"one of {arguments}")
    if origin in (Union, types.UnionType):
        return _either(arguments, data, blobs, where)
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        items = _expect(isinstance(data, list) and len(data) == len(arguments), data, where, f"{len(arguments)} items")
        return tuple(
            _decode(a, item, blobs, f"{where}[{i}]") for i, (a, item) in enumerate(zip(arguments, items, strict=True))
        )
    if origin in (tuple, list, Sequence):
        items = [_decode(arguments[0], d, blobs, where) for d in _expect(isinstance(data, list), data, where, "a list")]
        return items if origin is list else tuple(items)
    if origin in (dict, Mapping):
        pairs = _expect(isinstance(data, dict), data, where, "an object")
        return {name: _decode(arguments[1], item, blobs, f"{where}.{name[:40]}") for name, item in pairs.items()}
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, blobs, where)
    raise TypeError(f"no decoder for {kind!r}")


def _expect(ok: bool, value: Any, where: str, wanted: str) -> Any:
    if not ok:
        raise ProtocolError(f"{where} is not {wanted}")
    return value


def _either(kinds: tuple[Any, ...], data: Any, blobs: Sequence[bytes], where: str) -> Any:
    # A whole number is an int where both are allowed, whatever order the union names them in.
    for kind in sorted(kinds, key=lambda k: k is float):
        try:
            return _decode(kind, data, blobs, where)
        except ProtocolError:
            continue
    raise ProtocolError(f"{where} has none of the types it may have")


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _record(kind: Any, data: Any, blobs: Sequence[bytes], where: str) -> Any:
    _expect(isinstance(data, dict), data, where, f"a {kind.__name__}")
    hints, fields = _hints(kind), {field.name: field for field in dataclasses.fields(kind)}
    if unknown := data.keys() - fields.keys():
        raise ProtocolError(f"{where} has a field that {kind.__name__} has not: {sorted(unknown)[0][:40]}")
    missing = [
        name
        for name, field in fields.items()
        if name not in data and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ProtocolError(f"{where} lacks {missing[0]}")
    return kind(**{name: _decode(hints[name], item, blobs, f"{where}.{name}") for name, item in data.items()})


def _array(data: Any, blobs: Sequence[bytes], where: str) -> np.ndarray:
    _expect(isinstance(data, dict) and data.keys() == {_ARRAY, "dtype", "shape"}, data, where, "an array")
    index, shape = data[_ARRAY], data["shape"]
    _expect(type(index) is int and 0 <= index < len(blobs), index, where, "an array of this frame")
    _expect(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape), shape, where, "an array's shape")
    try:
        dtype = np.dtype(data["dtype"]) if isinstance(data["dtype"], str) else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in _KINDS:
        raise ProtocolError(f"{where} is an array of something else than numbers")
    size = dtype.itemsize
    for n in shape:
        size *= n
    _expect(size == len(blobs[index]) and len(shape) <= 8, None, where, "an array that fits its bytes")
    return np.frombuffer(blobs[index], dtype).reshape(shape).copy()


def _plain(data: Any, where: str, depth: int = 0) -> Any:
    """JSON as it is, not nested deeper than a small tile."""
    if depth > _MAX_DEPTH:
        raise ProtocolError(f"{where} is nested too deeply")
    if isinstance(data, list):
        return [_plain(item, where, depth + 1) for item in data]
    if isinstance(data, dict):
        return {name: _plain(item, where, depth + 1) for name, item in data.items()}
    return data
