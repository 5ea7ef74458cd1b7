"""What to compile, for which GPUs, and what the compiler answered; `requests_for` makes the requests of a launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

from checker.compiler.facts import Dot, SharedTile, TensorCore
from checker.puzzle import Launch, Scalar

TARGETS: dict[str, int] = {"T4": 75, "A100": 80, "L4": 89, "H100": 90}
"""The GPUs to compile for, with their compute capability."""
EXAMINED: dict[str, int] = {**TARGETS, "B200": 100}
"""The GPUs that `xray` examines a kernel for; a verdict need not wait for the last one."""
AMD: dict[str, int] = {"MI300X": 942, "RX 7900": 1100}
"""AMD's GPUs to compile for on request, by the number in the name of their architecture: 942 is gfx942."""

SHARED_MEMORY: dict[int, int] = dict.fromkeys(AMD.values(), 65536) | {
    75: 65536,
    80: 166912,
    86: 101376,
    89: 101376,
    90: 232448,
    100: 232448,
    120: 101376,
}
"""Bytes of shared memory one program may use, by compute capability (CUDA C++ Programming Guide, technical specifications).

AMD calls it LDS (local data share); its limit is in the instruction set guides of CDNA 3 and RDNA 3.
"""


def is_amd(capability: int) -> bool:
    return capability in AMD.values()


def gpu_name(capability: int) -> str:
    """The GPU that represents a capability, e.g. "T4 (sm_75)" or "MI300X (gfx942)"."""
    names = {value: name for name, value in (EXAMINED | AMD).items()}
    architecture = f"{'gfx' if is_amd(capability) else 'sm_'}{capability}"
    return f"{names[capability]} ({architecture})" if capability in names else architecture


Until = Literal["front_end", "shared_memory", "machine_code"]


@dataclass(frozen=True)
class CompileRequest:
    """One specialisation: Triton types by parameter (``{"x_ptr": "*fp32", "N": "i32"}``), constexprs, options, capability.

    `capability` is NVIDIA's compute capability without the dot, or a number of `AMD`.

    `signature` names every parameter in the kernel's order, a constexpr's type is ``"constexpr"``. `aligned` are the
    parameters (pointers and integers) that are multiples of 16: what a launch would tell the compiler, and what makes
    vectorised loads possible.

    `until` says how far to go. The front end finds nearly every mistake of a learner at a tenth of the cost of machine code. Beyond
    it, the compiler knows how much shared memory the tiles need, for another tenth. Only machine code gives facts.
    """

    capability: int
    signature: Mapping[str, str]
    constexprs: Mapping[str, Scalar]
    options: Mapping[str, int] = field(default_factory=dict)
    aligned: tuple[str, ...] = ()
    until: Until = "machine_code"


@dataclass(frozen=True)
class CompileResult:
    """What the compiler said. `message` is ours, `raw` is Triton's own text, `line` a line of the kernel's source.

    `kind` names what was broken, as in `messages.toml`; empty when `ok`. `only_here` says that the failure is
    specific to this GPU (it lacks an instruction or memory), so that another GPU may run the kernel.
    `facts`: ``gpu``, ``shared_bytes``, ``registers``, ``spilled_bytes`` (per thread), ``num_warps``, ``mma`` (tensor-core
    instructions: count), ``mma_shapes``, ``vector_bits`` (widest access to global memory), ``load_bits``,
    ``narrowest_load_bits``, ``store_bits``, ``ptx_lines``, ``async_copies``, ``tma_copies``, ``bytes_in_flight``. Unknown
    facts are missing; for AMD's GPUs only the first five are known. `tiles`, `dots` and `tensor_cores` are None if Triton's text could not be read.
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


def not_compiled(request: CompileRequest, status: str, message: str, raw: str = "") -> CompileResult:
    """The result of a request that no compiler answered."""
    return CompileResult(request, ok=False, kind="other", message=message, raw=raw, status=status)


POINTERS: dict[torch.dtype, str] = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float64: "*fp64",
    torch.int8: "*i8",
    torch.int16: "*i16",
    torch.int32: "*i32",
    torch.int64: "*i64",
    torch.uint8: "*u8",
    torch.bool: "*i1",
}


def requests_for(launch: Launch, parameters: Sequence[str], capabilities: Iterable[int]) -> tuple[CompileRequest, ...]:
    """One request per capability. An integer equal to 1 becomes a constexpr, as in a real launch.

    Raises KeyError if the launch does not bind a parameter, TypeError for an argument Triton has no type for.
    """
    signature: dict[str, str] = {}
    constexprs: dict[str, Scalar] = {}
    aligned: list[str] = []
    for name in parameters:
        if name in launch.meta:
            signature[name], constexprs[name] = "constexpr", launch.meta[name]
            continue
        if name not in launch.arguments:
            raise KeyError(f"the puzzle's launch() passes no {name}, which its parameters have")
        value = launch.arguments[name]
        if isinstance(value, int) and not isinstance(value, bool) and value == 1:
            signature[name], constexprs[name] = "constexpr", 1
            continue
        signature[name] = type_of(value)
        if _aligned(value):
            aligned.append(name)
    return tuple(
        CompileRequest(capability, signature, constexprs, dict(launch.options), tuple(aligned))
        for capability in capabilities
    )


def type_of(value: torch.Tensor | Scalar) -> str:
    """Triton's name for the type of an argument. Raises TypeError."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in POINTERS:
            raise TypeError(f"no pointer type for tensors of {value.dtype}")
        return POINTERS[value.dtype]
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "u64" if 2**63 <= value < 2**64 else "i64"
    if isinstance(value, float):
        return "fp32"
    raise TypeError(f"a kernel cannot take a {type(value).__name__}")


def _aligned(value: torch.Tensor | Scalar) -> bool:
    if isinstance(value, torch.Tensor):  # on a GPU a storage begins at a multiple of 256 bytes
        return value.storage_offset() * value.element_size() % 16 == 0
    return isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0
