"""The seam: every private name does what the simulator needs, nothing stays changed, and the GPU compiler still works."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction

from checker.puzzle import Launch
from checker.simulator import SimulationError, seam, simulate
from tests.simulator import kernels
from tests.simulator.launching import nans, run

PLACES = (tl, tl.core, tl.math, tl.standard, tl.random, tl.core.tensor, tl.core.dtype, JITFunction)
needs_plain_triton = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="kernels cannot be compiled under TRITON_INTERPRET=1"
)


def softmax(m=2, n=10):
    x, y = torch.randn(m, n), nans(m, n)
    run(kernels.row_softmax, (m,), ("y_ptr",), {"BLOCK_N": 16}, x_ptr=x, y_ptr=y, stride_xm=n, stride_ym=n, N=n)
    torch.testing.assert_close(y, x.softmax(-1))


def compile_for(capability):
    signature = {
        "x_ptr": "*fp32",
        "y_ptr": "*fp32",
        "stride_xm": "i32",
        "stride_ym": "i32",
        "N": "i32",
        "BLOCK_N": "constexpr",
    }
    source = ASTSource(kernels.row_softmax, signature, {"BLOCK_N": 1024})
    return triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"]


def snapshot():
    return [dict(vars(place)) for place in PLACES]


SIMULATOR = Path(seam.__file__).parent
PRIVATE = re.compile(
    r"\.(handle|fn|raw_src|starting_line_number|to_ir|is_builtin)\b|_semantic\b|mangle_type|JITFunction|InterpretedFunction"
    r"|triton\.(runtime|compiler|language\.semantic)|_sum_combine|_elementwise_m"
)


@pytest.mark.parametrize("path", sorted(SIMULATOR.rglob("*.py")), ids=lambda p: p.relative_to(SIMULATOR).as_posix())
def test_only_the_seam_knows_private_names(path):
    code = "".join(ast.unparse(node) + "\n" for node in without_docstrings(ast.parse(path.read_text("utf-8"))).body)
    assert bool(PRIVATE.search(code)) == (path.name == "seam.py")


def without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def test_the_package_s_map_names_every_module():
    text = ast.get_docstring(ast.parse((SIMULATOR / "__init__.py").read_text("utf-8")))
    modules = {path.stem for path in SIMULATOR.glob("*.py")} - {"__init__"}
    assert {name for name in modules if not re.search(rf"^ {{4,}}{name} |`{name}`", text, re.MULTILINE)} == set()


def test_semantic_layer_takes_our_builder():
    softmax()
    assert list(inspect.signature(seam.TritonSemantic.__init__).parameters)[:2] == ["self", "builder"]


def test_builtins_are_recognised():
    names = {name for place, name, _ in seam._builtins() if place is tl}
    assert {"load", "store", "arange", "dot", "where", "program_id", "full"} <= names


def test_every_load_and_store_passes_the_builder():
    source = inspect.getsource(seam.TritonSemantic)
    for name in (
        "create_load",
        "create_masked_load",
        "create_store",
        "create_masked_store",
        "create_atomic_rmw",
        "create_atomic_cas",
    ):
        assert f"builder.{name}(" in source


@needs_plain_triton
def test_a_jitted_function_gives_its_source():
    lines, first = seam.source_of(kernels.row_softmax)
    assert lines[0].startswith("@triton.jit")
    assert lines == inspect.getsource(kernels)[:].splitlines(keepends=True)[first - 1 : first - 1 + len(lines)]


def test_constexpr_parameters_are_found():
    assert seam.constexpr_parameters(kernels.tiled_softmax) == {"BLOCK_M", "BLOCK_N"}


def test_wrappers_are_opened():
    tuned = triton.autotune(configs=[triton.Config({"BLOCK_N": 16})], key=["N"])(kernels.row_softmax)
    assert seam.unwrap_kernel(tuned) is kernels.row_softmax
    with pytest.raises(TypeError):
        seam.unwrap_kernel(print)


def test_the_library_reduces_with_the_functions_we_know():
    for name, meaning in seam._COMBINE_NAMES.items():
        assert seam.combination(getattr(tl.standard, name)) == meaning
    assert seam.combination(tl.standard._argmax_combine) is None


def test_argument_types():
    assert seam.number_argument(1).dtype == tl.int32
    assert seam.number_argument(2**40).dtype == tl.int64
    assert seam.number_argument(0.5).dtype == tl.float32
    assert seam.number_argument(True).dtype == tl.int1


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


@needs_plain_triton
def test_compile_after_a_trace_and_trace_after_a_compile():
    softmax()
    assert "sm_90" in compile_for(90)
    softmax()
    assert "sm_80" in compile_for(80)


def test_no_redefinition_goes_stale(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    sys.dont_write_bytecode, old = True, sys.dont_write_bytecode
    try:
        text = "import triton\nimport triton.language as tl\n\nFACTOR = tl.constexpr({})\n\n\n@triton.jit\ndef helper(x):\n    return x + {}\n\n\n"
        text += "@triton.jit\ndef kernel(y_ptr):\n    tl.store(y_ptr, helper(1.0) * FACTOR)\n"
        path = tmp_path / "a_cell_of_a_notebook.py"
        path.write_text(text.format(1, 1))
        module = importlib.import_module("a_cell_of_a_notebook")
        y = torch.zeros(1)
        launch = Launch((1,), {"y_ptr": y}, {}, ("y_ptr",))
        simulate(module.kernel, launch)
        assert y.item() == 2.0
        path.write_text(text.format(10, 2))
        fresh: dict = {}
        exec(compile("import triton.language as tl\nFACTOR = tl.constexpr(10)", "cell 2", "exec"), fresh)
        module.FACTOR = fresh["FACTOR"]
        simulate(module.kernel, launch)
        assert y.item() == 20.0

        @triton.jit
        def helper(x):
            return x + 2.0

        module.helper = helper
        simulate(module.kernel, launch)
        assert y.item() == 30.0
    finally:
        sys.dont_write_bytecode = old
        sys.modules.pop("a_cell_of_a_notebook", None)


def test_threads_take_turns():
    failures = []

    def work():
        try:
            for _ in range(3):
                softmax()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@needs_plain_triton
def test_works_under_triton_interpret(tmp_path):
    root = Path(__file__).parents[2]
    code = "from tests.simulator import test_seam, test_ladder, kernels; test_seam.softmax(); test_seam.test_nothing_of_triton_stays_changed(); "
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
