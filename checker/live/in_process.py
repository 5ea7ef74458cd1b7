"""A runner without a sandbox: in the caller's own process, for a page in a browser, which is a sandbox itself, and for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from cachetools import LRUCache, cachedmethod
from triton import JITFunction

from checker.compiler import CompileRequest, CompileResult
from checker.judge.runner import RunResult
from checker.judge.verdict import Status
from checker.puzzle import Launch, Scalar
from checker.simulator import SimulationError, simulate, simulate_together
from checker.simulator.trace import SimulateOptions
from checker.submission.kernel import KernelSource
from checker.submission.load import load_kernel


class InProcess:
    """Compiles and simulates in this process; without `compiles` every compile is taken to have worked."""

    def __init__(self, directory: Path, compiles: bool = True) -> None:
        self.directory, self.compiles = directory, compiles
        self.simulated = 0
        self.loaded: LRUCache[str, JITFunction] = LRUCache(16)

    @cachedmethod(lambda self: self.loaded, key=lambda self, kernel: kernel.source)
    def load(self, kernel: KernelSource) -> JITFunction:
        """The kernel, whose module is imported once: a verdict runs it dozens of times."""
        return load_kernel(kernel, self.directory)

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        from checker.compiler import compile_kernel

        function = self.load(kernel) if self.compiles else None
        for request in requests:
            yield compile_kernel(function, request) if function is not None else CompileResult(request, ok=True)

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]:
        function = self.load(kernel)
        copies = [replace(one, arguments={k: copied(v) for k, v in one.arguments.items()}) for one in launches]
        traces = (
            simulate_together(function, copies, 10.0)
            if options == SimulateOptions(together=True)
            else [None] * len(copies)
        )
        for own, known in zip(copies, traces, strict=True):
            self.simulated += 1
            try:
                trace = known or simulate(function, own, options)
            except SimulationError as error:
                yield RunResult(cast(Status, error.status), message=error.message, detail=error.detail, line=error.line)
                return
            yield RunResult("passed", {k: v for k, v in own.arguments.items() if isinstance(v, torch.Tensor)}, trace)

    def call(self, source: KernelSource, calls: Sequence[Launch], *, on_gpu: bool) -> Iterator[RunResult]:
        return iter([RunResult("infra_error", message="A page judges kernels, and no functions around them.")])

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]:
        yield RunResult("infra_error", message="this runner has no GPU")


def copied(value: torch.Tensor | Scalar) -> torch.Tensor | Scalar:
    """A tensor with a storage of its own, of the same size, laid out in the same way."""
    if not isinstance(value, torch.Tensor):
        return value
    count = value.untyped_storage().nbytes() // value.element_size()
    whole = torch.as_strided(value, (count,), (1,), 0).clone()
    return torch.as_strided(whole, value.shape, value.stride(), value.storage_offset())
