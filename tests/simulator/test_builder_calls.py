"""Operations that are computed without Triton's front end, from what it asked the builder for the first time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import simulate, triton_internals
from tests.simulator import kernels
from tests.simulator.launching import EVENTS, EXPLAIN, attention_launch, elementwise


@pytest.fixture
def recorded_operations(monkeypatch):
    """The table of recorded operations, empty at first."""
    table: dict = {}
    monkeypatch.setattr(triton_internals._Operations, "recorded", table)
    return table


class Forgetful(dict):
    """A table that keeps nothing, so that Triton's front end computes everything."""

    def __setitem__(self, *_):
        pass


def attention(precision: str = "tf32", dtype: torch.dtype = torch.float32) -> Launch:
    return attention_launch(2, 20, True, (8, 4), precision, dtype)


@pytest.mark.parametrize("options", [EVENTS, EXPLAIN], ids=str)
@pytest.mark.parametrize("kind", [("tf32", torch.float32), ("ieee", torch.bfloat16)], ids=str)
def test_what_was_recorded_computes_the_same(kind, options, recorded_operations, monkeypatch):
    launches = [attention(*kind) for _ in range(3)]
    traces = [simulate(kernels.flash_attention, launch, options) for launch in launches[:2]]
    assert len(recorded_operations) > 20
    monkeypatch.setattr(triton_internals._Operations, "recorded", Forgetful())
    expected = simulate(kernels.flash_attention, launches[2], options)
    for launch, trace in zip(launches, traces, strict=False):
        assert torch.equal(launch.arguments["o_ptr"], launches[2].arguments["o_ptr"])
        for name in ("traffic", "flops", "lane_flops", "events"):
            assert getattr(trace, name) == getattr(expected, name), name
        assert np.array_equal(trace.writer_lines["o_ptr"], expected.writer_lines["o_ptr"])


@triton.jit
def look_alikes(x_ptr, y_ptr):
    offs = tl.arange(0, 16)
    x = tl.load(x_ptr + offs)
    y = x + 1
    a = x * y
    b = x * x
    c = tl.where(1.0 / (x * 0 + 0.0) > 0, 1.0, 2.0)
    d = tl.where(1.0 / (x * 0 * -1.0 - 0.0) > 0, 1.0, 2.0)
    e = tl.fma(x, y, x) + tl.fma(x, x, y)
    tl.store(y_ptr + offs, a + b * 100 + (c + d * 10) * 10000 + e)


def test_look_alikes_are_told_apart(recorded_operations):
    x = torch.arange(1.0, 17)
    for _ in range(2):
        a, b, e = x * (x + 1), x * x * 100, (x * (x + 1) + x) + (x * x + x + 1)
        assert torch.equal(elementwise(look_alikes, x), a + b + 21 * 10000 + e)
