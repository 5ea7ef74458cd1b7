"""Real compilations for absent GPUs: they match a launch's requests, and their facts match the assembler's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import torch

from checker.compiler import CompileRequest, compile_kernel, requests_for
from checker.puzzle import Launch
from tests.simulator.launching import HEAD, loaded


def test_request_says_what_the_jit_would_say() -> None:
    x = torch.zeros(64, dtype=torch.bfloat16)
    numbers = {"n": 32, "one": 1, "odd": 7, "wide": 2**40, "scale": 0.5, "flag": True}
    launch = Launch((1,), {"a_ptr": x, "b_ptr": x[3:], **numbers}, {"BLOCK": 16}, ("a_ptr",), {"num_warps": 8})
    first, second = requests_for(launch, (*launch.arguments, "BLOCK"), (75, 90))
    assert dict(first.signature) == {
        "a_ptr": "*bf16",
        "b_ptr": "*bf16",
        "n": "i32",
        "one": "constexpr",
        "odd": "i32",
        "wide": "i64",
        "scale": "fp32",
        "flag": "u1",
        "BLOCK": "constexpr",
    }
    assert dict(first.constexprs) == {"one": 1, "BLOCK": 16}
    assert first.aligned == ("a_ptr", "n", "wide")
    assert dict(first.options) == {"num_warps": 8}
    assert (first.capability, second.capability) == (75, 90)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e5m2])
def test_tensor_without_a_pointer_type_is_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match="no pointer type"):
        requests_for(Launch((1,), {"x_ptr": torch.zeros(2).to(dtype)}, {}, ()), ("x_ptr",), (80,))


COPY = (
    HEAD
    + """

@triton.jit
def kernel(x_ptr, y_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o))
"""
)
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "B": "constexpr"}


def test_aligned_pointers_give_wide_loads(tmp_path: Path) -> None:
    wide, narrow = (
        compile_kernel(loaded(tmp_path, COPY), CompileRequest(80, SIGNATURE, {"B": 1024}, aligned=aligned))
        for aligned in (("x_ptr", "y_ptr"), ())
    )
    assert (wide.facts["vector_bits"], narrow.facts["vector_bits"]) == (128, 32)


def test_registers_and_spills_are_what_ptxas_says(tmp_path: Path) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    text = COPY.replace("tl.load(x_ptr + o)", "tl.load(x_ptr + o) - tl.max(tl.load(x_ptr + o), axis=0)")
    kernel, values = loaded(tmp_path, text), {"B": 16384}
    result = compile_kernel(kernel, CompileRequest(80, SIGNATURE, values, {"num_warps": 1}))
    source, options = ASTSource(kernel, SIGNATURE, values), {"num_warps": 1, "enable_fp_fusion": True}
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
    (tmp_path / "k.ptx").write_text(compiled.asm["ptx"])
    ptxas = triton.knobs.nvidia.ptxas.path
    command = [ptxas, "-v", "--gpu-name=sm_80", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.o")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    registers, stack = re.search(r"Used (\d+) registers", said), re.search(r"(\d+) bytes stack frame", said)
    assert registers is not None
    assert stack is not None
    assert result.facts["registers"] == int(registers[1])
    assert result.facts["spilled_bytes"] == int(stack[1])
