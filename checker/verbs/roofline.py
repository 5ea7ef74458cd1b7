"""The least time a case can take on a GPU: moving its bytes at the speed of a copy, multiplying at that of a matrix product.

Both speeds are measured once on this machine's GPU and saved; for other GPUs they come from data sheets.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import torch

from checker import gpu, workspace
from checker.course.work import WORK
from checker.judge.launches import without_numbers
from checker.puzzle import DTYPES, Case, Puzzle
from checker.verbs.timing import time_call

FILE = "gpu-limits.json"
SIDE = 8192
"""Rows of the square matrices to multiply: large enough for any GPU, 0.4 GB in float32."""
COPIED = 1 << 29
"""Bytes of the tensor to copy, far more than any L2."""
BEYOND = 1.15
"""How far a time may beat the measured limits. A cool GPU is up to 15 % faster than the warm one on which they were measured
(cuDNN on an H200: first launch against the median of many)."""


@dataclass(frozen=True)
class Demand:
    """The least work in a case: reading every input once, writing every output once, and the products."""

    bytes: int
    operations: int
    dtype: str


@dataclass(frozen=True)
class Limits:
    """A GPU's limits: bytes per second of a copy (read and written), operations per second of a product by dtype, bytes of L2."""

    gpu: str
    copy: float
    products: Mapping[str, float]
    l2: int = 0

    def least(self, demand: Demand) -> float:
        """Seconds for moving the bytes or for the operations, whichever is longer, since they can overlap."""
        return max(demand.bytes / self.copy, self._products(demand))

    def bound(self, demand: Demand) -> str:
        """Whether the bytes or the products take longer."""
        return "products" if self._products(demand) > demand.bytes / self.copy else "bytes"

    def impossible(self, seconds: float, demand: Demand) -> bool:
        """Whether no launch can be so fast. Bytes that are still in the L2 at the end need not have reached memory."""
        return seconds * BEYOND < self.least(replace(demand, bytes=max(0, demand.bytes - self.l2)))

    def _products(self, demand: Demand) -> float:
        return demand.operations / self.products[demand.dtype] if demand.operations else 0.0


# the fractions of the data sheet that a copy and a product reach: 4250 of 4800 GB/s and 686 of 989 TFLOP/s, measured on one H200
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
"""From NVIDIA's data sheets of T4, A100 40GB SXM, L4 and H100 SXM: dense products, with float32 as TF32. Triton uses no tensor
cores on a T4, so it gets the rate of float32. All are scaled by the fractions above."""
OBSERVED = (
    "How close do kernels get? On an H200 with 16,384 tokens, cuDNN's attention took 1.1 times such a prediction (D = 128, not causal), the "
    "course's plain attention 2.0 to 3.1 times, and its softmax of long rows 1.5 to 3.9 times."
)


def demand(puzzle: Puzzle, case: Case) -> Demand:
    """The least work in a case, without allocating tensors. Parts of a tensor that its budget excludes do not count."""
    launch, allowed = without_numbers(puzzle, case), puzzle.budget(case)
    moved = 0
    for name, tensor in launch.arguments.items():
        if isinstance(tensor, torch.Tensor):
            whole, allowance = tensor.numel() * tensor.element_size(), allowed[name]
            moved += min(allowance.loaded, whole) + min(allowance.stored, whole)
    work = WORK.get(puzzle.name)
    return Demand(moved, work.products(case) if work else 0, case.dtype)


# --- this machine --------------------------------------------------------------------------------------------------------


def measured_limits() -> Limits:
    """The limits of this machine's GPU: from the saved file, or measured now and saved."""
    path, here = workspace.find().ours / FILE, _here()
    try:
        saved = json.loads(path.read_text("utf-8"))
        if saved.pop("measured on") == here:
            return Limits(**saved)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # there is no file, or one from another version of the course
    return _save(_measure())


def measured_again(limits: Limits) -> Limits:
    """Measure again, and save the higher limits: something else may have used the GPU the first time."""
    now = _measure()
    products = {dtype: max(rate, limits.products[dtype]) for dtype, rate in now.products.items()}
    return _save(replace(now, copy=max(now.copy, limits.copy), products=products))


def _here() -> str:
    return f"{gpu.device_name()}, torch {torch.__version__}"


def _save(limits: Limits) -> Limits:
    document = json.dumps({"measured on": _here(), **asdict(limits)}, indent=1)
    with contextlib.suppress(OSError):  # they will be measured again next time
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
    """``63 %``, or nothing if `whole` is zero or infinite."""
    return f"{100 * part / whole:.0f} %" if whole and math.isfinite(whole) else ""
