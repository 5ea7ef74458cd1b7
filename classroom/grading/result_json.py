"""The `result/v1` document of a batch: put together from verdicts, written in one step."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from checker.judge import verdict_to_json
from checker.judge.verdict import Verdict
from checker.workspace import write_atomically

SCHEMA = "result/v1"


def environment(device: str, sandbox: str) -> dict[str, str]:
    """What the verdicts depend on besides the kernels. `sandbox` names the isolation they ran under."""
    return {**versions(), "device": _device_name(device), "sandbox": sandbox}


def document(graded: Iterable[tuple[str, Iterable[Verdict]]], facts: Mapping[str, str]) -> dict[str, Any]:
    """The result of a batch, by submission."""
    submissions = [{"submission": name, "puzzles": [verdict_to_json(v) for v in verdicts]} for name, verdicts in graded]
    return {"schema": SCHEMA, "environment": dict(facts), "submissions": submissions}


def write(target: str, content: Mapping[str, Any]) -> None:
    """Write JSON to the file `target`, or to standard output where it is ``-``. Raises OSError."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_atomically(Path(target), text)


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
