"""Runs and times a kernel on a GPU.

`available`, `device_name` and `capability` never touch the CUDA driver in the calling process. The rest does, and belongs in a
sandboxed job, because an illegal address ends a process's use of the GPU for good.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from triton import JITFunction

    from checker.puzzle import Launch

# Runs in a bare Python: asks the driver, and whether the installed torch was built for CUDA, without importing it.
_PROBE = """
import ctypes, importlib.util, json, pathlib, re, sys
found = {"name": "", "capability": [0, 0], "count": 0, "cuda": False, "memory": 0}
try:
    spec = importlib.util.find_spec("torch")
    text = (pathlib.Path(spec.origin).parent / "version.py").read_text()
    found["cuda"] = re.search(r"^cuda\\b[^=]*=\\s*['\\"]", text, re.M) is not None
    cuda = ctypes.CDLL("libcuda.so.1")
    count, device, value, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if found["cuda"] and cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value:
        cuda.cuDeviceGet(ctypes.byref(device), 0)
        cuda.cuDeviceGetName(name, 256, device)
        for place, attribute in enumerate((75, 76)):
            cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            found["capability"][place] = value.value
        memory = ctypes.c_size_t()
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        found["memory"] = memory.value
        found["name"], found["count"] = name.value.decode(errors="replace"), count.value
except (OSError, AttributeError, ValueError):
    pass
print(json.dumps(found))
"""
_PER_VERDICT = 2 << 30
"""Bytes of a GPU's memory that one verdict may need: CUDA's own share in its process, and its largest launch."""
_MAX_GRID = (2**31 - 1, 65535, 65535)


class GpuError(Exception):
    """A launch failed. `message` is for the learner, `detail` is the driver's or compiler's own text.

    `status` is ``compile_error``, ``runtime_error`` or ``resource_limit``; `line` a line of the kernel's source or None.
    """

    def __init__(self, message: str, detail: str = "", status: str = "runtime_error", line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.detail, self.status, self.line = message, detail, status, line


@dataclass(frozen=True)
class Timing:
    """Seconds of one launch on the GPU: the median of `repeats`, and the 20th and 80th percentiles as its spread."""

    median: float
    low: float
    high: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        times = sorted(seconds)
        return cls(statistics.median(times), times[len(times) // 5], times[-1 - len(times) // 5], len(times))


# ------------------------------------------------------------------------------------------------------- what is there


@functools.cache
def _device() -> dict[str, Any]:
    from checker.submission.reader import course_on_path

    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _PROBE],
            env=course_on_path(),
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        device: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {"name": "", "capability": [0, 0], "count": 0, "cuda": False, "memory": 0}
    return device


def available() -> bool:
    """Whether the installed PyTorch and Triton can use a GPU here."""
    return bool(_device()["count"])


def device_name() -> str:
    """E.g. ``NVIDIA H100 80GB HBM3``; empty without a GPU."""
    return str(_device()["name"])


def verdicts_at_a_time(wanted: int) -> int:
    """`wanted`, or as many as the GPU has memory for."""
    return max(1, min(wanted, int(_device()["memory"]) // _PER_VERDICT))


def capability() -> int:
    """The compute capability as one number, 90 for sm_90; 0 without a GPU."""
    major, minor = _device()["capability"]
    return int(major) * 10 + int(minor)


def initialise() -> None:
    """Start CUDA in this process. Raises RuntimeError if it does not start."""
    import torch

    torch.cuda.init()
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()


# --------------------------------------------------------------------------------------------------------------- launch


class Mirror:
    """A launch's tensors on the GPU: every storage once and whole, so that gaps and guard bands come along."""

    def __init__(self, launch: Launch) -> None:
        import torch

        self._tensors = {n: v for n, v in launch.arguments.items() if isinstance(v, torch.Tensor)}
        # bytes on the CPU, and on the GPU
        self._storages: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
        for tensor in self._tensors.values():
            if _key(tensor) not in self._storages:
                host = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
                self._storages[_key(tensor)] = host, host.to("cuda", copy=True)
        on_gpu = {name: _view(tensor, self._storages[_key(tensor)][1]) for name, tensor in self._tensors.items()}
        self.arguments: dict[str, Any] = {**launch.arguments, **on_gpu}

    def back(self, *, in_place: bool) -> dict[str, torch.Tensor]:
        """Copy everything to the CPU: into the launch's own tensors, or into new ones of the same geometry."""
        if in_place:
            for host, device in self._storages.values():
                host.copy_(device)
            return dict(self._tensors)
        landed = {key: device.cpu() for key, (_, device) in self._storages.items()}
        return {name: _view(tensor, landed[_key(tensor)]) for name, tensor in self._tensors.items()}


def _key(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def _view(tensor: torch.Tensor, storage: torch.Tensor) -> torch.Tensor:
    """`tensor`'s shape, strides and offset over another storage of the same bytes."""
    import torch

    empty = torch.empty(0, dtype=tensor.dtype, device=storage.device)
    return empty.set_(storage.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def launch_kernel(kernel: JITFunction, launch: Launch, *, in_place: bool = False) -> dict[str, torch.Tensor]:
    """Every tensor argument after one launch on the GPU, on the CPU again, by parameter; shared storages stay shared.

    With `in_place` the results also replace the contents of the launch's own (CPU) tensors. Raises GpuError.
    """
    import torch

    _check_grid(launch.grid)
    try:
        mirror = Mirror(launch)
        _call(kernel, launch, mirror.arguments)()
        torch.cuda.synchronize()
        return mirror.back(in_place=in_place)
    except GpuError:
        raise
    except Exception as error:
        raise _explain(error) from error


def _call(kernel: JITFunction, launch: Launch, arguments: Mapping[str, Any]) -> Callable[[], object]:
    import torch
    import triton

    # kernels that make tensor descriptors need memory for them
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    grid = tuple(launch.grid)
    return lambda: kernel[grid](**arguments, **launch.meta, **launch.options)


def _check_grid(grid: tuple[int, ...]) -> None:
    for axis, (size, largest) in enumerate(zip(grid, _MAX_GRID, strict=False)):
        if not 0 < size <= largest:
            raise GpuError(f"The grid has {size} programs along axis {axis}; a GPU takes 1 to {largest} there.")


# ----------------------------------------------------------------------------------------------------------------- time


_WARM_UP, _REPEATS = 10, 50
_BUDGET = 2.0  # seconds for the repeats, at least 5


class Clock:
    """Times calls with CUDA events, each with the L2 cache flushed."""

    def __init__(self) -> None:
        import torch

        l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        self._cuda, self._cold = torch.cuda, torch.empty(max(4 * l2, 1 << 26), dtype=torch.uint8, device="cuda")

    def times(self, call: Callable[[], object], count: int, sleep: int = 0) -> list[float]:
        """Seconds of each of `count` calls, queued without waiting so that Python's part is not timed.

        A short call first sleeps on the GPU for `sleep` cycles, so that it is queued before it begins.
        """
        pairs = [(self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, stop in pairs:
            if sleep:
                self._cuda._sleep(sleep)
            self._cold.zero_()
            start.record()
            call()
            stop.record()
        self._cuda.synchronize()
        return [start.elapsed_time(stop) / 1e3 for start, stop in pairs]


def time_kernel(kernel: JITFunction, launch: Launch) -> Timing:
    """Time a launch, after it is compiled and warmed up. Raises GpuError."""
    _check_grid(launch.grid)
    try:
        call, clock = _call(kernel, launch, Mirror(launch).arguments), Clock()
        call()
        estimate = max(statistics.median(clock.times(call, 3)), 1e-6)
        for _ in range(min(_WARM_UP, max(1, int(_BUDGET / 4 / estimate)))):
            call()
        return Timing.of(clock.times(call, max(5, min(_REPEATS, int(_BUDGET / estimate)))))
    except Exception as error:
        raise _explain(error) from error


# ---------------------------------------------------------------------------------------------------------------- errors

_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"illegal memory access|misaligned address|invalid address|CUDA error 700|memory access fault",
        "runtime_error",
        "The kernel touched memory outside its tensors (an illegal address). Look at the pointer arithmetic and the masks of "
        "its loads and stores.",
    ),
    (r"device-side assert", "runtime_error", "A `tl.device_assert` in the kernel failed."),
    (
        r"shared memory|out of resource|OutOfResources",
        "resource_limit",
        "The kernel needs more shared memory or registers than this GPU has for one program. Use smaller tiles or fewer stages.",
    ),
    (
        r"CUDA out of memory|out of memory",
        "resource_limit",
        "The GPU does not have enough free memory for the tensors of this case.",
    ),
    (
        r"File too large",  # the compiler unrolls a huge tile into files of hundreds of megabytes
        "resource_limit",
        "The compiled kernel is larger than a file may be. Use smaller tiles.",
    ),
    (
        r"launch timed out|launch timeout",
        "runtime_error",
        "The GPU's driver stopped the kernel because it ran too long.",
    ),
    (
        r"unspecified launch failure|illegal instruction|launch failed|hardware exception",
        "runtime_error",
        "The kernel crashed on the GPU.",
    ),
)


def _explain(error: Exception) -> GpuError:
    """Triton's, PyTorch's and the driver's errors in words for a learner."""
    detail = f"{type(error).__name__}: {error}"
    kind = type(error).__name__
    if kind in ("CompilationError", "UnsupportedLanguageConstruct", "CompileTimeAssertionFailure"):
        node = getattr(error, "node", None)
        return GpuError("The kernel does not compile.", detail, "compile_error", getattr(node, "lineno", None))
    if kind in ("PTXASError", "MLIRCompilationError") or "PassManager::run failed" in detail:
        return GpuError("The compiler gave up on the kernel for this GPU.", detail, "compile_error")
    for pattern, status, message in _CAUSES:
        if re.search(pattern, detail, re.IGNORECASE):
            return GpuError(message, detail, status)
    return GpuError(f"The launch failed: {detail.splitlines()[0][:300]}", detail)
