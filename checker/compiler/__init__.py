"""Compiles a kernel for named GPUs without having one, and explains in our words why it cannot be compiled."""

from checker.compiler.compile import compile_kernel
from checker.compiler.facts import Dot, SharedTile, TensorCore
from checker.compiler.request import (
    EXAMINED,
    SHARED_MEMORY,
    TARGETS,
    CompileRequest,
    CompileResult,
    gpu_name,
    not_compiled,
    requests_for,
)

__all__ = [
    "EXAMINED",
    "SHARED_MEMORY",
    "TARGETS",
    "CompileRequest",
    "CompileResult",
    "Dot",
    "SharedTile",
    "TensorCore",
    "compile_kernel",
    "gpu_name",
    "not_compiled",
    "requests_for",
]
