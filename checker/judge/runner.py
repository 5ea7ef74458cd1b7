"""What the judge needs from a runner of kernels. The sandbox implements it; the judge never runs a kernel itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import torch

from checker.compiler import CompileRequest, CompileResult
from checker.gpu import Timing
from checker.judge.verdict import Status
from checker.puzzle import Launch
from checker.simulator.trace import SimulateOptions, Trace
from checker.submission.kernel import KernelSource


@dataclass(frozen=True)
class RunResult:
    """One launch, or why it did not run.

    `tensors` holds every tensor argument after the launch, by parameter. `status` is ``passed`` if the kernel ran to its end,
    whatever it computed. `line` is a line of `KernelSource.source`. `timing` is there if the launch was only timed.
    """

    status: Status
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)
    trace: Trace | None = None
    message: str = ""
    detail: str = ""
    line: int | None = None
    seconds: float = 0.0
    timing: Timing | None = None


class Runner(Protocol):
    """Runs kernels somewhere safe. Results come in order. A failed compilation stops no other, but a launch that does not pass is
    the last.

    `compile` may begin at once; compilations `aside` leave the processors to other work, because nobody waits for them yet. The
    launches' own tensors stay as they are. `launch` takes the next launch while the GPU works on the last one, so a generator that
    prepares large ones costs no extra time.
    """

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]: ...

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]: ...

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]: ...


def session(runner: Runner, *, gpu: bool, hurry: bool) -> AbstractContextManager[Runner]:
    """`runner` for the calls of one verdict, which share work if it can do that. In a `hurry` it uses all processors, else one."""
    opened = getattr(runner, "session", None)
    return nullcontext(runner) if opened is None else opened(gpu=gpu, hurry=hurry)
