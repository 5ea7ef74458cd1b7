"""Run the fast solutions' launchers without a GPU: intercept each launch, and simulate or compile it instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from triton import JITFunction

from checker.compiler import CompileRequest, requests_for
from checker.compiler.request import POINTERS
from checker.puzzle import Launch
from checker.simulator import simulate
from solutions.fast import (
    attention,
    attention_backward,
    attention_fp8,
    attention_split,
    delta_rule,
    linear_attention,
    softmax,
)

MODULES = (softmax, attention, attention_backward, attention_fp8, attention_split, linear_attention, delta_rule)
OPTIONS = ("num_warps", "num_stages", "maxnreg", "launch_cooperative_grid", "launch_pdl")
HOPPER = 90

Run = Callable[[JITFunction, Launch], None]


class Caught:
    """A substitute for a kernel: `kernel[grid](...)` binds the arguments and passes a `Launch` to `run`."""

    def __init__(self, kernel: JITFunction, run: Run) -> None:
        self.kernel, self.run = kernel, run

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def call(*args: Any, **keywords: Any) -> None:
            options = {name: keywords.pop(name) for name in OPTIONS if keywords.get(name) is not None}
            keywords = {name: value for name, value in keywords.items() if name not in OPTIONS}
            bound = inspect.signature(self.kernel.fn).bind(*args, **keywords).arguments
            constants = {p.name for p in self.kernel.params if p.is_constexpr}
            # Triton treats None as a constant.
            meta = {name: value for name, value in bound.items() if name in constants or value is None}
            arguments = {name: value for name, value in bound.items() if name not in meta}
            written = tuple(name for name, value in arguments.items() if isinstance(value, torch.Tensor))
            self.run(self.kernel, Launch(grid, arguments, meta, written, options))

        return call


@contextmanager
def caught(run: Run, multiprocessors: int = 3) -> Iterator[None]:
    """Send every launch of the fast solutions to `run`, as if the GPU had this many multiprocessors."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            for name, value in vars(module).copy().items():
                if isinstance(value, JITFunction) and name.endswith("_kernel"):
                    patch.setattr(module, name, Caught(value, run))
            patch.setattr(module, "multiprocessors", lambda device: multiprocessors, raising=False)
        yield


def simulated(kernel: JITFunction, launch: Launch) -> None:
    """Simulate a launch, which changes its tensors in place, and fail if the simulator finds a defect."""
    # The launch does not name its outputs, so the comparison of values decides whether they are complete.
    defects = [f for f in simulate(kernel, launch).findings if f.kind != "unwritten"]
    assert not defects, f"{kernel.__name__}: {defects}"


def requests(work: Callable[[], object], multiprocessors: int = 132) -> dict[str, tuple[JITFunction, CompileRequest]]:
    """The launches of `work` as requests to compile for Hopper, by the kernel's name."""
    made: dict[str, tuple[JITFunction, CompileRequest]] = {}

    def note(kernel: JITFunction, launch: Launch) -> None:
        made[kernel.__name__] = kernel, requests_for(launch, kernel.arg_names, [HOPPER])[0]

    with caught(note, multiprocessors), pytest.MonkeyPatch.context() as patch:
        patch.setitem(POINTERS, torch.float8_e4m3fn, "*fp8e4nv")  # no kernel in the ladder takes it
        work()
    return made
