"""Traces as JSON and arrays: nothing is lost, and nothing that the simulator would not have made is taken."""

import copy
import json

import numpy as np
import pytest
import torch

from checker.simulator import SimulateOptions, Trace, trace_from_parts, trace_to_parts
from tests.simulator import kernels
from tests.simulator.launching import nans, run_with
from tests.simulator.test_findings import no_other


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run_with(
        SimulateOptions(events=True, state=True), kernels.tiled_softmax, (2,), ("y_ptr",), {"BLOCK_M": 4, "BLOCK_N": 4},
        x_ptr=torch.randn(5, 7), y_ptr=nans(5, 7), stride_xm=7, stride_ym=7, M=5, N=7,
    )  # fmt: skip


def through_json(trace):
    head, arrays = trace_to_parts(trace)
    return json.loads(json.dumps(head, allow_nan=False)), arrays


def same(one: Trace, other: Trace) -> None:
    for key in ("grid", "tensors", "findings", "traffic", "flops", "lane_flops", "printed"):
        assert getattr(one, key) == getattr(other, key), key
    assert json.dumps([repr(e) for e in one.events]) == json.dumps([repr(e) for e in other.events])
    for key in ("writers", "writer_lines"):
        mine, theirs = getattr(one, key), getattr(other, key)
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[n], theirs[n]) for n in mine)


def test_a_trace_comes_back_as_it_was(trace):
    same(trace_from_parts(*through_json(trace)), trace)


def test_findings_come_back_as_they_were():
    found = run_with(
        SimulateOptions(), no_other, (3,), ("y_ptr",), {"BLOCK_N": 16, "KIND": "sum"},
        x_ptr=torch.randn(3, 12), y_ptr=nans(3), N=12,
    )  # fmt: skip
    assert found.findings
    same(trace_from_parts(*through_json(found)), found)


def _at(head, path, value):
    head = copy.deepcopy(head)
    target = head
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return head


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("grid",), [1, 1]),
        (("grid",), "1"),
        (("grid", 0), 1.5),
        (("grid", 0), True),
        (("grid", 0), -1),
        (("grid", 0), 1 << 70),
        (("tensors", "x_ptr"), [[5, -7], [7, 1], "float32"]),
        (("tensors", "x_ptr"), [[5, 7], [7], "float32"]),
        (("tensors", "x_ptr", 2), "f" * 100),
        (("events",), {}),
        (("events", 0, 1), "jump"),
        (("events", 0, 1), ["load"]),
        (("events", 0, 3), "7"),
        (("events", 0, 6), [[[3, 1]], None, None]),
        (("events", 0, 6), [[[0, 1]], None, ["a"]]),
        (("events", 0, 7), [1, 2, 3, 4]),
        (("events", 0, 7, 0), -4),
        (("events", 0, 8), {"m": {"shape": [1]}}),
        (("events", 0, 8), {"m": [[[[[[[[[[1]]]]]]]]]]}),
        (("events", 0, 8), {"m": [0] * 5000}),
        (("events", 0, 8), {"m": "<script>"}),
        (("events", 0, 8), {"m": None}),
        (("findings",), [["nonsense", "", None, None, None, [], 0, None]]),
        (("findings",), [["race", "x" * 20_000, None, None, None, [], 0, None]]),
        (("traffic",), {"unknown": [0, 0, 0, 0]}),
        (("traffic", "x_ptr"), [0, 0, 0]),
        (("flops",), None),
        (("lane_flops",), -1),
        (("lane_flops",), 1.5),
        (("printed",), [1]),
        (("writers",), [["y_ptr", 9]]),
        (("writers",), [["unknown", 0]]),
        (("writers",), [["x_ptr", 1]]),
        (("more",), 1),
    ],
    ids=str,
)
def test_what_the_simulator_would_not_have_made_is_refused(trace, path, value):
    head, arrays = through_json(trace)
    with pytest.raises(ValueError, match="not "):
        trace_from_parts(_at(head, path, value), arrays)


def test_arrays_are_checked(trace):
    head, arrays = through_json(trace)
    for bad in (
        arrays[0].astype(np.float64),
        arrays[0][:-1],
        arrays[0].reshape(5, 7),
        np.full_like(arrays[0], 99),
        "text",
    ):
        with pytest.raises(ValueError, match="not "):
            trace_from_parts(head, [bad, *arrays[1:]])


@pytest.mark.parametrize("head", [None, [], "trace", 3, {}], ids=str)
def test_what_is_no_trace_at_all_is_refused(head):
    with pytest.raises(ValueError, match="not a trace"):
        trace_from_parts(head, [])
