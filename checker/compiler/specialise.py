"""From a bound launch to what Triton would compile for it: the types and hints that the JIT derives from arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from checker.compiler.request import CompileRequest
from checker.puzzle import Launch, Scalar

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
