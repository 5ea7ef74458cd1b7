"""The doctor's vocabulary: what was seen of a machine, and what there is to say about it. No behaviour but for two spellings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "problem"]
"""A note is worth knowing and nothing to mend; a warning may be mended; with a problem, nothing can be checked."""

ENOUGH_DISK = 2 * 2**30  # bytes; Triton's cache of a whole course stays far below


@dataclass(frozen=True)
class Gpu:
    """One GPU as torch or the driver names it; `memory` in bytes (0 where unknown)."""

    name: str
    capability: tuple[int, int]
    memory: int = 0


@dataclass(frozen=True)
class Facts:
    """What the collector saw. A version is None where the package is missing; an `..._error` is why it does not import."""

    python: tuple[int, int, int]
    system: str  # "Linux", "Darwin", "Windows", as `platform.system()` says
    interpreter: str = "python"  # what stands before `-m pip` in the commands
    torch: str | None = None
    torch_error: str = ""
    torch_cuda: str | None = None  # the CUDA that torch was built with, None for a CPU-only build
    torch_hip: str | None = None
    triton: str | None = None
    triton_error: str = ""
    numpy: str | None = None
    ml_dtypes: str | None = None
    nbformat: str | None = None
    rich: str | None = None
    driver: str | None = None  # version of the NVIDIA driver, None where there is none
    gpus: tuple[Gpu, ...] = ()  # those torch can use
    seen: tuple[Gpu, ...] = ()  # those the driver lists
    cuda_error: str = ""
    c_compiler: str | None = None
    python_headers: bool = True
    jupyter: str | None = None
    colab: bool = False
    sandbox: str | None = None
    sandbox_gaps: tuple[str, ...] = ()  # names of what a job can do all the same (`checker.sandbox.probe.GAPS`)
    sandbox_error: str = ""
    folder: str = "."
    writable: bool = True
    free: int = ENOUGH_DISK
    cache: str = "~/.triton"
    cache_usable: bool = True


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was looked at, how it stands, and the exact command that mends it (may be empty)."""

    what: str
    level: Level
    message: str
    command: str = ""


def version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``"2.13.0+cpu"`` is ``(2, 13, 0)``."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def pip(facts: Facts, what: str) -> str:
    """The command that installs `what` into the interpreter at hand."""
    prefix = "!" if facts.colab else ""
    return f"{prefix}{facts.interpreter} -m pip install {what}"
