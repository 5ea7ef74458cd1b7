"""The facts of this machine. A separate process examines torch, Triton and CUDA.

A broken install can crash or hang on import, and asking torch about a GPU initialises CUDA: neither should happen in a notebook.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker import workspace

ENOUGH_DISK = 2 * 2**30  # bytes; Triton's cache of a whole course stays far below
PATIENCE = 120.0  # seconds; importing torch from a cold disk is slow
PACKAGES = ("torch", "triton", "numpy", "ml_dtypes", "nbformat", "rich")


@dataclass(frozen=True)
class Gpu:
    """One GPU as torch names it; `memory` in bytes (0 where unknown)."""

    name: str
    capability: tuple[int, int]
    memory: int = 0


@dataclass(frozen=True)
class Machine:
    """A missing package has the version None; an `..._error` is why importing it fails."""

    python: tuple[int, int, int]
    system: str  # "Linux", "Darwin", "Windows", as `platform.system()` says
    interpreter: str = "python"  # what precedes `-m pip` in the commands
    torch: str | None = None
    torch_error: str = ""
    torch_cuda: str | None = None  # None for a CPU-only build
    torch_hip: str | None = None
    triton: str | None = None
    triton_error: str = ""
    numpy: str | None = None
    ml_dtypes: str | None = None
    nbformat: str | None = None
    rich: str | None = None
    driver: str | None = None  # version of the NVIDIA driver
    driver_gpus: tuple[str, ...] = ()  # the GPUs that the driver lists
    gpus: tuple[Gpu, ...] = ()  # the GPUs that torch can use
    cuda_error: str = ""
    c_compiler: str | None = None
    python_headers: bool = True
    jupyter: str | None = None
    colab: bool = False
    sandbox: str | None = None
    sandbox_gaps: tuple[str, ...] = ()  # what a job can do nevertheless, by the names of `checker.sandbox.probe.GAPS`
    sandbox_lost: tuple[str, ...] = ()  # why layers are not in force
    sandbox_error: str = ""
    folder: str = "."
    writable: bool = True
    free: int = ENOUGH_DISK
    cache: str = "~/.triton"
    cache_usable: bool = True


def this_machine() -> Machine:
    """Takes a few seconds, mostly for importing torch in another process."""
    facts: dict[str, Any] = {package: _installed(package) for package in PACKAGES} | _imported()
    facts["gpus"] = tuple(Gpu(name, (cap[0], cap[1]), memory) for name, cap, memory in facts.get("gpus", ()))
    driver, driver_gpus = _driver()
    space = workspace.find()
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    version = sys.version_info
    return Machine(
        python=(version.major, version.minor, version.micro),
        system=platform.system(),
        interpreter="python" if _is_called_python() else shlex.quote(sys.executable),
        driver=driver,
        driver_gpus=driver_gpus,
        c_compiler=os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang"),
        python_headers=(Path(sysconfig.get_paths()["include"]) / "Python.h").is_file(),
        jupyter=_installed("jupyterlab"),
        colab=importlib.util.find_spec("google") is not None and _installed("google-colab") is not None,
        folder=str(space.root),
        writable=_writable(space.ours if space.ours.exists() else space.root),
        free=shutil.disk_usage(space.root).free,
        cache=str(cache),
        cache_usable=_can_run_from(cache),
        **facts,
        **_sandbox(facts),
    )


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


IMPORTS = """
import json, sys
seen = {}
try:
    import torch
    seen["torch_cuda"], seen["torch_hip"] = torch.version.cuda, getattr(torch.version, "hip", None)
    if torch.version.cuda:
        try:
            torch.cuda.init()
            seen["gpus"] = [
                [p.name, [p.major, p.minor], p.total_memory]
                for p in map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
            ]
        except Exception as error:
            seen["cuda_error"] = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
except BaseException as error:
    seen["torch_error"] = f"{type(error).__name__}: {error}"
try:
    import triton
    import triton.language
except BaseException as error:
    seen["triton_error"] = f"{type(error).__name__}: {error}"
sys.stdout.write("\\n" + json.dumps(seen))
"""


def _imported() -> dict[str, Any]:
    """Facts about torch and Triton. If importing them crashes or hangs, both get the error."""
    try:
        # run in an empty folder, so that no file in the working directory shadows torch
        with tempfile.TemporaryDirectory() as empty:
            command = [sys.executable, "-c", IMPORTS]
            run = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=PATIENCE)
        return dict(json.loads(run.stdout.rsplit("\n", 1)[-1]))
    except (OSError, subprocess.TimeoutExpired):
        why = f"importing it takes longer than {PATIENCE:.0f} s"
    except ValueError:
        why = f"importing it ends Python (exit status {run.returncode})"
    return {"torch_error": why, "triton_error": why}


def _driver() -> tuple[str | None, tuple[str, ...]]:
    """The NVIDIA driver's version and its GPUs, whether or not torch can use them."""
    tool = shutil.which("nvidia-smi")
    unknown = "unknown" if Path("/dev/nvidiactl").exists() else None
    if tool is None:
        return unknown, ()
    query = ["--query-gpu=driver_version,name", "--format=csv,noheader"]
    try:
        run = subprocess.run([tool, *query], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown", ()
    rows = [line.split(", ", 1) for line in run.stdout.splitlines() if ", " in line]
    if run.returncode or not rows:
        return unknown, ()
    return rows[0][0].strip(), tuple(name.strip() for _, name in rows)


def _sandbox(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The sandbox's isolation and its gaps, or why it does not start; nothing where it cannot run anyway."""
    if facts.get("torch_error") or (facts.get("triton") and facts.get("triton_error")):
        return {}
    try:
        from checker.sandbox import Sandbox

        shared = Sandbox.shared()
        return {"sandbox": shared.tier, "sandbox_gaps": shared.gaps, "sandbox_lost": shared.lost}
    except Exception as error:  # whatever it is, show it to the learner
        return {"sandbox_error": f"{type(error).__name__}: {error}"}


def _is_called_python() -> bool:
    """Whether `python` in a shell starts this interpreter."""
    python = shutil.which("python")
    return python is not None and Path(python).parent.resolve() == Path(sys.executable).parent.resolve()


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _can_run_from(cache: Path) -> bool:
    """Whether code can be written to the cache's folder and loaded from it, which noexec mounts refuse."""
    folder = next((f for f in (cache, *cache.parents) if f.is_dir()), None)
    if folder is None or not _writable(folder):
        return False
    try:
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except (AttributeError, OSError):  # Windows has neither
        return True
