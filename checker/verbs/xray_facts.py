"""The compiler's facts, as the X-ray's table and sentences ask for them."""

from __future__ import annotations

from collections.abc import Mapping

from checker.compiler import CompileResult
from checker.compiler.occupancy import Occupancy, occupancy

UNKNOWN = "not known"

Results = Mapping[str, CompileResult]
"""By the GPU's name, only those that compiled."""


def number(result: CompileResult, fact: str) -> int | None:
    value = result.facts.get(fact)
    return value if isinstance(value, int) else None


def held(result: CompileResult) -> Occupancy | None:
    numbers = [number(result, fact) for fact in ("registers", "shared_bytes", "num_warps")]
    registers, shared, warps = numbers
    if registers is None or shared is None or warps is None:
        return None
    return occupancy(result.request.capability, registers, shared, warps)


def kib(amount: int) -> str:
    """Bytes of on-chip memory, which are counted in 1024s."""
    return f"{amount} B" if amount < 1024 else f"{amount / 1024:.3g} KiB"
