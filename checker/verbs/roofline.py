"""The least time that a case can take on a GPU: its bytes at the rate of a copy, its products at the rate of a matrix product.

On this machine's GPU both rates are measured once and kept; for GPUs that are not here they come from data sheets.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import torch

from checker import gpu, workspace
from checker.course.work import WORK
from checker.judge.launches import without_numbers
from checker.puzzle import DTYPES, Case, Puzzle
from checker.verbs.timing import time_call

FILE = "gpu-limits.json"
SIDE = 8192
"""Of the square matrices whose product is timed: large enough for any GPU, 0.4 GB in float32."""
COPIED = 1 << 29
"""Bytes of the tensor whose copy is timed, far more than any L2."""
BEYOND = 1.15
"""So many times as fast as measured is still possible: a GPU that was cool when it ran, and warm when the limits were measured, is up to
15 % faster (cuDNN on an H200, first launch against the median of many)."""


@dataclass(frozen=True)
class Demand:
    """What a case takes at least: every input read once, every output written once, and its products."""

    bytes: int
    operations: int
    dtype: str


@dataclass(frozen=True)
class Limits:
    """Of one GPU: bytes per second of a copy (read and written), operations per second of a product by dtype, bytes of L2."""

    gpu: str
    copy: float
    products: Mapping[str, float]
    l2: int = 0

    def least(self, demand: Demand) -> float:
        """Seconds that moving the bytes or doing the operations takes, whichever is longer: both can go on at once."""
        return max(demand.bytes / self.copy, self._products(demand))

    def bound(self, demand: Demand) -> str:
        """Which of the two it is."""
        return "products" if self._products(demand) > demand.bytes / self.copy else "bytes"

    def impossible(self, seconds: float, demand: Demand) -> bool:
        """Whether no launch can have taken so little. What still lies in the L2 when it ends need not have reached the memory."""
        return seconds * BEYOND < self.least(replace(demand, bytes=max(0, demand.bytes - self.l2)))

    def _products(self, demand: Demand) -> float:
        return demand.operations / self.products[demand.dtype] if demand.operations else 0.0


# what a copy and a product reach of their data sheet: 4250 of 4800 GB/s and 686 of 989 TFLOP/s, measured on one H200
COPY_REACHES, PRODUCT_REACHES = 0.885, 0.69


def _sheet(name: str, gbytes: float, tflops_16: float, tflops_32: float) -> Limits:
    reached = {dtype: (tflops_32 if dtype == "float32" else tflops_16) * 1e12 * PRODUCT_REACHES for dtype in DTYPES}
    return Limits(name, gbytes * 1e9 * COPY_REACHES, reached)


SHEETS: tuple[Limits, ...] = (
    _sheet("T4", 320, 8.1, 8.1),
    _sheet("A100", 1555, 312, 156),
    _sheet("L4", 300, 121, 60),
    _sheet("H100", 3350, 989, 495),
)
"""NVIDIA's data sheets: T4, A100 40GB SXM, L4, H100 SXM; dense products, in float32 as TF32. On a T4 Triton uses no tensor cores: there
the rate is that of float32. Bytes and operations both times what an H200 reaches of its own sheet."""
OBSERVED = (
    "Held against an H200 once, by the same rule: with 16,384 tokens cuDNN's attention took 1.1 times as long (D = 128, not causal), the course's "
    "plain attention 2.0 to 3.1 times, its softmax of long rows 1.5 to 3.9 times."
)


# ------------------------------------------------------------------------------------------------------------- a case


def demand(puzzle: Puzzle, case: Case) -> Demand:
    """No kernel does with less. The tensors are not allocated; parts of them that the budget leaves out do not count."""
    launch, allowed = without_numbers(puzzle, case), puzzle.budget(case)
    moved = 0
    for name, tensor in launch.arguments.items():
        if isinstance(tensor, torch.Tensor):
            whole, allowance = tensor.numel() * tensor.element_size(), allowed[name]
            moved += min(allowance.loaded, whole) + min(allowance.stored, whole)
    work = WORK.get(puzzle.name)
    return Demand(moved, work.products(case) if work else 0, case.dtype)


# --------------------------------------------------------------------------------------------------------- this machine


def measured_limits(measure: Callable[[], Limits] | None = None) -> Limits:
    """Those of this machine's GPU: as they were measured before, else measured now and kept."""
    path, here = workspace.find().ours / FILE, _here()
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept.pop("measured on") == here:
            return Limits(**kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # none yet, or from another version of the course
    return _kept((measure or _measure)())


def measured_again(limits: Limits, measure: Callable[[], Limits] | None = None) -> Limits:
    """The higher of these limits and of those measured now, kept. Something else may have used the GPU the first time."""
    now = (measure or _measure)()
    products = {dtype: max(rate, limits.products[dtype]) for dtype, rate in now.products.items()}
    return _kept(replace(now, copy=max(now.copy, limits.copy), products=products))


def _here() -> str:
    return f"{gpu.device_name()}, torch {torch.__version__}"


def _kept(limits: Limits) -> Limits:
    document = json.dumps({"measured on": _here(), **asdict(limits)}, indent=1)
    with contextlib.suppress(OSError):  # then they are measured anew the next time
        workspace.write_atomically(workspace.find().ours / FILE, document)
    return limits


def _measure() -> Limits:
    device = torch.cuda.current_device()
    source = torch.empty(COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * COPIED / time_call(lambda: target.copy_(source)).median
    products = {}
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        for name, dtype in DTYPES.items():
            a = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.float32).to(dtype)
            out = torch.empty_like(a)
            products[name] = 2 * SIDE**3 / time_call(lambda a=a, out=out: torch.mm(a, a, out=out)).median  # type: ignore[misc]
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    l2 = torch.cuda.get_device_properties(device).L2_cache_size
    return Limits(gpu.device_name(), copy, products, l2)


def share(part: float, whole: float) -> str:
    """``63 %``, and nothing of nothing."""
    return f"{100 * part / whole:.0f} %" if whole and math.isfinite(whole) else ""
