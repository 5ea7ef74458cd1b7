"""Compiles a kernel for named GPUs with none present, and says in our words what is wrong where it cannot be."""

from checker.compiler.compile import compile_all, compile_kernel, warm_up
from checker.compiler.request import SHARED_MEMORY, TARGETS, CompileRequest, CompileResult, gpu_name
from checker.compiler.specialise import requests_for

__all__ = [
    "SHARED_MEMORY",
    "TARGETS",
    "CompileRequest",
    "CompileResult",
    "compile_all",
    "compile_kernel",
    "gpu_name",
    "requests_for",
    "warm_up",
]
