"""The three kernels for few heads, one after another on a real GPU, as a notebook runs them."""

from __future__ import annotations

import functools

import pytest

from checker import lab

pipeline = functools.partial(lab.pipeline, "causal_linear_attention")
pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("cuda")]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_gpu_is_as_near_to_float64_as_the_simulator(dtype):
    found = pipeline(dtype=dtype, N=500, D=64, D_V=72, CHUNK=64, BLOCK_V=32, PAST=9)
    for name, error in found.gpu_errors.items():
        assert error < 2 * found.errors[name] + 1e-6, name
    assert all(step.seconds and step.moved for step in found.steps)
    assert found.device in found._repr_html_()


def test_a_long_text_runs_on_the_gpu_alone():
    found = pipeline("cuda", "bfloat16", H=4, N=65_536, D=64, D_V=64, CHUNK=64, BLOCK_V=64)
    assert found.errors == {}
    assert found.moved is None
    assert max(found.gpu_errors.values()) < 1e-2
