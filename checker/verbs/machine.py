"""The facts of this machine. torch, Triton and CUDA are examined in a process of their own.

A broken install can crash or hang on import, and asking torch about a GPU opens it: neither may happen to a notebook.
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
PATIENCE = 120.0  # seconds; a first import of torch from a cold disk takes its time
PACKAGES = ("torch", "triton", "numpy", "ml_dtypes", "nbformat", "rich")


@dataclass(frozen=True)
class Gpu:
    """One GPU as torch names it; `memory` in bytes (0 where unknown)."""

    name: str
    capability: tuple[int, int]
    memory: int = 0


@dataclass(frozen=True)
class Machine:
    """A version is None where the package is missing; an `..._error` is why it does not import."""

    python: tuple[int, int, int]
    system: str  # "Linux", "Darwin", "Windows", as `platform.system()` says
    interpreter: str = "python"  # what precedes `-m pip` in the commands
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
    driver_gpus: tuple[str, ...] = ()  # the names of those the driver lists
    gpus: tuple[Gpu, ...] = ()  # those torch can use
    cuda_error: str = ""
    c_compiler: str | None = None
    python_headers: bool = True
    jupyter: str | None = None
    colab: bool = False
    sandbox: str | None = None
    sandbox_gaps: tuple[str, ...] = ()  # names of what a job can do all the same (`checker.sandbox.probe.GAPS`)
    sandbox_lost: tuple[str, ...] = ()  # why layers are not in force
    sandbox_error: str = ""
    folder: str = "."
    writable: bool = True
    free: int = ENOUGH_DISK
    cache: str = "~/.triton"
    cache_usable: bool = True


def this_machine() -> Machine:
    """Takes a few seconds, most of them to import torch in another process."""
    seen: dict[str, Any] = {package: _installed(package) for package in PACKAGES} | _imported()
    seen["gpus"] = tuple(Gpu(name, (cap[0], cap[1]), memory) for name, cap, memory in seen.get("gpus", ()))
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
        **seen,
        **_sandbox(seen),
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
    """What torch and Triton say about themselves; a crash or a hang of theirs counts as an error of both."""
    try:
        # in an empty folder: nothing in the working directory may stand in for torch
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
    """The NVIDIA driver's version and the names of its GPUs, whatever torch thinks of them."""
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


def _sandbox(seen: Mapping[str, Any]) -> dict[str, Any]:
    """The isolation that the sandbox reaches and its gaps, or why it does not start; nothing where it cannot run."""
    if platform.system() != "Linux" or seen.get("torch_error") or seen.get("triton_error"):
        return {}
    try:
        from checker.sandbox import Sandbox

        shared = Sandbox.shared()
        return {"sandbox": shared.tier, "sandbox_gaps": shared.gaps, "sandbox_lost": shared.lost}
    except Exception as error:  # whatever stops the sandbox is what the learner has to know
        return {"sandbox_error": f"{type(error).__name__}: {error}"}


def _is_called_python() -> bool:
    """Whether `python` in a shell would be this interpreter."""
    found = shutil.which("python")
    return found is not None and Path(found).parent.resolve() == Path(sys.executable).parent.resolve()


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _can_run_from(cache: Path) -> bool:
    """Whether a file in the cache's folder can be written and mapped as code (noexec mounts refuse that)."""
    folder = next((f for f in (cache, *cache.parents) if f.is_dir()), None)
    if folder is None or not _writable(folder):
        return False
    try:
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except (AttributeError, OSError):  # Windows has neither
        return True
