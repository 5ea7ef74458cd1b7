"""Compiles a kernel for named GPUs without having one, and explains in our words why it cannot be compiled."""

from checker.compiler.compile import compile_kernel
from checker.compiler.facts import Dot, SharedTile, TensorCore
from checker.compiler.request import (
    AMD,
    EXAMINED,
    SHARED_MEMORY,
    TARGETS,
    CompileRequest,
    CompileResult,
    Until,
    gpu_name,
    is_amd,
    not_compiled,
    requests_for,
)

__all__ = [
    "AMD",
    "EXAMINED",
    "SHARED_MEMORY",
    "TARGETS",
    "CompileRequest",
    "CompileResult",
    "Dot",
    "SharedTile",
    "TensorCore",
    "Until",
    "compile_kernel",
    "gpu_name",
    "is_amd",
    "not_compiled",
    "requests_for",
]
