"""Facts read from Triton's own texts, as its versions write them, and from real compilations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from checker.compiler import CompileRequest, CompileResult, compile_kernel
from checker.compiler.facts import facts_of
from checker.compiler.occupancy import occupancy
from tests.simulator.launching import HEAD, loaded

PRODUCT = f"""{HEAD}

@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + offs[:, None] * BLOCK + offs[None, :])
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in range(0, K, BLOCK):
        b = tl.load(b_ptr + (k + offs)[:, None] * BLOCK + offs[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + offs[:, None] * BLOCK + offs[None, :], acc)
"""


def product(directory: Path, capability: int, dtype: str, block: int = 64, precision: str = "tf32") -> CompileResult:
    types = {"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}", "c_ptr": "*fp32", "K": "i32"}
    types |= {"BLOCK": "constexpr", "PRECISION": "constexpr"}
    values = {"BLOCK": block, "PRECISION": precision}
    request = CompileRequest(capability, types, values, aligned=("a_ptr", "b_ptr", "c_ptr", "K"))
    result = compile_kernel(loaded(directory, PRODUCT), request)
    assert result.ok, result.raw
    return result


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_a_t4_multiplies_without_tensor_cores_and_without_swizzle(dtype: str, tmp_path: Path) -> None:
    result = product(tmp_path, 75, dtype, 32)
    assert result.tensor_cores == ()
    assert result.facts["mma"] == 0
    assert [(d.m, d.n, d.k, d.tensor_core) for d in result.dots] == [(32, 32, 32, False)]
    assert result.tiles
    assert {(t.kind, t.max_phase) for t in result.tiles} == {("swizzled_shared", 1)}


@pytest.mark.parametrize(
    ("dtype", "shape", "operands", "vec"), [("fp16", "m16n8k16", "f16", 8), ("fp32", "m16n8k8", "tf32", 4)]
)
def test_an_a100_multiplies_with_mma_from_swizzled_tiles(
    dtype: str, shape: str, operands: str, vec: int, tmp_path: Path
) -> None:
    result = product(tmp_path, 80, dtype)
    assert [(c.name, c.shape, c.operands) for c in result.tensor_cores] == [("mma.sync", shape, operands)]
    assert result.facts["mma_shapes"] == shape
    assert sum(c.count for c in result.tensor_cores) == result.facts["mma"] > 0
    assert [d.tensor_core for d in result.dots] == [True]
    assert result.tiles
    assert all(t.kind == "swizzled_shared" and t.vec * t.max_phase * t.bits // 8 == 128 for t in result.tiles)
    assert any(t.vec == vec for t in result.tiles)
    staged = [t for t in result.tiles if t.stages > 1]
    assert staged, "the loop is pipelined"
    ahead = sum(t.count * (t.stages - 1) * math.prod(t.shape) * t.bits // 8 for t in staged)
    assert result.facts["bytes_in_flight"] == ahead, "one loop: all its tiles at once"
    assert int(result.facts["async_copies"]) > 0
    assert result.facts["load_bits"] == 128
    assert int(result.facts["shared_bytes"]) > 0


def test_an_h100_multiplies_with_wgmma(tmp_path: Path) -> None:
    result = product(tmp_path, 90, "fp16")
    assert {(c.name, c.shape) for c in result.tensor_cores} == {("wgmma.mma_async", "m64n64k16")}
    assert result.facts["mma_shapes"] == "m64n64k16"
    assert result.tiles
    assert {(t.kind, t.swizzle_bytes) for t in result.tiles} == {("nvmma_shared", 128)}
    assert result.facts["tma_copies"] == 0


TTGIR = """#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
    %e = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32} : tensor<64x32xbf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>> * !ttg.memdesc<32x16xbf16, #shared1, #smem> -> tensor<64x16xf32, #mma>
"""


def test_an_unreadable_fact_is_missing_rather_than_zero() -> None:
    class Metadata:
        shared, num_warps, name = 0, 4, "k"

    strange = "\twgmma2.fresh.m64n64k16;\n\tld.anywhere [%r1];\n"
    facts = facts_of({"ptx": strange, "ttgir": TTGIR}, Metadata)
    missing = {"mma", "mma_shapes", "load_bits", "vector_bits", "store_bits", "registers", "spilled_bytes"}
    assert not missing & facts.keys()
    assert facts_of({"ptx": strange, "ttgir": ""}, Metadata)["mma"] == 0
    copying = "ttg.async_copy_global_to_local"
    assert "async_copies" not in facts_of({"ptx": strange, "ttgir": copying}, Metadata)


# (capability, registers, shared bytes, warps) → (programs, what runs out), as NVIDIA's occupancy calculator has them
OCCUPANCY = {
    (80, 32, 0, 4): (16, ("registers", "warps")),
    (80, 128, 0, 4): (4, ("registers",)),
    (80, 255, 0, 8): (1, ("registers",)),
    (80, 33, 0, 4): (12, ("registers",)),
    (80, 32, 49152, 4): (3, ("shared memory",)),
    (75, 64, 32768, 4): (2, ("shared memory",)),
    (75, 16, 0, 1): (16, ("program slots",)),
    (89, 40, 1024, 4): (12, ("registers", "warps")),
    (90, 168, 229376, 4): (1, ("shared memory",)),
    (90, 24, 0, 1): (32, ("program slots",)),
}


def test_occupancy_is_that_of_nvidias_calculator() -> None:
    for kernel, (programs, limits) in OCCUPANCY.items():
        held = occupancy(*kernel)
        assert held is not None
        assert (held.programs, held.limits, held.warps) == (programs, limits, programs * kernel[3]), kernel
    assert occupancy(70, 32, 0, 4) is None, "an unknown GPU"
