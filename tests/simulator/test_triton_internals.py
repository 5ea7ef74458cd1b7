"""Triton's private names: every one does what the simulator needs, nothing stays changed, and the GPU compiler still works."""

import ast
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate, triton_internals
from checker.simulator.builder import Builder
from tests.simulator import kernels, launching

PLACES = (tl, tl.core, tl.math, tl.standard, tl.random, tl.core.tensor, tl.core.dtype, tl.core.block_type, JITFunction)
needs_plain_triton = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="kernels cannot be compiled under TRITON_INTERPRET=1"
)


def softmax():
    x = torch.randn(2, 10)
    torch.testing.assert_close(launching.softmax(kernels.row_softmax, x, BLOCK_N=16)[1], x.softmax(-1))


def compile_for(capability):
    pointers, numbers = (
        dict.fromkeys(("x_ptr", "y_ptr"), "*fp32"),
        dict.fromkeys(("stride_xm", "stride_ym", "N"), "i32"),
    )
    signature = {**pointers, **numbers, "BLOCK_N": "constexpr"}
    source = ASTSource(kernels.row_softmax, signature, {"BLOCK_N": 1024})
    return triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"]


def snapshot():
    return [dict(vars(place)) for place in PLACES]


SIMULATOR = Path(triton_internals.__file__).parent
PRIVATE = re.compile(
    r"\.(handle|fn|raw_src|starting_line_number|to_ir|is_builtin)\b|_semantic\b|mangle_type|JITFunction|InterpretedFunction"
    r"|triton\.(runtime|compiler|language\.semantic)|_sum_combine|_elementwise_m"
)


@pytest.mark.parametrize("path", sorted(SIMULATOR.rglob("*.py")), ids=lambda p: p.relative_to(SIMULATOR).as_posix())
def test_only_one_module_knows_private_names(path):
    code = "".join(ast.unparse(node) + "\n" for node in without_docstrings(ast.parse(path.read_text("utf-8"))).body)
    assert bool(PRIVATE.search(code)) == (path.name == "triton_internals.py")


def without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def test_nothing_of_triton_stays_changed():
    before = snapshot()
    softmax()
    assert snapshot() == before

    @triton.jit
    def broken(x_ptr):
        tl.store(x_ptr, nowhere)  # noqa: F821

    with pytest.raises(SimulationError):
        simulate(broken, Launch((1,), {"x_ptr": torch.zeros(1)}, {}, ("x_ptr",)))
    assert snapshot() == before


def test_nothing_leaks_into_the_kernel_s_module():
    before = dict(vars(kernels))
    softmax()
    assert vars(kernels) == before


def test_the_builder_knows_what_only_newer_triton_asks_for():
    """Without this method no kernel runs with Triton 3.9, and with the Triton of the lock nobody notices."""
    assert Builder.get_cache_policy


@needs_plain_triton
def test_compile_after_a_trace_and_trace_after_a_compile():
    softmax()
    assert "sm_90" in compile_for(90)
    softmax()
    assert "sm_80" in compile_for(80)


def test_threads_take_turns():
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(softmax) for _ in range(12)]:
            done.result()


@needs_plain_triton
def test_works_under_triton_interpret(tmp_path):
    root = Path(__file__).parents[2]
    code = "from tests.simulator import test_triton_internals as here, test_ladder, kernels; here.softmax(); here.test_nothing_of_triton_stays_changed(); "
    code += "test_ladder.test_softmax_of_rows(kernels.online_softmax, 4, 37)"
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        "PYTHONPATH": os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(root)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
