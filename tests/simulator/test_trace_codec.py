"""Traces as bytes: nothing is lost, and nothing that the simulator would not have written is taken."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker.simulator import Finding, SimulateOptions, Trace
from checker.simulator.trace_codec import MalformedTrace, decode, encode
from tests.simulator import kernels
from tests.simulator.kernels import without_other
from tests.simulator.launching import STATE, softmax


def with_everything() -> Trace:
    """Events with tiles and state (NaN and infinities in it), writers and their lines."""
    return softmax(kernels.tiled_softmax, torch.randn(5, 7), STATE, BLOCK_M=4, BLOCK_N=4)[0]


def with_findings() -> Trace:
    return without_other("sum", SimulateOptions())


def with_a_large_tile() -> Trace:
    return softmax(kernels.row_softmax, torch.randn(1, 2000), STATE, BLOCK_N=2048)[0]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return with_everything()


@pytest.mark.parametrize("make", [with_everything, with_findings, with_a_large_tile], ids=lambda make: make.__name__)
def test_a_trace_comes_back_as_it_was(make: Callable[[], Trace]) -> None:
    one = make()
    other = decode(encode(one))
    assert one.events or one.findings
    assert repr(one.events) == repr(other.events)  # NaN equals nothing, but is written alike
    for key in ("grid", "tensors", "findings", "traffic", "flops", "lane_flops", "printed", "conditions"):
        assert getattr(one, key) == getattr(other, key), key
    for key in ("writers", "writer_lines"):
        mine, theirs = getattr(one, key), getattr(other, key)
        assert mine.keys() == theirs.keys() == {"y_ptr"}
        assert all(mine[n].dtype == theirs[n].dtype and np.array_equal(mine[n], theirs[n]) for n in mine)


def changed(trace: Trace, path: str, value: Any) -> bytes:
    """The bytes of `trace` with one thing in them replaced."""
    body = msgspec.msgpack.decode(encode(trace))
    target = body
    *outer, last = (int(key) if key.isdigit() else key for key in path.split("."))
    for key in outer:
        target = target[key]
    target[last] = value
    return msgspec.msgpack.encode(body)


def nested(depth: int) -> Any:
    return 1 if depth == 0 else [nested(depth - 1)]


_PLACE = {"line": 1, "column": 0, "end_line": 1, "end_column": 9}
_CONDITION = {"kind": "test", "function": "kernel", **_PLACE}
WRONG: dict[str, list[Any]] = {
    "grid": [[1, 1], "1"],
    "grid.0": [1.5, True, -1, 1 << 63],
    "tensors.x_ptr.shape": [[5, -7], [1] * 9],
    "tensors.x_ptr.strides": [[7]],
    "tensors.x_ptr.dtype": ["f" * 100],
    "tensors": [{f"x_{i}": {"shape": [], "strides": [], "dtype": "int8"} for i in range(65)}],
    "events": [{}, None],
    "events.0": [{}],
    "events.1.step": [0],
    "events.0.kind": ["jump", ["load"]],
    "events.0.line": ["7"],
    "events.0.tensor": ["x" * 201],
    "events.0.loops": [[["i", 1]] * 65],
    "events.0.tile.box": [[[3, 1]], [[0, 1, 2]]],
    "events.0.tile.active": [[[3, 1]]],
    "events.0.tile.elements": [["a"], [-1], [0] * 10_001],
    "events.0.bytes": [-4],
    "events.0.state": [{"m": {"shape": [1]}}, {"m": {1: 2}}, {1: 2}, {f"m_{i}": 0 for i in range(201)}],
    "events.0.state.m": [nested(9), [0] * 5000, [[0] * 100] * 100, "<script>", None, msgspec.msgpack.Ext(1, b"")],
    "findings.0": [{"kind": "nonsense"}, {"kind": "race", "tensor": "x" * 20_000}, {"kind": "race", "count": -1}],
    "findings.0.accesses": [["load"]],
    "traffic": [{"unknown": {}}],
    "traffic.x_ptr.loads": [None],
    "flops": [None],
    "lane_flops": [-1, 1.5],
    "printed": [[1], [""] * 1001],
    "conditions": [[{}], None, [_CONDITION] * 1001],
    "conditions.0.kind": ["jump", ["cast"]],
    "conditions.0.function": ["x" * 201],
    "conditions.0.line": [-1, "7", 1 << 63],
    "conditions.0.true": [1, None],
    "writers": [{"unknown": b""}],
    "writers.y_ptr": [[0] * 35, b"\0" * 4 * 34, b"\0", b"\x63" + b"\0" * 139, b"\xfe" + b"\xff" * 139],
    "writer_lines.y_ptr": [b"\xff" * 4 * 35],
}


def test_what_the_simulator_would_not_have_written_is_refused(trace: Trace) -> None:
    found = replace(trace, findings=[Finding("race")])
    decode(encode(found))
    for path, values in WRONG.items():
        for value in values:
            data = changed(found, path, value)
            with pytest.raises(MalformedTrace):
                decode(data)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_are_a_trace_or_refused(trace: Trace, data: st.DataObject) -> None:
    whole = bytearray(encode(trace))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.just(len(whole)) | st.integers(0, len(whole)))
    with contextlib.suppress(MalformedTrace):
        assert isinstance(decode(bytes(whole[:end])), Trace)
