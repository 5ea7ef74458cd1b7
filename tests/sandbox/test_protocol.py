"""Frames and their parts, read strictly."""

from __future__ import annotations

import dataclasses
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from checker.compiler import CompileRequest, CompileResult
from checker.puzzle import Launch, Scalar
from checker.sandbox import codec
from checker.sandbox.tensors import Shared, attach
from checker.sandbox.wire import Channel, Closed, Frame, ProtocolError


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        yield Channel(near), far


def test_a_frame_arrives_whole_and_with_its_descriptors(pair: tuple[Channel, socket.socket]) -> None:
    channel, far = pair
    blob = os.urandom(3_000_000)
    reader, writer = os.pipe()
    sender = threading.Thread(target=Channel(far).send, args=({"a": 1, "b": "ü"}, [blob, b""], [writer]))
    sender.start()
    frame = channel.receive(time.monotonic() + 10)
    sender.join()
    assert (frame.body, frame.blobs) == ({"a": 1, "b": "ü"}, (blob, b""))
    os.write(frame.fds[0], b"x")
    assert os.read(reader, 1) == b"x"
    for fd in (reader, writer, *frame.fds):
        os.close(fd)


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<II", 1 << 30, 0),
        struct.pack("<II", 2, 1 << 20),
        struct.pack("<IIQ", 2, 1, 1 << 60) + b"{}",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 2, 0) + b"{]",
        struct.pack("<II", 1, 0) + b"\xff",
        struct.pack("<II", 200_000, 0) + b"[" * 200_000,
        struct.pack("<II", 10_000, 0) + b"1" * 10_000,
    ],
    ids=["too long", "too many blobs", "blob too large", "a list", "no JSON", "no UTF-8", "too deep", "a huge number"],
)
def test_a_frame_that_is_none(pair: tuple[Channel, socket.socket], data: bytes) -> None:
    channel, far = pair
    far.settimeout(1)
    threading.Thread(target=far.sendall, args=(data,)).start()
    with pytest.raises(ProtocolError):
        channel.receive(time.monotonic() + 5)


def test_a_frame_that_never_ends_is_a_timeout(pair: tuple[Channel, socket.socket]) -> None:
    channel, far = pair
    far.sendall(struct.pack("<II", 100, 0) + b"{")
    with pytest.raises(TimeoutError):
        channel.receive(time.monotonic() + 0.2)
    far.close()
    with pytest.raises(Closed):
        channel.receive(time.monotonic() + 1)


def test_a_reader_that_does_not_read_is_a_timeout(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    with pytest.raises(TimeoutError):
        channel.send({}, [bytes(50_000_000)], deadline=time.monotonic() + 0.3)


# ----------------------------------------------------------------------------------------------------------- records


def through(kind: Any, value: Any) -> Any:
    near, far = socket.socketpair()
    with near, far:
        blobs: list[memoryview] = []
        body = {"value": codec.encode(value, blobs)}
        sender = threading.Thread(target=Channel(far).send, args=(body, blobs))
        sender.start()
        frame: Frame = Channel(near).receive(time.monotonic() + 5)
        sender.join()
        return codec.decode(kind, frame.body["value"], frame.blobs)


REQUEST = CompileRequest(80, {"x_ptr": "*fp32"}, {"BLOCK_N": 16, "IS_CAUSAL": True, "scale": 1.0}, {"num_warps": 4})


def test_a_compile_result_is_the_same_on_the_other_side() -> None:
    result = CompileResult(REQUEST, True, seconds=0.25, facts={"shared": 1024, "ptx": ".version"})
    back = through(CompileResult, result)
    assert back == result
    assert back.request.constexprs["IS_CAUSAL"] is True
    assert type(back.request.constexprs["scale"]) is float


@pytest.mark.parametrize(
    "array", [np.arange(6).reshape(2, 3), np.zeros(0, np.float32), np.array(True), np.ones((2, 2))[:, 0]]
)
def test_an_array_is_the_same_on_the_other_side(array: np.ndarray) -> None:
    back = through(np.ndarray, array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert np.array_equal(back, array)
    assert back.flags.writeable


@given(st.dictionaries(st.text(), st.one_of(st.integers(-(2**62), 2**62), st.booleans(), st.floats(allow_nan=False))))
def test_numbers_keep_their_type(values: dict[str, Scalar]) -> None:
    back = codec.decode(dict[str, Scalar], codec.encode(values, []), ())
    assert {k: (type(v), v) for k, v in back.items()} == {k: (type(v), v) for k, v in values.items()}


@dataclasses.dataclass
class Record:
    name: str
    kind: Literal["a", "b"]
    line: int | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"name": "x"},
        {"name": 1, "kind": "a"},
        {"name": "x", "kind": "c"},
        {"name": "x", "kind": "a", "verdict": "passed"},
        {"name": "x", "kind": "a", "line": "3"},
        {"name": "x", "kind": "a", "line": True},
        {"name": "x", "kind": "a", "line": 3.0},
        {"name": "x", "kind": "a", "pairs": [[1]]},
        {"name": "x", "kind": "a", "pairs": {"0": [1, 2]}},
        {"name": "x", "kind": "a", "seconds": "1"},
        {"name": "x", "kind": ["a"]},
    ],
    ids=str,
)
def test_a_record_that_is_none(data: Any) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(Record, data, ())


@pytest.mark.parametrize(
    "data",
    [
        {"$array": 0, "dtype": "|O", "shape": [1]},
        {"$array": 0, "dtype": "<f4", "shape": [3]},
        {"$array": 0, "dtype": "<f4", "shape": [-2, -1]},
        {"$array": 1, "dtype": "<f4", "shape": [2]},
        {"$array": True, "dtype": "<f4", "shape": [2]},
        {"$array": 0, "dtype": "<f4,<f4", "shape": [1]},
        {"$array": 0, "dtype": "nonsense", "shape": [2]},
        {"$array": 0, "dtype": "<f4"},
        [1.0, 2.0],
    ],
    ids=str,
)
def test_an_array_that_is_none(data: Any) -> None:
    with pytest.raises(ProtocolError):
        codec.decode(np.ndarray, data, (bytes(8),))


@pytest.mark.parametrize("value", [object(), torch.ones(1), {1: 2}, b"bytes", 1j], ids=lambda v: type(v).__name__)
def test_nothing_else_is_sent(value: object) -> None:
    with pytest.raises(TypeError):
        codec.encode(value, [])


# ----------------------------------------------------------------------------------------------------------- tensors


def test_a_launch_is_shared_and_the_original_is_not() -> None:
    base = torch.arange(24.0)
    x = base.as_strided((3, 4), (6, 1), 3)
    bound = Launch(
        grid=(3, 2),
        arguments={
            "x_ptr": x,
            "n": 3,
            "row_ptr": base[10:12],
            "half_ptr": torch.ones(5, dtype=torch.bfloat16),
            "empty_ptr": torch.empty(0),
            "index_ptr": torch.tensor([2**40]),
            "scale": float("inf"),
            "flag": True,
        },
        meta={"BLOCK_N": 4, "IS_CAUSAL": False},
        outputs=("x_ptr",),
        options={"num_warps": 8},
        far={"x_ptr": (2**30, 1)},
    )
    shared = Shared(bound)
    far = attach(shared.body(), os.dup(shared.fd))
    assert list(far.arguments) == list(bound.arguments)
    assert (far.grid, far.meta, far.outputs, far.options) == (bound.grid, bound.meta, bound.outputs, bound.options)
    assert far.far == bound.far
    assert far.arguments["scale"] == float("inf")
    assert far.arguments["flag"] is True
    for name, value in bound.arguments.items():
        if isinstance(value, torch.Tensor):
            got = far.arguments[name]
            assert isinstance(got, torch.Tensor)
            assert torch.equal(got, value)
            assert (got.stride(), got.storage_offset(), got.dtype) == (
                value.stride(),
                value.storage_offset(),
                value.dtype,
            )
            assert got.untyped_storage().nbytes() == value.untyped_storage().nbytes()
    far.arguments["row_ptr"][0] = 99.0  # type: ignore[index]
    results = shared.results()
    assert results["x_ptr"][1, 1] == 99.0, "two views of one storage stay two views of one storage"
    assert base[10] == 10.0
    far.arguments["row_ptr"][0] = 1.0  # type: ignore[index]
    assert results["x_ptr"][1, 1] == 99.0, "results are private"
    shared.close()


def test_the_shared_file_cannot_change_its_size() -> None:
    shared = Shared(Launch((1,), {"x_ptr": torch.ones(4)}, {}, ("x_ptr",)))
    for size in (0, 1 << 20):
        with pytest.raises(PermissionError):
            os.ftruncate(shared.fd, size)
    shared.close()
