"""What this machine can and cannot do for the course, and the command that mends each finding.

`findings` is a pure function of `Facts`, so that a T4, a Mac or an old Triton can be examined anywhere;
`checker.verbs.facts.facts` collects the facts of the machine at hand. Neither imports torch or Triton here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]

TORCH, TRITON = "2.13.0", "3.7.1"  # the pair in constraints.txt
TRITON_FROM, TRITON_BELOW = (3, 6), (3, 10)
TORCH_FROM = (2, 10)
NUMPY_FROM = (2, 0)
ML_DTYPES_FROM = (0, 5)
PYTHON_FROM = (3, 11)
ENOUGH_DISK = 2 * 2**30  # bytes; Triton's cache of a whole course stays far below
PAIR = f'"torch=={TORCH}" "triton=={TRITON}"'


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


def findings(facts: Facts) -> list[Finding]:
    """Everything worth saying about `facts`, in the order in which it should be mended."""
    return [
        *_python(facts),
        *_torch(facts),
        *_triton(facts),
        *_numpy(facts),
        *_small_packages(facts),
        *_gpu(facts),
        *_c_compiler(facts),
        *_sandbox(facts),
        *_jupyter(facts),
        *_folder(facts),
    ]


def works(report: list[Finding]) -> str:
    """One sentence: how far one gets on this machine."""
    if any(f.level == "problem" for f in report):
        return "Mend the problems above, from the top; nothing can be checked before."
    gpu = next((f for f in report if f.what == "GPU"), None)
    if gpu is not None and gpu.level == "ok":
        return "Everything works here: simulator, compiler, GPU and timing."
    if gpu is not None and "cannot be used" not in gpu.message and "No GPU" not in gpu.message:
        return "Everything works here, with the remarks above about the GPU."
    return "Every puzzle can be solved here. Only the GPU gate, `bench` and the speed medals need a GPU that works."


def version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``"2.13.0+cpu"`` is ``(2, 13, 0)``."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _pip(facts: Facts, what: str) -> str:
    prefix = "!" if facts.colab else ""
    return f"{prefix}{facts.interpreter} -m pip install {what}"


def _python(facts: Facts) -> Iterator[Finding]:
    name = ".".join(map(str, facts.python))
    if facts.python[:2] >= PYTHON_FROM:
        yield Finding("Python", "ok", name)
    else:
        yield Finding(
            "Python",
            "problem",
            f"Python {name} is too old; the course needs 3.11 or newer.",
            "conda env create -f environment.yml",
        )


def _torch(facts: Facts) -> Iterator[Finding]:
    if facts.torch is None:
        more = "" if facts.system == "Linux" else " It is used for tensors and references; it needs no GPU."
        yield Finding("torch", "problem", f"torch is not installed.{more}", _pip(facts, f'"torch=={TORCH}"'))
    elif facts.torch_error:
        message = f"torch {facts.torch} is installed but does not import: {facts.torch_error}"
        yield Finding("torch", "problem", message, _pip(facts, f'--force-reinstall "torch=={TORCH}"'))
    elif version(facts.torch) < TORCH_FROM:
        message = f"torch {facts.torch} is too old; the course needs 2.10 or newer and is tested with {TORCH}."
        yield Finding("torch", "problem", message, _pip(facts, PAIR))
    else:
        yield Finding("torch", "ok", facts.torch)


def _triton(facts: Facts) -> Iterator[Finding]:
    if facts.system == "Windows":
        message = (
            "Triton is not published for Windows. Work in WSL (a Linux inside Windows) and follow the README there, "
            "or open the notebooks in Colab. Reading the notebooks, hints and progress work here; checking does not."
        )
        yield Finding("triton", "problem", message, "wsl --install")
    elif facts.system == "Darwin":
        message = (
            "Triton is not published for macOS. Open the notebooks in Colab, or work on a Linux machine or in a Linux "
            "virtual machine. Reading the notebooks, hints and progress work here; checking does not."
        )
        yield Finding("triton", "problem", message)
    elif facts.triton is None:
        yield Finding("triton", "problem", "Triton is not installed.", _pip(facts, PAIR))
    elif facts.triton_error:
        message = f"Triton {facts.triton} is installed but does not import: {facts.triton_error}"
        yield Finding("triton", "problem", message, _pip(facts, f"--force-reinstall {PAIR}"))
    elif not TRITON_FROM <= version(facts.triton)[:2] < TRITON_BELOW:
        side = "too old" if version(facts.triton)[:2] < TRITON_FROM else "newer than the simulator knows"
        message = f"Triton {facts.triton} is {side}: the course works with 3.6 to 3.9 and is tested with {TRITON}."
        yield Finding("triton", "problem", message, _pip(facts, PAIR))
    else:
        yield Finding("triton", "ok", facts.triton)


def _numpy(facts: Facts) -> Iterator[Finding]:
    if facts.numpy is None:
        yield Finding("numpy", "problem", "numpy is not installed.", _pip(facts, '"numpy>=2.0"'))
    elif version(facts.numpy) < NUMPY_FROM:
        message = f"numpy {facts.numpy} is too old; the course needs 2.0 or newer."
        yield Finding("numpy", "problem", message, _pip(facts, '"numpy>=2.0"'))
    elif facts.triton and version(facts.triton)[:2] == (3, 6) and version(facts.numpy)[:2] >= (2, 4):
        message = (
            f"numpy {facts.numpy} with Triton {facts.triton}: this course's simulator works with the pair, and so does "
            "everything here. Triton's own interpreter (TRITON_INTERPRET=1) does not: a loop such as "
            "`for start in range(0, N, BLOCK_N)` with a runtime N raises `TypeError: only 0-dimensional arrays can be "
            "converted to Python scalars` there. Triton 3.7 mended it. Only if you use that interpreter yourself:"
        )
        yield Finding("numpy", "warning", message, _pip(facts, '"numpy<2.4"'))
    else:
        yield Finding("numpy", "ok", facts.numpy)


def _small_packages(facts: Facts) -> Iterator[Finding]:
    if facts.ml_dtypes is None:
        message = "ml_dtypes is not installed; without it the simulator cannot compute bfloat16 as bfloat16."
        yield Finding("ml_dtypes", "problem", message, _pip(facts, '"ml_dtypes>=0.5"'))
    elif version(facts.ml_dtypes) < ML_DTYPES_FROM:
        message = f"ml_dtypes {facts.ml_dtypes} is too old; the course needs 0.5 or newer."
        yield Finding("ml_dtypes", "problem", message, _pip(facts, '"ml_dtypes>=0.5"'))
    else:
        yield Finding("ml_dtypes", "ok", facts.ml_dtypes)
    for name, have, wanted, use in (
        ("nbformat", facts.nbformat, "nbformat>=5.10", "kernels cannot be read from notebooks"),
        ("rich", facts.rich, "rich>=13.9", "nothing can be shown in a terminal"),
    ):
        if have is None:
            yield Finding(name, "problem", f"{name} is not installed; without it {use}.", _pip(facts, f'"{wanted}"'))


def _gpu(facts: Facts) -> Iterator[Finding]:
    if facts.system == "Darwin":
        yield Finding("GPU", "warning", "No GPU that Triton could use: it has no back end for Apple's GPUs.")
    elif facts.gpus:
        yield from (_usable_gpu(gpu) for gpu in facts.gpus)
    elif facts.torch_hip is not None:
        message = (
            f"This torch is built for AMD (ROCm {facts.torch_hip}). The GPU gate and `bench` are written for and tested "
            "on NVIDIA GPUs and stay off; everything else works."
        )
        yield Finding("GPU", "warning", message)
    elif facts.driver is not None:
        yield _unusable_gpu(facts)
    else:
        message = (
            "No GPU found. That is fine: kernels run in the simulator and are compiled for real GPUs. Only the GPU gate, "
            "`bench` and the speed medals need one."
        )
        if facts.colab:
            message += " In Colab: Runtime → Change runtime type → T4 GPU."
        yield Finding("GPU", "warning", message)


def _usable_gpu(gpu: Gpu) -> Finding:
    major, minor = gpu.capability
    what = f"{gpu.name}, compute capability {major}.{minor} (sm_{major}{minor})"
    if gpu.memory:
        what += f", {gpu.memory / 2**30:.0f} GiB"
    if gpu.capability < (7, 5):
        return Finding(
            "GPU",
            "warning",
            f"{what}: older than any GPU the course is made for (T4, sm_75, and newer). Triton may refuse to compile; "
            'the GPU gate may then fail for a kernel that is right. Pass `device="cpu"` to leave it out.',
        )
    if gpu.capability < (8, 0):
        return Finding(
            "GPU",
            "warning",
            f"{what}: it has no bfloat16 in hardware. bfloat16 cases still run and count: Triton computes them in float32 "
            "and rounds, so the answers are the same and only the speed is not. It has no TF32 and no asynchronous "
            "copies either, so `tl.dot` in float32 is exact and slow, and `num_stages` changes nothing: do not "
            "draw conclusions about those from timings made here. float16 and float32 puzzles are unaffected.",
        )
    return Finding("GPU", "ok", what)


def _unusable_gpu(facts: Facts) -> Finding:
    names = ", ".join(gpu.name for gpu in facts.seen) or "an NVIDIA GPU"
    if facts.torch is None or facts.torch_error:
        return Finding(
            "GPU", "warning", f"{names} is present (driver {facts.driver}) and cannot be used before torch works."
        )
    if facts.torch_cuda is None:
        message = (
            f"{names} is present (driver {facts.driver}), but torch {facts.torch} is a CPU-only build, so it cannot be "
            "used. Everything but the GPU gate and `bench` works."
        )
        return Finding("GPU", "warning", message, _pip(facts, f"--force-reinstall --no-deps {_cuda_torch(facts)}"))
    why = f" torch says: {facts.cuda_error}." if facts.cuda_error else ""
    message = (
        f"{names} is present (driver {facts.driver}), but torch {facts.torch} (built with CUDA {facts.torch_cuda}) "
        f"cannot use it, so it cannot be used here.{why} Often the driver is older than that CUDA needs, or the GPU was "
        "taken from this container. The command shows what the driver supports."
    )
    return Finding("GPU", "warning", message, ("!" if facts.colab else "") + "nvidia-smi")


def _cuda_torch(facts: Facts) -> str:
    """The same torch without its local tag: on Linux the plain release is the CUDA build."""
    return f'"torch=={(facts.torch or TORCH).split("+")[0]}"'


def _c_compiler(facts: Facts) -> Iterator[Finding]:
    if facts.system != "Linux" or not facts.gpus:
        return  # only a launch on a GPU compiles C: neither the simulator nor a compile for another GPU does
    if facts.c_compiler is None:
        message = (
            "No C compiler: before its first launch on a GPU, Triton compiles a small C launcher. The simulator and the "
            "compile gate do without."
        )
        yield Finding("C compiler", "warning", message, "sudo apt-get install -y gcc")
    elif not facts.python_headers:
        minor = ".".join(map(str, facts.python[:2]))
        message = "Python.h is missing: Triton's launcher for the GPU cannot be compiled without it."
        yield Finding("C compiler", "warning", message, f"sudo apt-get install -y python{minor}-dev")
    else:
        yield Finding("C compiler", "ok", facts.c_compiler)


def _sandbox(facts: Facts) -> Iterator[Finding]:
    if facts.sandbox_error:
        message = f"The sandbox that kernels run in does not start: {facts.sandbox_error}"
        yield Finding("sandbox", "problem", message)
    elif facts.sandbox_gaps:
        message = (
            f"{facts.sandbox}: an endless loop or a crash in a kernel is caught here, but this machine does not keep a hostile "
            f"kernel from these: {', '.join(facts.sandbox_gaps)}. That is fine for your own kernels; grade other people's on "
            "a machine with unprivileged user namespaces or Landlock."
        )
        yield Finding("sandbox", "warning", message)
    elif facts.sandbox is not None:
        yield Finding("sandbox", "ok", facts.sandbox)


def _jupyter(facts: Facts) -> Iterator[Finding]:
    if facts.colab:
        yield Finding("Jupyter", "ok", "Colab, with its own torch and Triton; your files last as long as its disk does")
    elif facts.jupyter is None:
        message = "JupyterLab is not installed. `python -m checker` works without it; the notebooks need it."
        yield Finding("Jupyter", "warning", message, _pip(facts, '"jupyterlab>=4.3" "ipykernel>=6.29"'))
    else:
        yield Finding("Jupyter", "ok", f"JupyterLab {facts.jupyter}")


def _folder(facts: Facts) -> Iterator[Finding]:
    if not facts.writable:
        message = (
            f"{facts.folder} cannot be written to: kernels are checked, but progress and passing kernels are not kept."
        )
        yield Finding("folder", "warning", message, f"chmod u+w {shlex.quote(facts.folder)}")
    elif facts.free < ENOUGH_DISK:
        message = f"Only {facts.free / 2**20:.0f} MiB are free for {facts.folder}; Triton's cache and your progress live on disk."
        yield Finding("folder", "warning", message, f"du -sh {facts.cache}")
    else:
        yield Finding("folder", "ok", facts.folder)
    if not facts.cache_usable:
        message = (
            f"Triton's cache {facts.cache} cannot be used (not writable, or on a disk mounted noexec): launches on a GPU fail "
            "there. Choose another folder before starting Python."
        )
        yield Finding("Triton's cache", "warning", message, 'export TRITON_CACHE_DIR="$PWD/.triton"')
