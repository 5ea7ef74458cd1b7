"""Compiles a kernel for named GPUs with none present, and says in our words what is wrong where it cannot be."""

from checker.compiler.compile import compile_kernel
from checker.compiler.request import SHARED_MEMORY, TARGETS, CompileRequest, CompileResult, TensorCore, gpu_name
from checker.compiler.specialise import requests_for
from checker.compiler.tiles import Dot, SharedTile

__all__ = [
    "SHARED_MEMORY",
    "TARGETS",
    "CompileRequest",
    "CompileResult",
    "Dot",
    "SharedTile",
    "TensorCore",
    "compile_kernel",
    "gpu_name",
    "requests_for",
]
