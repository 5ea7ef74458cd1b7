"""libdevice's functions: the numbers of CUDA's documentation, by every way to import them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from triton.language.extra.cuda import libdevice

from checker.compiler import TARGETS, compile_kernel, requests_for
from checker.course import PUZZLES
from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from checker.simulator.operations.libdevice import SIMULATED
from checker.submission.allowed_names import LIBDEVICE
from checker.submission.from_path import from_path
from checker.submission.load import load_kernel
from checker.submission.rules import violations
from tests.simulator.launching import kernel_of

KERNEL = """
import triton
import triton.language as tl
{imports}

@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, N, BLOCK_N: tl.constexpr):
    offs = tl.arange(0, BLOCK_N)
    tl.store(z_ptr + offs, {call})
"""
WAYS = {
    "tl.extra.libdevice.tanh": "",
    "tl.extra.cuda.libdevice.tanh": "",
    "libdevice.tanh": "from triton.language.extra import libdevice",
    "cuda_functions.tanh": "from triton.language.extra.cuda import libdevice as cuda_functions",
    "tanh": "from triton.language.extra.libdevice import tanh",
    "tanh_": "from triton.language.extra.cuda.libdevice import tanh as tanh_",
    "ld.tanh": "import triton.language.extra.libdevice as ld",
}


@pytest.mark.parametrize(("function", "imports"), WAYS.items(), ids=list(WAYS))
def test_every_way_to_import_is_read_compiled_and_simulated(function: str, imports: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(imports=imports, call=f"{function}(tl.load(x_ptr + offs))"))
    (found,) = from_path(path, {"vector_add": PUZZLES["vector_add"]})
    assert found.source is not None
    assert violations(found.source, PUZZLES["vector_add"]) == []
    kernel = load_kernel(found.source, tmp_path)
    x, z = torch.linspace(-3, 3, 16), torch.zeros(16)
    launch = Launch((1,), {"x_ptr": x, "y_ptr": x, "z_ptr": z, "N": 16}, {"BLOCK_N": 16}, ("z_ptr",))
    for request in requests_for(launch, PUZZLES["vector_add"].parameters, TARGETS.values()):
        assert compile_kernel(kernel, request).message == ""
    simulate(kernel, launch)
    assert torch.allclose(z, torch.tanh(x), rtol=1e-6)


def computed(folder: Path, call: str, x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    kernel = kernel_of(folder, f"tl.store(y_ptr + offs, tl.extra.libdevice.{call})")
    simulate(kernel, Launch((1,), {"x_ptr": x, "y_ptr": y}, {}, ("y_ptr",)))
    return y


ONE_ARGUMENT = "tanh rsqrt exp exp2 log log2 log1p expm1 erf erfc sqrt sin cos round trunc"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_argument(dtype: torch.dtype, tmp_path: Path) -> None:
    x = torch.linspace(0.05, 4, 16, dtype=dtype)
    for name in ONE_ARGUMENT.split():
        expected = getattr(torch, name)(x.double()).to(dtype)
        assert torch.allclose(computed(tmp_path, f"{name}(x)", x), expected, rtol=4 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("pow(x, 2.5)", lambda x: x**2.5),
        ("pow(x, 3)", lambda x: x**3),
        ("fma(x, x, -x)", lambda x: x * x - x),
        ("atan2(x, 2.0 * x)", lambda x: np.arctan2(x, 2 * x)),
        ("fmod(x, 0.75)", lambda x: np.fmod(x, 0.75)),
        ("div_rn(1.0, x)", lambda x: 1 / x),
        ("llrint(x * 2).to(tl.float32)", lambda x: np.rint(x * 2)),
        ("llround(x * 2).to(tl.float32)", lambda x: np.floor(x * 2 + 0.5)),
        ("fast_expf(x)", np.exp),
        ("fast_dividef(x, 3.0)", lambda x: x / 3),
        ("isnan(x).to(tl.float32)", lambda x: 0 * x),
    ],
)
def test_several_arguments_and_fast_ones(call, wanted, tmp_path):
    x = torch.linspace(0.05, 4, 16)
    assert np.allclose(computed(tmp_path, call, x).numpy(), wanted(x.double().numpy()), rtol=1e-6, atol=1e-7)


def test_what_is_simulated_is_what_the_rules_allow_and_what_libdevice_has():
    assert SIMULATED == LIBDEVICE
    assert [name for name in SIMULATED if not hasattr(libdevice, name)] == []


def test_any_other_function_is_refused_by_its_name(tmp_path):
    with pytest.raises(SimulationError, match="no libdevice function `j0f`"):
        computed(tmp_path, "j0(x)", torch.ones(16))
