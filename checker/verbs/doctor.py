"""`doctor`: what works on this machine, and the command that fixes what does not.

`examine` is a pure function of a `Machine`, so a test can examine a T4, a Mac or an old Triton anywhere. Nothing here needs torch.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from checker.phrases import count
from checker.sandbox import NO_ISOLATION
from checker.verbs.machine import ENOUGH_DISK, Gpu, Machine, this_machine
from checker.view import display
from checker.view.panel import Cell, Panel

TORCH, TRITON = "2.13.0", "3.7.1"  # the pair in constraints.txt
PYTHON_FROM = (3, 11)
PAIR = f'"torch=={TORCH}" "triton=={TRITON}"'
VERSIONS = {"torch": ("2.10", "3", TORCH), "triton": ("3.6", "3.10", TRITON)}
"""What kernels need: the oldest version that the course takes, the first that it does not know, and the one it is tested with."""

OLDER_COLAB = "Runtime → Change runtime type → Runtime version 2026.07, then run the first cell again."
GPU_DEVICES = ("/dev/nvidia0", "/dev/dxg")
"""Device files of a GPU's driver, on Linux and in WSL."""

Level = Literal["ok", "note", "warning", "problem"]
"""A note needs no action, a warning may deserve a fix, and with a problem nothing can be checked."""


@dataclass(frozen=True)
class HealthCheck:
    """One line of the report: what was examined, its state, and the command that fixes it, if any."""

    what: str
    level: Level
    message: str
    command: str = ""


class DoctorReport(list[HealthCheck]):
    """The lines of the report."""

    def __repr__(self) -> str:
        problems, warnings = (sum(check.level == level for check in self) for level in ("problem", "warning"))
        return f"<doctor: {count(problems, 'problem')}, {count(warnings, 'warning')}>"

    @property
    def text(self) -> str:
        """The report without rich, which may be missing."""
        lines = [f"{c.level:8} {c.what}: {c.message}" + (f"\n         {c.command}" if c.command else "") for c in self]
        return "\n".join(lines)

    @property
    def panel(self) -> Panel:
        marks = {"ok": ("✓", "good"), "note": ("·", "soft"), "warning": ("!", "warn"), "problem": ("✗", "bad")}
        rows = []
        for check in self:
            mark, tone = marks[check.level]
            level = Cell(f"{mark} {check.level}", tone)
            rows.append([Cell(check.what), level, Cell(check.message, code=check.command)])
        return Panel("What works on this machine", heads=("", "", ""), rows=rows, footer=(self.summary,))

    @property
    def summary(self) -> str:
        """One sentence: how much of the course works on this machine."""
        if any(check.level == "problem" for check in self):
            return "Fix the problems above, from the top. Until then, nothing can be checked."
        gpu = next((check for check in self if check.what == "GPU"), None)
        if gpu is not None and gpu.level == "ok":
            return "Everything works here: simulator, compiler, GPU and timing."
        if gpu is not None and gpu.level != "note" and "cannot be used" not in gpu.message:
            return "Everything works here, apart from the remarks above about the GPU."
        return "You can solve every puzzle here. Only the `gpu` gate, `bench` and the speed medals need a working GPU."


def doctor(brief: bool = False) -> DoctorReport:
    """Show what works on this machine and the command that fixes what does not.

    `brief` prints one line if torch and Triton are installed, in versions that the course knows, and the whole report otherwise.
    """
    if brief and all(map(_is_known, VERSIONS)):
        versions = ", ".join(map(_named, VERSIONS))
        gpu = any(Path(device).exists() for device in GPU_DEVICES)
        place = "in the simulator and on the GPU" if gpu else "in the simulator, as there is no GPU"
        print(f"Ready: {versions}. Kernels run {place}. For details, call doctor().")
        return display.shown(DoctorReport())
    with display.working("Examining this machine …") as area:
        report = examine(this_machine())
        if importlib.util.find_spec("rich") is None and not display.in_notebook():
            print(f"{report.text}\n{report.summary}")
        else:
            area.show(report.panel)
    return display.shown(report)


def _is_known(package: str) -> bool:
    oldest, below, _ = VERSIONS[package]
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:  # for Triton, the course brings the Python part
        return importlib.util.find_spec(package) is not None
    return _version(oldest) <= _version(version) < _version(below)


def _named(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} {TRITON} (its Python part, without a compiler)"


# --- the checks ---------------------------------------------------------------------------------------------------------


Answer = tuple[Level, str] | tuple[Level, str, str]
"""A `HealthCheck` without the name of what was examined."""


def examine(machine: Machine) -> DoctorReport:
    """The report on a machine, in the order in which to fix things."""
    return DoctorReport(HealthCheck(what, *answer) for what, check in CHECKS.items() for answer in check(machine))


def _python(machine: Machine) -> Iterator[Answer]:
    name = ".".join(map(str, machine.python))
    if machine.python[:2] >= PYTHON_FROM:
        yield "ok", name
    else:
        too_old = f"Python {name} is too old; the course needs 3.11 or newer."
        yield "problem", too_old, "conda env create -f environment.yml"


def _torch(machine: Machine) -> Iterator[Answer]:
    packages = PAIR if machine.system == "Linux" else f'"torch=={TORCH}"'
    return _tested(machine, "torch", machine.torch, machine.torch_error, packages)


def _triton(machine: Machine) -> Iterator[Answer]:
    if machine.triton is None:
        without = (
            f"The course brings Triton's Python part ({TRITON}): the simulator runs, and Triton's front end checks each kernel, but no "
            "machine code is made. `xray`, a GPU and a class that requires the compiler need it."
        )
        if machine.system == "Linux":
            yield "warning", f"Triton is not installed. {without}", _pip(machine, PAIR)
            return
        system = {"Darwin": "macOS"}.get(machine.system, machine.system)
        or_wsl = " or WSL (`wsl --install`)" if machine.system == "Windows" else ""
        experimental = f"The course on {system} is experimental; if something fails, use Colab{or_wsl}."
        yield "note", f"Triton's compiler is not made for {system}. {without} {experimental}"
    else:
        yield from _tested(machine, "Triton", machine.triton, machine.triton_error, PAIR)


def _tested(machine: Machine, name: str, version: str | None, error: str, packages: str) -> Iterator[Answer]:
    """On torch or Triton, of which the course takes the versions in `VERSIONS`."""
    oldest, below, tested = VERSIONS[name.lower()]
    if version is None:
        yield "problem", f"{name} is not installed.", _pip(machine, packages)
    elif error:
        message = f"{name} {version} is installed but importing it fails: {error}"
        yield "problem", message, _pip(machine, f"--force-reinstall {packages}")
    elif not _version(oldest) <= _version(version) < _version(below):
        too_old = _version(version) < _version(oldest)
        side = "too old" if too_old else "newer than the simulator knows"
        message = (
            f"{name} {version} is {side}: the course works with {oldest} to below {below} and is tested with {tested}."
        )
        if machine.colab and not too_old:  # a torch of another build would lose Colab's GPU
            yield "problem", f"{message} Go back to a Colab that it knows: {OLDER_COLAB}"
        else:
            yield "problem", message, _pip(machine, packages)
    else:
        yield "ok", version


def _needed(name: str, oldest: str, without: str) -> Callable[[Machine], Iterator[Answer]]:
    def check(machine: Machine) -> Iterator[Answer]:
        version: str | None = getattr(machine, name)
        install = _pip(machine, f'"{name}>={oldest}"')
        if version is None:
            yield "problem", f"{name} is not installed; without it, {without}.", install
        elif _version(version) < _version(oldest):
            yield "problem", f"{name} {version} is too old; the course needs {oldest} or newer.", install
        else:
            yield "ok", version

    return check


def _gpu(machine: Machine) -> Iterator[Answer]:
    if machine.system == "Darwin":
        yield "note", "There is no GPU that Triton can use: it does not support Apple's."
    elif machine.gpus:
        yield from map(_usable_gpu, machine.gpus)
    elif machine.torch_hip is not None:
        message = (
            f"This torch is built for AMD (ROCm {machine.torch_hip}). The `gpu` gate and `bench` only support NVIDIA GPUs; "
            "everything else works."
        )
        yield "warning", message
    elif machine.driver is not None:
        yield _unusable_gpu(machine)
    else:
        without = "run in the simulator, so `check`, `film`"
        if machine.triton is not None:
            without = "run in the simulator and are compiled for real GPUs, so `check`, `film`, `xray`"
        message = (
            f"There is none, and you do not need one: kernels {without} and `hint` work, and every puzzle can be passed. Only the `gpu` "
            "gate, `bench` and the speed medals need a GPU."
        )
        yield "note", message + (" In Colab: Runtime → Change runtime type → T4 GPU." if machine.colab else "")


def _usable_gpu(gpu: Gpu) -> Answer:
    major, minor = gpu.capability
    what = f"{gpu.name}, compute capability {major}.{minor} (sm_{major}{minor})"
    if gpu.memory:
        what += f", {gpu.memory / 2**30:.0f} GiB"
    if gpu.capability < (7, 5):
        return "warning", (
            f"{what}: the course is made for the T4 (sm_75) and newer. Triton may refuse to compile for this one, and then "
            'the `gpu` gate fails even for a right kernel. Pass `device="cpu"` to skip that gate. On Kaggle, choose a T4 instead of a P100.'
        )
    if gpu.capability < (8, 0):
        return "warning", (
            f"{what}: this GPU has no bfloat16 in hardware. bfloat16 cases still run and count, because Triton computes them "
            "in float32 and rounds: the results are the same, but slower. (`torch.cuda.is_bf16_supported()` says True here, because it "
            "counts that too: ask for the capability.) It has no TF32 and no asynchronous copies either, so "
            "`tl.dot` in float32 is exact but slow, and `num_stages` has no effect. Keep that in mind when you time kernels here."
        )
    return "ok", what


def _unusable_gpu(machine: Machine) -> Answer:
    names = ", ".join(machine.driver_gpus) or "an NVIDIA GPU"
    present = f"{names} is present (driver {machine.driver})"
    if machine.torch is None or machine.torch_error:
        return "warning", f"{present}, but cannot be used until torch works."
    if machine.torch_cuda is None:
        message = (
            f"{present}, but cannot be used, because torch {machine.torch} is a CPU-only build. Everything but the `gpu` gate "
            "and `bench` works."
        )
        # without its local tag: on Linux the plain release is the CUDA build
        same_torch = f'"torch=={machine.torch.split("+")[0]}"'
        return "warning", message, _pip(machine, f"--force-reinstall --no-deps {same_torch}")
    why = f" torch says: {machine.cuda_error}." if machine.cuda_error else ""
    message = (
        f"{present}, but cannot be used by torch {machine.torch} (built with CUDA {machine.torch_cuda}).{why} Often the driver "
        "is too old for that CUDA, or the container has lost its GPU. The command shows what the driver supports."
    )
    return "warning", message, ("!" if machine.colab else "") + "nvidia-smi"


def _c_compiler(machine: Machine) -> Iterator[Answer]:
    if machine.system != "Linux" or not machine.gpus:
        return  # C is compiled only for a launch on a GPU
    if machine.c_compiler is None:
        message = (
            "There is no C compiler. Triton compiles a small C launcher before the first launch on a GPU; only the simulator "
            "and the compile gate work without one."
        )
        yield "warning", message, "sudo apt-get install -y gcc"
    elif not machine.python_headers:
        message = "Python.h is missing. Triton needs it to compile its launcher for the GPU."
        yield "warning", message, f"sudo apt-get install -y python{'.'.join(map(str, machine.python[:2]))}-dev"
    else:
        yield "ok", machine.c_compiler


def _sandbox(machine: Machine) -> Iterator[Answer]:
    if machine.sandbox_error:
        yield "problem", f"The sandbox that kernels run in does not start: {machine.sandbox_error}"
    elif machine.sandbox == NO_ISOLATION:
        yield (
            "note",
            (
                "Kernels run in a separate process without isolation: endless loops and crashes are caught, and your own code may do on "
                "your own machine what you may do. `grade` refuses to work here."
            ),
        )
    elif machine.sandbox_gaps:
        message = (
            f"{machine.sandbox}: endless loops and crashes are caught, but this machine does not keep a hostile kernel from "
            f"these: {', '.join(machine.sandbox_gaps)}. That is fine for your own kernels; grade other people's on a machine "
            "with unprivileged user namespaces or Landlock."
            f"{''.join(f' Not in force: {reason}.' for reason in machine.sandbox_lost)}"
        )
        yield "warning", message
    elif machine.sandbox_lost:
        yield "note", f"{machine.sandbox}. Not in force: {'; '.join(machine.sandbox_lost)}."
    elif machine.sandbox is not None:
        yield "ok", machine.sandbox


def _jupyter(machine: Machine) -> Iterator[Answer]:
    if machine.colab:
        yield "ok", "Colab, with its own torch and Triton; your files are lost when its disk is erased"
    elif machine.jupyter is None:
        message = "JupyterLab is not installed. The notebooks need it; `python -m checker` does not."
        yield "warning", message, _pip(machine, '"jupyterlab>=4.3" "ipykernel>=6.29"')
    else:
        yield "ok", f"JupyterLab {machine.jupyter}"


def _folder(machine: Machine) -> Iterator[Answer]:
    if not machine.writable:
        message = (
            f"{machine.folder} is not writable: kernels are checked, but progress and passing kernels are not saved."
        )
        yield "warning", message, f"chmod u+w {shlex.quote(machine.folder)}"
    elif machine.free < ENOUGH_DISK:
        free = f"Only {machine.free / 2**20:.0f} MiB are free in {machine.folder}"
        yield "warning", f"{free}, where Triton's cache and your progress go.", f"du -sh {machine.cache}"
    else:
        yield "ok", machine.folder


def _cache(machine: Machine) -> Iterator[Answer]:
    if not machine.cache_usable:
        message = (
            f"Triton cannot use its cache {machine.cache}, because it is not writable or mounted noexec: launches on a GPU "
            "will fail. Choose another folder before you start Python."
        )
        yield "warning", message, 'export TRITON_CACHE_DIR="$PWD/.triton"'


CHECKS: dict[str, Callable[[Machine], Iterator[Answer]]] = {
    "Python": _python,
    "torch": _torch,
    "triton": _triton,
    "numpy": _needed("numpy", "2.0", "nothing can be computed"),
    "ml_dtypes": _needed("ml_dtypes", "0.5", "the simulator has no bfloat16"),
    "nbformat": _needed("nbformat", "5.10", "the checker cannot read notebooks"),
    "rich": _needed("rich", "13.9", "a terminal cannot show anything"),
    "GPU": _gpu,
    "C compiler": _c_compiler,
    "sandbox": _sandbox,
    "Jupyter": _jupyter,
    "folder": _folder,
    "Triton's cache": _cache,
}
"""What to examine, in the order in which to fix it."""


def _version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``"2.13.0+cpu"`` is ``(2, 13, 0)``."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def _pip(machine: Machine, packages: str) -> str:
    prefix = "!" if machine.colab else ""
    return f"{prefix}{machine.interpreter} -m pip install {packages}"
