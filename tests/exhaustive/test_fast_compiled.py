"""Compile every configuration of the fast solutions for Hopper, without a GPU.

Missing warp groups, spilled registers and products that wait for each other all give right values, slowly.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from checker.compiler import SHARED_MEMORY
from checker.compiler.compile import _run as compiled
from solutions.fast import (
    attention,
    attention_backward,
    attention_backward_gluon,
    attention_fp8,
    attention_gluon,
    attention_split,
    delta_rule,
    linear_attention,
    softmax,
)
from tests.fast.exact import BOTH, WIDTHS, every
from tests.fast.launches import HOPPER, requests

N = 4096
FEW = 64  # bytes, of some 600 in registers


@dataclass(frozen=True)
class Built:
    """The compiler's and the assembler's output for one kernel."""

    ptx: str
    ttgir: str
    shared: int
    assembler: str

    @property
    def spilled(self) -> int:
        """Bytes per thread that spill from registers to memory."""
        (spilled,) = re.findall(r"(\d+) bytes spill stores", self.assembler)
        return int(spilled)

    @property
    def waits(self) -> bool:
        """The assembler could not let products run beside other instructions (C7510 to C7519)."""
        return "wgmma" in self.assembler

    @property
    def early_copies(self) -> list[int]:
        """Lines of copies from shared memory that one thread starts before all have fenced their stores: stores, fence, barrier, copy."""
        early, ordered = [], True
        for number, line in enumerate(self.ptx.splitlines(), 1):
            if re.search(r"\b(st\.shared|stmatrix)", line):
                ordered, fenced = False, False
            elif "fence.proxy.async" in line:
                fenced = True
            elif "bar.sync" in line:
                ordered = ordered or fenced
            elif re.search(r"cp\.async\.bulk\S*\.global\.shared", line) and not ordered:
                early.append(number)
        return early

    @property
    def early_arrivals(self) -> list[int]:
        """Lines where one thread of a group frees a buffer, or says that it is full, while others may not be done with it."""
        early, together = [], True
        for number, line in enumerate(self.ptx.splitlines(), 1):
            if re.search(r"\b(st\.shared|stmatrix|ld\.shared|ldmatrix|wgmma\.wait_group)", line):
                together = False
            elif "bar.sync" in line:
                together = True
            elif "mbarrier.arrive.shared" in line and not together:
                early.append(number)
        return early

    @property
    def unused_barriers(self) -> list[str]:
        """Barriers that no warp group uses: Triton gives their memory to a tile, whose numbers may then be overwritten."""
        before, after = self.ttgir.split("ttg.warp_specialize(", 1)
        unused = []
        for barrier in re.findall(r"(%\w+) = ttg\.local_alloc : \(\) -> !ttg\.memdesc<[\dx]+xi64", before):
            slots = re.findall(rf"(%\w+) = ttg\.memdesc_index {barrier}\[", before)
            if not any(re.search(rf"{name}\b", after) for name in (barrier, *slots)):
                unused.append(barrier)
        return unused

    @property
    def specialised(self) -> bool:
        return "ttg.warp_specialize" in self.ttgir


def built(made: Any, folder: Path) -> Built:
    path = folder / "kernel.ptx"
    path.write_text(made.asm["ptx"])
    ptxas = [triton.knobs.nvidia.ptxas.path, "-v", "--gpu-name=sm_90a", str(path), "-o", str(folder / "kernel.cubin")]
    messages = subprocess.run(ptxas, capture_output=True, text=True, check=True).stderr
    one = Built(made.asm["ptx"], str(made.asm["ttgir"]), made.metadata.shared, messages)
    assert one.shared <= SHARED_MEMORY[HOPPER]
    return one


def built_by(work: Callable[[], object], folder: Path) -> dict[str, Built]:
    """The kernels that `work` would launch, by name."""
    return {name: built(compiled(*request), folder) for name, request in requests(work).items()}


def assert_lean(*kernels: Built, spilled: int = FEW) -> None:
    """At most `spilled` bytes spill, products run while other instructions do, and no thread runs ahead of its group."""
    for one in kernels:
        assert one.early_copies == one.early_arrivals == []
        assert one.spilled <= spilled
        assert not one.waits


def empty(*shape: int, count: int = 3) -> list[torch.Tensor]:
    return [torch.empty(*shape, dtype=torch.bfloat16) for _ in range(count)]


def kernels_of_attention() -> Iterator[tuple[Callable[[], object], dict[str, Any]]]:
    """Launches, and what to expect of their kernels."""
    for d, causal in itertools.product(WIDTHS, BOTH):
        (q, k, v, o, do), lse = empty(1, 16, N, d, count=5), torch.empty(1, 16, N)
        for config in attention.configs(d, causal):
            expected = {"instructions": ("wgmma.mma_async", "cp.async.bulk.tensor"), "specialised": config.specialised}
            yield partial(attention.attention, q, k, v, causal, config=config), expected
        for fp8 in attention_fp8.CONFIGS:
            instruction = f"wgmma.mma_async.sync.aligned.m64n{d}k32.f32.e4m3.e4m3"
            yield partial(attention_fp8.attention_fp8, q, k, v, causal, fp8), {"instructions": (instruction,)}
        for backward in attention_backward.CONFIGS:
            launch = partial(attention_backward.attention_backward, q, k, v, o, lse, do, causal, config=backward)
            yield launch, {"specialised": backward.dq.specialised}
    for d, (queries, product) in itertools.product(WIDTHS, ((1, "mma.sync"), (64, "wgmma.mma_async"))):
        (query,), (k, v) = empty(1, 32, queries, d, count=1), empty(1, 8, 65536, d, count=2)
        yield partial(attention_split.attention_split, query, k, v), {"instructions": (product,), "spilled": 0}


@every(d=WIDTHS, in_pages=BOTH)
def test_decoding_loads_keys_while_it_multiplies_others(d: int, in_pages: bool, tmp_path: Path) -> None:
    """A load that waits for the number of a page is on its way late or not at all, and right."""
    (q,), (k, v) = empty(4, 16, 1, d, count=1), empty(4, 2, 16384, d, count=2)
    run = partial(attention_split.attention_split, q, k, v)
    if in_pages:
        k, v = empty(4096, 2, 16, d, count=2)
        table, lengths = torch.empty(4, 1024, dtype=torch.int32), torch.empty(4, dtype=torch.int32)
        run = partial(attention_split.paged_decode, q[:, :, 0], k, v, table, lengths)
    one = built_by(run, tmp_path)["part_kernel"]
    assert one.spilled == 0
    waits = [int(left) for left in re.findall(r"async_wait .*num = (\d+)", one.ttgir)]
    assert max(waits) > 0
    config = attention_split.CONFIGS[0]
    assert config.programs * one.shared <= SHARED_MEMORY[HOPPER]


def test_attention_uses_hoppers_instructions_and_few_spills(tmp_path: Path) -> None:
    for launch, expected in kernels_of_attention():
        kernels = built_by(launch, tmp_path)
        assert_lean(*kernels.values(), spilled=expected.get("spilled", FEW))
        for instruction in expected.get("instructions", ()):
            assert any(instruction in kernel.ptx for kernel in kernels.values()), (launch, instruction)
        if "specialised" in expected:
            main = kernels.get("dq_kernel") or next(iter(kernels.values()))
            assert main.specialised == expected["specialised"], launch


def test_linear_attention(tmp_path: Path) -> None:
    """With D = 128, the state and the normaliser do not fit into registers; this test bounds the spill."""
    for d in WIDTHS:
        q, k, v = empty(1, 4, N, d)
        for config in linear_attention.CONFIGS[d]:
            kernels = built_by(partial(linear_attention.linear_attention, q, k, v, config, 8), tmp_path)
            assert set(kernels) == {"segment_sums_kernel", "prefix_kernel", "pass_kernel"}
            for name, one in kernels.items():
                assert one.spilled <= (512 if d == 128 else FEW), name
                assert d == 128 or not one.waits, name


def test_the_delta_rule_and_decays(tmp_path: Path) -> None:
    for (delta, d), configs in delta_rule.CONFIGS.items():
        (q, k, v), g = empty(1, 4, N, d), torch.empty(1, 4, N)
        for config in configs:
            work = (
                partial(delta_rule.delta_rule, q, k, v, g, g, config=config)
                if delta
                else partial(delta_rule.decay_linear_attention, q, k, v, g, config=config)
            )
            kernels = built_by(work, tmp_path)
            assert set(kernels) == {"walk_kernel"} | ({"values_kernel"} if delta else set())
            assert_lean(*kernels.values())
            assert all("wgmma.mma_async" in one.ptx for one in kernels.values())


def test_softmax(tmp_path: Path) -> None:
    for columns, dtype in itertools.product((1000, 4096, 16384, 65536, 262144, 2**23), (torch.float32, torch.bfloat16)):
        x = torch.empty(1, dtype=dtype).expand(3, columns)
        (one,) = built_by(partial(softmax.launch, x, x, softmax.choose(columns, dtype)), tmp_path).values()
        assert one.spilled <= FEW, (columns, dtype)


def blocks(rows: int, d: int, dtype: str) -> str:
    """The type of a descriptor of [B * H, N, D] in Gluon."""
    layout = gl.NVMMASharedLayout.get_default_for([1, rows, d], {"bf16": gl.bfloat16, "fp16": gl.float16}[dtype])
    return f"tensordesc<{dtype}[1, {rows}, {d}],{layout!r}>"


def built_in_gluon(
    kernel: Any, types: dict[str, str], constants: dict[str, Any], aligned: list[str], most: int, folder: Path
) -> Built:
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    multiples = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in aligned}
    made = triton.compile(
        GluonASTSource(kernel, signature, constants, multiples),
        target=GPUTarget("cuda", HOPPER, 32),
        options={"num_warps": 4, "maxnreg": most},
    )
    return built(made, folder)


@every(dtype=["bf16", "fp16"], causal=BOTH, d=WIDTHS)
def test_gluon(d: int, causal: bool, dtype: str, tmp_path: Path) -> None:
    config, kernel = attention_gluon.CONFIGS[d], attention_gluon.attention_gluon_kernel
    tiles = {"q_desc": 64, "k_desc": config.block_n, "v_desc": config.block_n, "o_desc": 64}
    types = {name: blocks(rows, d, dtype) for name, rows in tiles.items()}
    types |= {"lse_ptr": "*fp32", "N": "i32", "qk_scale": "fp32"}
    constants = {"IS_CAUSAL": causal, "GROUPS": config.groups, "STAGES": config.stages, "REGISTERS": config.registers}
    one = built_in_gluon(kernel, types, constants, ["lse_ptr"], config.most, tmp_path)
    assert one.specialised
    assert one.unused_barriers == []
    assert_lean(one)


@every(dtype=["bf16", "fp16"], causal=BOTH, d=WIDTHS)
def test_gluon_backward(d: int, causal: bool, dtype: str, tmp_path: Path) -> None:
    """With the lag, some numbers spill between two tiles; it is still the fastest."""
    config = attention_backward_gluon.CONFIGS[d, causal]
    kernel = attention_backward_gluon.attention_backward_gluon_kernel
    names = ("q_desc", "k_desc", "v_desc", "do_desc", "dk_desc", "dv_desc")
    line = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    types = dict.fromkeys(names, blocks(64, d, dtype)) | {"rows_desc": f"tensordesc<fp32[64],{line!r}>"}
    types |= {"dq_ptr": "*fp32", "N": "i32", "ROWS": "i32", "scale": "fp32"}
    constants = {"IS_CAUSAL": causal, "LAG": config.lag, "STAGES": config.stages, "REGISTERS": config.registers}
    one = built_in_gluon(kernel, types, constants, ["dq_ptr", "ROWS"], config.most, tmp_path)
    assert one.specialised
    assert one.unused_barriers == []
    assert "red.global" in one.ptx or "atom.global" in one.ptx
    assert ".v4.f32" in one.ptx
    assert_lean(one, spilled=256 if config.lag else FEW)
