"""Compiles a kernel for named GPUs with none present."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.puzzle import Scalar

TARGETS: dict[str, int] = {"T4": 75, "A100": 80, "L4": 89, "H100": 90}
"""The GPUs a kernel is compiled for, with their compute capability."""


@dataclass(frozen=True)
class CompileRequest:
    """One specialisation: Triton types by parameter (``{"x_ptr": "*fp32", "N": "i32"}``), constexprs, options, capability."""

    capability: int
    signature: Mapping[str, str]
    constexprs: Mapping[str, Scalar]
    options: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CompileResult:
    """What the compiler said. `message` is ours, `raw` is Triton's own text, `line` a line of the kernel's source.

    `kind` names the rule that was broken (``constexpr``, ``power_of_two``, ``dot_too_small``, ``loop_type``, ``dtype``,
    ``undefined_name``, ``unsupported_syntax``, ``shape``, ``target``, ``other``); empty when `ok`.
    """

    request: CompileRequest
    ok: bool
    kind: str = ""
    message: str = ""
    raw: str = ""
    line: int | None = None
    seconds: float = 0.0
    facts: Mapping[str, int | str] = field(default_factory=dict)
    status: str = "passed"  # passed, compile_error, timeout, resource_limit, infra_error
