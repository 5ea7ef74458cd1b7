"""The three kernels for few heads, run one after another for a learner."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from checker import gpu, lab, workspace
from checker.verbs.arguments import UnavailableHere, UsageError

ROOT = Path(__file__).resolve().parents[2]
pipeline = functools.partial(lab.pipeline, "causal_linear_attention")
NAMES = ["linear_chunk_states", "linear_state_prefix", "linear_state_prefix", "causal_linear_attention_parallel"]


def solve(space, puzzle: str, old: str = "", new: str = "") -> None:
    """Keep the course's solution, changed where asked, as a kernel of the learner's that passed."""
    text = (ROOT / "solutions" / f"{puzzle}.py").read_text()
    assert not old or text.count(old) == 1
    workspace.keep_copy(space.ours / "passed", puzzle, text.replace(old, new) if old else text)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_chain_is_near_float64(space, dtype):
    found = pipeline("cpu", dtype, N=75, PAST=9)
    assert [step.puzzle for step in found.steps] == NAMES
    assert set(found.errors) == {"o_ptr", "s_ptr", "z_ptr"}
    assert 0 < max(found.errors.values()) < {"float32": 2e-3, "float16": 2e-3, "bfloat16": 1e-2}[dtype]
    assert found.gpu_errors == {}


def test_programs_and_bytes_are_those_of_the_launches(space):
    """Two heads, 40 tokens in 3 chunks, D = 16, D_V = 24 in two slices, float32."""
    found = pipeline("cpu", N=40)
    assert [step.programs for step in found.steps] == [3 * 2 * 2, 6 * 2, 1 * 2, 3 * 2 * 2]
    k, v, s, z = 2 * 40 * 16 * 4, 2 * 40 * 24 * 4, 2 * 3 * 16 * 24 * 4, 2 * 3 * 16 * 4
    assert [step.moved for step in found.steps] == [
        2 * k + v + s + z,
        2 * s + 2 * s // 3,
        2 * z + 2 * z // 3,
        4 * k + 2 * v + s + 2 * z,
    ]
    assert found.moved == sum(step.moved for step in found.steps)


def test_the_learners_own_kernels_run_and_the_rest_is_marked(space):
    """A prefix that is wrong by design: what it hands on is what the next kernel gets."""
    solve(space, "linear_state_prefix", "state += tl.load", "state -= tl.load")
    found = pipeline("cpu", N=40)
    assert [step.own for step in found.steps] == [False, True, True, False]
    assert min(found.errors.values()) > 0.1
    assert "linear_chunk_states *" in found._repr_html_()
    assert "linear_state_prefix *" not in found._repr_html_()
    assert "the course's solution" in repr(found)
    assert "would be 4." in found._repr_html_()


def test_a_kernel_runs_in_its_own_configuration_unless_a_tile_is_named(space):
    tuned = '@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 128}, num_warps=4)], key=[])\n@triton.jit'
    solve(space, "linear_state_prefix", "@triton.jit", tuned)
    assert [step.programs for step in pipeline("cpu", N=40).steps[1:3]] == [3 * 2, 1 * 2]
    assert [step.programs for step in pipeline("cpu", N=40, BLOCK_SIZE=32).steps[1:3]] == [12 * 2, 1 * 2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"M": 3}, "pipeline has no size called M"),
        ({"N": 0}, "N has to be a whole number"),
        ({"D": 48}, "D is 16, 32, 64 or 128, not 48"),
        ({"CHUNK": 24}, "power of two"),
        ({"N": 10_000_000}, "480,000,000 numbers"),
        ({"CHUNK": 8}, "at least 16"),
        ({"PAST": -1}, "cannot be -1"),
        ({"dtype": "float64"}, "no 'float64' tensors"),
        ({"device": "tpu"}, "'auto', 'cpu' or 'cuda'"),
    ],
    ids=str,
)
def test_what_does_not_exist_is_refused(space, arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        pipeline(**arguments)


def test_a_gpu_that_is_not_there_is_named(space, monkeypatch):
    monkeypatch.setattr(gpu, "available", lambda: False)
    with pytest.raises(UnavailableHere, match="no GPU"):
        pipeline("cuda")
