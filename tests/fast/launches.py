"""The fast solutions' own launchers on a machine without a GPU: each launch is caught, and simulated or compiled instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest
import torch
from triton import JITFunction

from checker.compiler import CompileRequest, requests_for
from checker.compiler.request import POINTERS
from checker.puzzle import Launch
from checker.simulator import simulate
from solutions.fast import attention, attention_backward, attention_fp8, attention_split, linear_attention, softmax

MODULES: tuple[ModuleType, ...] = (
    softmax,
    attention,
    attention_backward,
    attention_fp8,
    attention_split,
    linear_attention,
)
OPTIONS = ("num_warps", "num_stages", "maxnreg", "launch_cooperative_grid")
HOPPER = 90

Run = Callable[[JITFunction, Launch], None]


class Caught:
    """Stands for a kernel: `kernel[grid](...)` binds the arguments and hands a `Launch` to `run`."""

    def __init__(self, kernel: JITFunction, run: Run) -> None:
        self.kernel, self.run = kernel, run

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        def call(*args: Any, **keywords: Any) -> None:
            options = {name: keywords.pop(name) for name in OPTIONS if keywords.get(name) is not None}
            keywords = {name: value for name, value in keywords.items() if name not in OPTIONS}
            bound = inspect.signature(self.kernel.fn).bind(*args, **keywords).arguments
            constants = {p.name for p in self.kernel.params if p.is_constexpr}
            # an argument that is None is a constant to Triton
            meta = {name: value for name, value in bound.items() if name in constants or value is None}
            arguments = {name: value for name, value in bound.items() if name not in meta}
            written = tuple(name for name, value in arguments.items() if isinstance(value, torch.Tensor))
            self.run(self.kernel, Launch(grid, arguments, meta, written, options))

        return call


@contextmanager
def caught(run: Run, multiprocessors: int = 3) -> Iterator[None]:
    """Every launch of the fast solutions goes to `run`, as if the GPU had so many multiprocessors."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            for name, value in vars(module).copy().items():
                if isinstance(value, JITFunction) and name.endswith("_kernel"):
                    patch.setattr(module, name, Caught(value, run))
            patch.setattr(module, "multiprocessors", lambda device: multiprocessors, raising=False)
        yield


def simulated(kernel: JITFunction, launch: Launch) -> None:
    """Run a launch in the course's simulator; its tensors are changed in place. Fails where something was found in it."""
    found = simulate(kernel, launch).findings
    # the launch does not say which tensors are outputs; the comparison of values does
    defects = [f for f in found if f.kind != "unwritten"]
    assert not defects, f"{kernel.__name__}: {defects}"


def requests(work: Callable[[], object], multiprocessors: int = 132) -> dict[str, tuple[JITFunction, CompileRequest]]:
    """What `work` would launch, by the kernel's name, as requests to compile it for a Hopper GPU."""
    found: dict[str, tuple[JITFunction, CompileRequest]] = {}

    def note(kernel: JITFunction, launch: Launch) -> None:
        found[kernel.__name__] = kernel, requests_for(launch, kernel.arg_names, [HOPPER])[0]

    with caught(note, multiprocessors), pytest.MonkeyPatch.context() as patch:
        patch.setitem(POINTERS, torch.float8_e4m3fn, "*fp8e4nv")  # no kernel of the ladder's takes it
        work()
    return found
