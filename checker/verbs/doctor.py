"""What this machine can and cannot do for the course, and the command that mends each finding.

`findings` is a pure function of `Facts`, so that a T4, a Mac or an old Triton can be examined anywhere;
`checker.verbs.facts.facts` collects the facts of the machine at hand. Neither imports torch or Triton here.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from checker.verbs.gpu_findings import c_compiler_findings, gpu_findings
from checker.verbs.machine import ENOUGH_DISK, Facts, Finding, pip, version

TORCH, TRITON = "2.13.0", "3.7.1"  # the pair in constraints.txt
TRITON_FROM, TRITON_BELOW = (3, 6), (3, 10)
TORCH_FROM = (2, 10)
NUMPY_FROM = (2, 0)
ML_DTYPES_FROM = (0, 5)
PYTHON_FROM = (3, 11)
PAIR = f'"torch=={TORCH}" "triton=={TRITON}"'


def findings(facts: Facts) -> list[Finding]:
    """Everything worth saying about `facts`, in the order in which it should be mended."""
    return [
        *_python(facts),
        *_torch(facts),
        *_triton(facts),
        *_numpy(facts),
        *_small_packages(facts),
        *gpu_findings(facts),
        *c_compiler_findings(facts),
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
    if gpu is not None and gpu.level != "note" and "cannot be used" not in gpu.message:
        return "Everything works here, with the remarks above about the GPU."
    return "Every puzzle can be solved here. Only the `gpu` gate, `bench` and the speed medals need a GPU that works."


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
        yield Finding("torch", "problem", f"torch is not installed.{more}", pip(facts, f'"torch=={TORCH}"'))
    elif facts.torch_error:
        message = f"torch {facts.torch} is installed but does not import: {facts.torch_error}"
        yield Finding("torch", "problem", message, pip(facts, f'--force-reinstall "torch=={TORCH}"'))
    elif version(facts.torch) < TORCH_FROM:
        message = f"torch {facts.torch} is too old; the course needs 2.10 or newer and is tested with {TORCH}."
        yield Finding("torch", "problem", message, pip(facts, PAIR))
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
        yield Finding("triton", "problem", "Triton is not installed.", pip(facts, PAIR))
    elif facts.triton_error:
        message = f"Triton {facts.triton} is installed but does not import: {facts.triton_error}"
        yield Finding("triton", "problem", message, pip(facts, f"--force-reinstall {PAIR}"))
    elif not TRITON_FROM <= version(facts.triton)[:2] < TRITON_BELOW:
        side = "too old" if version(facts.triton)[:2] < TRITON_FROM else "newer than the simulator knows"
        message = f"Triton {facts.triton} is {side}: the course works with 3.6 to 3.9 and is tested with {TRITON}."
        yield Finding("triton", "problem", message, pip(facts, PAIR))
    else:
        yield Finding("triton", "ok", facts.triton)


def _numpy(facts: Facts) -> Iterator[Finding]:
    if facts.numpy is None:
        yield Finding("numpy", "problem", "numpy is not installed.", pip(facts, '"numpy>=2.0"'))
    elif version(facts.numpy) < NUMPY_FROM:
        message = f"numpy {facts.numpy} is too old; the course needs 2.0 or newer."
        yield Finding("numpy", "problem", message, pip(facts, '"numpy>=2.0"'))
    elif facts.triton and version(facts.triton)[:2] == (3, 6) and version(facts.numpy)[:2] >= (2, 4):
        message = (
            f"numpy {facts.numpy} with Triton {facts.triton}: this course's simulator works with the pair, and so does "
            "everything here. Triton's own interpreter (TRITON_INTERPRET=1) does not: a loop such as "
            "`for start in range(0, N, BLOCK_N)` with a runtime N raises `TypeError: only 0-dimensional arrays can be "
            "converted to Python scalars` there. Triton 3.7 mended it. Only if you use that interpreter yourself:"
        )
        yield Finding("numpy", "warning", message, pip(facts, '"numpy<2.4"'))
    else:
        yield Finding("numpy", "ok", facts.numpy)


def _small_packages(facts: Facts) -> Iterator[Finding]:
    if facts.ml_dtypes is None:
        message = "ml_dtypes is not installed; without it the simulator cannot compute bfloat16 as bfloat16."
        yield Finding("ml_dtypes", "problem", message, pip(facts, '"ml_dtypes>=0.5"'))
    elif version(facts.ml_dtypes) < ML_DTYPES_FROM:
        message = f"ml_dtypes {facts.ml_dtypes} is too old; the course needs 0.5 or newer."
        yield Finding("ml_dtypes", "problem", message, pip(facts, '"ml_dtypes>=0.5"'))
    else:
        yield Finding("ml_dtypes", "ok", facts.ml_dtypes)
    for name, have, wanted, use in (
        ("nbformat", facts.nbformat, "nbformat>=5.10", "kernels cannot be read from notebooks"),
        ("rich", facts.rich, "rich>=13.9", "nothing can be shown in a terminal"),
    ):
        if have is None:
            yield Finding(name, "problem", f"{name} is not installed; without it {use}.", pip(facts, f'"{wanted}"'))


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
        yield Finding("Jupyter", "warning", message, pip(facts, '"jupyterlab>=4.3" "ipykernel>=6.29"'))
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
