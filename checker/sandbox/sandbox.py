"""`Sandbox`: compiles, simulates, launches and times kernels in another process, and mistrusts what comes back.

This module imports nothing heavy: torch is imported when the first work arrives.
"""

from __future__ import annotations

import atexit
import os
import platform
import secrets
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from checker.sandbox.jobs import INSIDE, Worker
from checker.sandbox.limits import LAYERS, Limits

if TYPE_CHECKING:
    from checker.compiler import CompileRequest, CompileResult
    from checker.gpu import Timing
    from checker.judge.runner import RunResult
    from checker.puzzle import Launch
    from checker.sandbox.session import Session
    from checker.simulator.trace import SimulateOptions
    from checker.submission.kernel import KernelSource


NO_ISOLATION = "no isolation"
"""A sandbox's tier where kernels run in a plain process: fine for your own code on your own machine."""


class Sandbox:
    """Runs learners' kernels; implements `checker.judge.runner.Runner`.

    Starting it is cheap: the worker warms up on its own, and the first job waits for it. Several threads may use it at once.
    """

    def __init__(self, limits: Limits | None = None, *, layers: Collection[str] = LAYERS) -> None:
        """`layers` are the isolation layers it may use; tests use fewer."""
        self.limits = limits or Limits()
        self.worker = _worker(self.limits.start, layers)
        self._compiled: dict[bytes, CompileResult] = {}
        _OPEN.add(self)

    @staticmethod
    def shared() -> Sandbox:
        """The one warm sandbox of this process. The first call starts its worker in the background.

        Everything that checks a learner's kernel gets its sandbox here, so this is where a platform's sandbox is chosen.
        """
        global _shared
        with _shared_lock:
            if _shared is None:
                _shared = Sandbox()
                if INSIDE not in os.environ:
                    _shared.start()
            return _shared

    def start(self) -> None:
        """Start the worker and return at once."""
        self.worker.start()

    def close(self) -> None:
        """End the worker and all its jobs. A sandbox that is used again starts a new worker."""
        self.worker.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tier(self) -> str:
        """The isolation layers in force (see `limits.py`), e.g. ``namespaces+landlock+seccomp+rlimits``; or `NO_ISOLATION`."""
        layers = self.worker.wait_ready().layers
        return "+".join((*layers, "rlimits")) if _has_isolation() else NO_ISOLATION

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a trial job could do although it should not (names in `limits.GAPS`); empty if the isolation holds."""
        return self.worker.wait_ready().gaps

    @property
    def lost(self) -> tuple[str, ...]:
        """Why layers that this machine seems to offer are not in force, one reason each."""
        return self.worker.wait_ready().lost

    def session(self, *, gpu: bool = False, hurry: bool = True) -> Session:
        """A runner for one verdict, whose calls share jobs; with `gpu`, compilations go to its launches.

        In a `hurry` each call is spread over all processors: more jobs have to start, so the result comes sooner and costs more.
        """
        from checker.sandbox.session import Session

        cache, width = secrets.token_hex(8) if gpu else "", (os.cpu_count() or 1) if hurry else 1
        return Session(self.worker, self.limits, self._compiled, cache, width)

    def compile(
        self, kernel: KernelSource, requests: Sequence[CompileRequest], *, aside: bool = False
    ) -> Iterator[CompileResult]:
        """As `Session.compile`, in jobs of its own, but work begins with the first result that is asked for."""
        with self.session() as session:
            yield from session.compile(kernel, requests, aside=aside)

    def simulate(
        self, kernel: KernelSource, launches: Sequence[Launch], options: SimulateOptions | None = None
    ) -> Iterator[RunResult]:
        """As `Session.simulate`, in jobs of its own."""
        with self.session() as session:
            yield from session.simulate(kernel, launches, options)

    def launch(self, kernel: KernelSource, launches: Iterable[Launch], ahead: int = 2) -> Iterator[RunResult]:
        """As `Session.launch`, in a job of its own."""
        with self.session() as session:
            yield from session.launch(kernel, launches, ahead)

    def call(self, source: KernelSource, calls: Sequence[Launch], *, on_gpu: bool) -> Iterator[RunResult]:
        """As `Session.call`."""
        with self.session() as session:
            yield from session.call(source, calls, on_gpu=on_gpu)

    def time(self, kernel: KernelSource, launches: Iterable[Launch]) -> Iterator[Timing]:
        """As `Session.time`."""
        with self.session() as session:
            yield from session.time(kernel, launches)


def _has_isolation() -> bool:
    return platform.system() == "Linux"


def _worker(start_seconds: float, layers: Collection[str]) -> Worker:
    """This platform's: jobs that are isolated, where we know how, otherwise processes that only keep crashes and loops away."""
    if _has_isolation():
        from checker.sandbox.client import WorkerProcess

        return WorkerProcess(start_seconds, layers)
    from checker.sandbox.plain import PlainWorkers

    return PlainWorkers(start_seconds)


_shared: Sandbox | None = None
_shared_lock = threading.Lock()
_OPEN: weakref.WeakSet[Sandbox] = weakref.WeakSet()


def _each_open(action: Callable[[Worker], None]) -> None:
    for sandbox in list(_OPEN):
        action(sandbox.worker)


def _after_fork() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    _each_open(lambda worker: worker.after_fork())


atexit.register(_each_open, lambda worker: worker.close())
if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_after_fork)
