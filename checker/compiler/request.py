"""What is compiled, for which GPUs, and what the compiler said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.compiler.tiles import Dot, SharedTile
from checker.puzzle import Scalar

TARGETS: dict[str, int] = {"T4": 75, "A100": 80, "L4": 89, "H100": 90}
"""The GPUs a kernel is compiled for, with their compute capability."""

SHARED_MEMORY: dict[int, int] = {75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448, 100: 232448, 120: 101376}
"""Bytes of shared memory one program may use, by compute capability (CUDA C++ Programming Guide, technical specifications)."""


def gpu_name(capability: int) -> str:
    """The name of the GPU that stands for a capability, e.g. "T4 (sm_75)"."""
    names = {value: name for name, value in TARGETS.items()}
    return f"{names[capability]} (sm_{capability})" if capability in names else f"sm_{capability}"


@dataclass(frozen=True)
class CompileRequest:
    """One specialisation: Triton types by parameter (``{"x_ptr": "*fp32", "N": "i32"}``), constexprs, options, capability.

    `signature` names every parameter in the kernel's order, a constexpr's type is ``"constexpr"``. `aligned` are the
    parameters (pointers and integers) that are multiples of 16: what a launch would tell the compiler, and what makes
    vectorised loads possible.
    """

    capability: int
    signature: Mapping[str, str]
    constexprs: Mapping[str, Scalar]
    options: Mapping[str, int] = field(default_factory=dict)
    aligned: tuple[str, ...] = ()


@dataclass(frozen=True)
class TensorCore:
    """A tensor-core instruction and how often it stands in the program, e.g. ``mma.sync``, ``m16n8k16``, ``f16``, 32."""

    name: str
    shape: str
    operands: str
    count: int


@dataclass(frozen=True)
class CompileResult:
    """What the compiler said. `message` is ours, `raw` is Triton's own text, `line` a line of the kernel's source.

    `kind` names what was broken, a key of `translate.KINDS`; empty when `ok`. `only_here` says that the failure is this
    GPU's own (an instruction or memory that it lacks), so that another GPU may well run the kernel.
    `facts`: ``gpu``, ``shared_bytes``, ``registers``, ``spilled_bytes`` (per thread), ``num_warps``, ``mma`` (tensor-core
    instructions: count), ``mma_shapes``, ``vector_bits`` (widest access to global memory), ``load_bits``,
    ``narrowest_load_bits``, ``store_bits``, ``ptx_lines``, ``async_copies``, ``tma_copies``. A fact that is not known is not
    there. `tiles`, `dots` and `tensor_cores` are None where Triton's text could not be read.
    """

    request: CompileRequest
    ok: bool
    kind: str = ""
    message: str = ""
    raw: str = ""
    line: int | None = None
    seconds: float = 0.0
    facts: Mapping[str, int | str] = field(default_factory=dict)
    only_here: bool = False
    status: str = "passed"  # passed, compile_error, timeout, resource_limit, infra_error
    tiles: tuple[SharedTile, ...] | None = None
    dots: tuple[Dot, ...] | None = None
    tensor_cores: tuple[TensorCore, ...] | None = None
