"""What the judge needs from a runner of kernels. The sandbox implements it; the judge never runs a kernel itself.

`at_most` bounds the threads of the judge's own arithmetic.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
class Passed:
    """A tensor that a launch passed: its type and geometry, and the address where it starts."""

    type: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class Launched:
    """A launch that a function made at a `line`: its kernel, whose `parameters` are named, its grid, and the whole numbers and tensors."""

    kernel: str
    parameters: tuple[str, ...]
    grid: tuple[int, ...]
    numbers: Mapping[str, int]
    tensors: Mapping[str, Passed]
    line: int | None = None


@dataclass(frozen=True)
class Noticed:
    """Something that went wrong in a kernel or around it, at a line of the source: what, and what to do about it.

    `names` are those of the launch's numbers that it is about.
    """

    what: str
    advice: str
    line: int | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallReport:
    """What a function around kernels did, as the process says that ran it. Its outputs are compared elsewhere.

    `launches` of each step; what was `noticed` in them; where it `read` a number of its inputs; the address that each step `returned`;
    and how long a call took, by name.
    """

    launches: tuple[tuple[Launched, ...], ...] = ()
    noticed: tuple[Noticed, ...] = ()
    read: Noticed | None = None
    returned: tuple[int, ...] = ()
    timings: Mapping[str, Timing] = field(default_factory=dict)


@dataclass(frozen=True)
class RunResult:
    """One launch, or the reason why it did not run.

    `tensors` holds every tensor argument after the launch, by parameter. The status is ``passed`` if the kernel ran to its end,
    whatever it computed. `line` is a line of `KernelSource.source`. A launch that was only timed has a `timing`, and a call of a
    function around kernels is `called`.
    """

    status: Status
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)
    trace: Trace | None = None
    message: str = ""
    detail: str = ""
    line: int | None = None
    seconds: float = 0.0
    timing: Timing | None = None
    called: CallReport | None = None


class Runner(Protocol):
    """Runs kernels somewhere safe and leaves the launches' own tensors unchanged.

    Results come in order. A failed compilation does not stop the next one, but after a launch that fails no further one runs.

    `compile` may begin at once; compilations `aside` leave the processors to other work, because nobody waits for them yet.
    `launch` takes the next launch while the GPU works on the last one, so a generator can prepare large ones at no extra cost.
    `call` runs the source's function around kernels on what would be a launch's arguments, here or `on_gpu`.
    """

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]: ...

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions
    ) -> Iterator[RunResult]: ...

    def launch(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[RunResult]: ...

    def call(self, source: KernelSource, calls: Sequence[Launch], *, on_gpu: bool) -> Iterator[RunResult]: ...


def session(runner: Runner, *, gpu: bool, hurry: bool) -> AbstractContextManager[Runner]:
    """`runner` for the calls of one verdict, which share work if it can do that. In a `hurry` it uses all processors, else one."""
    opened = getattr(runner, "session", None)
    return nullcontext(runner) if opened is None else opened(gpu=gpu, hurry=hurry)


FEW_THREADS = 4
"""For tensors of many megabytes. More threads gain little, and take processors from other verdicts."""
_lock = threading.Lock()
_counts = threading.local()
"""The counts that hold in each thread, one inside the other."""
_inside = 0
_usual = 1


@contextmanager
def at_most(count: int) -> Iterator[None]:
    """Inside, torch uses at most `count` threads, and afterwards as many as before. Safe in several threads at once.

    Tensors of ordinary cases need 1: on a busy machine, more threads spend their time waiting for each other.
    """
    global _inside, _usual
    with _lock:
        if _inside == 0:
            _usual = torch.get_num_threads()
        _inside += 1
    own: list[int] = vars(_counts).setdefault("own", [])
    own.append(count)
    torch.set_num_threads(min(count, _usual))
    try:
        yield
    finally:
        own.pop()
        with _lock:
            _inside -= 1
            if own or not _inside:  # otherwise another thread has set what it needs
                torch.set_num_threads(min([*own[-1:], _usual]))
