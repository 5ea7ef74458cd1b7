"""Collects the facts that `checker.verbs.doctor` judges. torch, Triton and CUDA are asked in a process of their own.

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
from pathlib import Path
from typing import Any

from checker import workspace
from checker.verbs.machine import Facts, Gpu

PATIENCE = 120.0  # seconds; a first import of torch from a cold disk takes its time

PROBE = """
import json, sys
told = {}
try:
    import torch
    told["torch_cuda"], told["torch_hip"] = torch.version.cuda, getattr(torch.version, "hip", None)
    if torch.version.cuda:
        try:
            torch.cuda.init()
            told["gpus"] = [
                [p.name, [p.major, p.minor], p.total_memory]
                for p in map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
            ]
        except Exception as error:
            told["cuda_error"] = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
except BaseException as error:
    told["torch_error"] = f"{type(error).__name__}: {error}"
try:
    import triton
    import triton.language
except BaseException as error:
    told["triton_error"] = f"{type(error).__name__}: {error}"
sys.stdout.write("\\n" + json.dumps(told))
"""


def facts() -> Facts:
    """The facts of this machine. Takes a few seconds, most of them to import torch in another process."""
    probed = _probe()
    driver, seen = _driver()
    space = workspace.find()
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    sandbox, sandbox_gaps, sandbox_error = _sandbox(probed)
    version_info = sys.version_info
    return Facts(
        python=(version_info.major, version_info.minor, version_info.micro),
        system=platform.system(),
        interpreter="python" if _is_called_python() else shlex.quote(sys.executable),
        torch=_version("torch"),
        torch_error=_if_installed("torch", probed),
        torch_cuda=probed.get("torch_cuda"),
        torch_hip=probed.get("torch_hip"),
        triton=_version("triton"),
        triton_error=_if_installed("triton", probed),
        numpy=_version("numpy"),
        ml_dtypes=_version("ml_dtypes"),
        nbformat=_version("nbformat"),
        rich=_version("rich"),
        driver=driver,
        gpus=tuple(Gpu(name, (cap[0], cap[1]), memory) for name, cap, memory in probed.get("gpus", ())),
        seen=seen,
        cuda_error=probed.get("cuda_error", ""),
        c_compiler=os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang"),
        python_headers=(Path(sysconfig.get_paths()["include"]) / "Python.h").is_file(),
        jupyter=_version("jupyterlab"),
        colab=importlib.util.find_spec("google") is not None and _version("google-colab") is not None,
        sandbox=sandbox,
        sandbox_gaps=sandbox_gaps,
        sandbox_error=sandbox_error,
        folder=str(space.root),
        writable=_writable(space.ours if space.ours.exists() else space.root),
        free=shutil.disk_usage(space.root).free,
        cache=str(cache),
        cache_usable=_can_run_from(cache),
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _probe() -> dict[str, Any]:
    """What torch and Triton say about themselves; a crash or a hang of theirs is told as an error of both."""
    try:
        # in an empty folder: nothing in the working directory may stand in for torch
        with tempfile.TemporaryDirectory() as empty:
            command = [sys.executable, "-c", PROBE]
            run = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        why = f"importing it takes longer than {PATIENCE:.0f} s"
        return {"torch_error": why, "triton_error": why}
    try:
        told = json.loads(run.stdout.rsplit("\n", 1)[-1])
    except ValueError:
        why = f"importing it ends Python (exit status {run.returncode})"
        return {"torch_error": why, "triton_error": why}
    return told if isinstance(told, dict) else {}


def _if_installed(package: str, probed: Mapping[str, Any]) -> str:
    return str(probed.get(f"{package}_error", "")) if _version(package) else ""


def _driver() -> tuple[str | None, tuple[Gpu, ...]]:
    """The NVIDIA driver's version and its GPUs, whatever torch thinks of them."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ("unknown", ()) if Path("/dev/nvidiactl").exists() else (None, ())
    query = ["--query-gpu=driver_version,name,compute_cap", "--format=csv,noheader"]
    try:
        run = subprocess.run([tool, *query], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown", ()
    rows = [[cell.strip() for cell in line.split(",")] for line in run.stdout.splitlines()]
    rows = [row for row in rows if len(row) == 3]
    if run.returncode or not rows:
        return ("unknown", ()) if Path("/dev/nvidiactl").exists() else (None, ())
    return rows[0][0], tuple(Gpu(name, _capability(cap)) for _, name, cap in rows)


def _capability(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else (0, 0)


def _sandbox(probed: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...], str]:
    """The tier of isolation that the sandbox reaches here and what a kernel could do in spite of it, or why it does not start; not asked where it cannot run."""
    if platform.system() != "Linux" or not (_version("torch") and _version("triton")):
        return None, (), ""
    if probed.get("torch_error") or probed.get("triton_error"):
        return None, (), ""
    try:
        from checker.sandbox import Sandbox

        return Sandbox.shared().tier, Sandbox.shared().gaps, ""
    except Exception as error:  # whatever stops the sandbox is what the learner has to be told
        return None, (), f"{type(error).__name__}: {error}"


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
