"""What the judge needs from whoever runs kernels. The sandbox implements it; the judge never runs a kernel itself."""

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
    """One launch that was run, or why it was not.

    `tensors` holds every tensor argument after the launch, by parameter. `status` is ``passed`` where the kernel ran to its
    end, whatever it computed. `line` is a line of `KernelSource.source`.
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
    """Runs kernels somewhere safe. Results come in the order asked for. A compilation that fails stops no other; of launches,
    the first result that is not ``passed`` is the last.

    `compile` begins at once. What is compiled `aside` leaves the processors to other work: nobody waits for it yet.
    The tensors of the launches asked for are left as they are. `launch` takes the next launch while the GPU works on the last one,
    so a generator that prepares large ones costs no time of its own.
    """

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]: ...

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]: ...

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]: ...


def session(runner: Runner, *, gpu: bool, hurry: bool) -> AbstractContextManager[Runner]:
    """`runner` for the calls of one verdict, with a GPU or without: where it has a way to share work between them, it does.

    In a `hurry` it uses all processors, and else one.
    """
    opened = getattr(runner, "session", None)
    return nullcontext(runner) if opened is None else opened(gpu=gpu, hurry=hurry)
