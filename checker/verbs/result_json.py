"""The `result/v1` document of a batch: put together from verdicts, written in one step."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from checker.judge import verdict_to_json
from checker.judge.verdict import Verdict

SCHEMA = "result/v1"


def environment(device: str, sandbox: str) -> dict[str, str]:
    """What the verdicts depend on besides the kernels. `sandbox` names the isolation they ran under."""
    return {**versions(), "device": _device_name(device), "sandbox": sandbox}


def document(graded: Iterable[tuple[str, Iterable[Verdict]]], facts: Mapping[str, str]) -> dict[str, Any]:
    """The result of a batch, by submission."""
    submissions = [{"submission": name, "puzzles": [verdict_to_json(v) for v in verdicts]} for name, verdicts in graded]
    return {"schema": SCHEMA, "environment": dict(facts), "submissions": submissions}


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in ("torch", "triton", "numpy")}}


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _device_name(device: str) -> str:
    if device != "cuda":
        return "cpu"
    from checker import gpu

    return f"cuda ({gpu.device_name()})"
