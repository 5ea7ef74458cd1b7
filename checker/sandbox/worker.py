"""The warm worker: imports everything once, then forks a job whenever it is asked to. It never runs foreign code itself.

Started by `WorkerProcess` as ``python -m checker.sandbox.worker FD FOLDER LAYERS``; FD is the control socket, LAYERS those it
may use, joined by ``+``. It ends when that closes.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from checker.sandbox import isolation, linux, self_test, supervisor
from checker.sandbox.isolation import Confinement, Limits
from checker.sandbox.protocol import Broken, Channel, Closed, Exposed, Hidden, JobSpec, WorkerReady

_ROUND = 1.0


@dataclass
class Worker:
    """The control loop and what it knows about this machine."""

    control: Channel
    folder: Path
    layers: frozenset[str]
    gpu_layers: frozenset[str] | None = None
    started: int = 0
    supervisors: set[int] = field(default_factory=set)

    def serve(self) -> None:
        """Fork a job per `JobSpec` until the other side goes away."""
        while True:
            while not select.select([self.control], [], [], _ROUND)[0]:
                self._reap()
            try:
                spec, fds = self.control.receive_with_fds(JobSpec)
            except Closed:
                return
            data, report = (socket.socket(fileno=fd) for fd in fds)
            with data, report:
                self._answer(spec, data, report)
            self._reap()

    def _reap(self) -> None:
        """Collect ended supervisors; without namespaces, end what outlived one that was killed and so came to us."""
        if isolation.NAMESPACES not in self.layers:
            children = Path("/proc/self/task", str(os.getpid()), "children").read_text().split()
            for pid in {int(child) for child in children} - self.supervisors:
                os.kill(pid, signal.SIGKILL)
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self.supervisors.discard(pid)
        except ChildProcessError:
            self.supervisors.clear()

    def _answer(self, spec: JobSpec, data: socket.socket, report: socket.socket) -> None:
        def run(channel: Channel, folder: Path) -> None:
            from checker.sandbox import job_main

            job_main.run(channel, folder, spec.task)

        try:
            if spec.gpu and self.gpu_layers is None:
                self.gpu_layers = self_test.strongest_gpu_layers(self.trial(gpu=True), self.layers)
            layers = self.gpu_layers if spec.gpu else self.layers
            self._start(spec, layers or frozenset(), data, report, run)
        except (OSError, RuntimeError) as error:
            Channel(report).send(Broken(str(error)[:2000]))

    def trial(self, *, gpu: bool) -> self_test.StartJob:
        """What starts a job that runs our own code to see what it can do."""
        spec = JobSpec(msgspec.Raw(), Limits(), cpu_seconds=30, gpu=gpu, may_start_programs=gpu)
        return lambda layers, data, report, run: self._start(
            spec, layers, data, report, lambda channel, _: run(channel)
        )

    def _start(
        self,
        spec: JobSpec,
        layers: frozenset[str],
        data: socket.socket,
        report: socket.socket,
        run: Callable[[Channel, Path], None],
    ) -> None:
        """Fork one job. `run` gets the channel to the trusted side and the job's own folder."""
        self.started += 1
        confinement = Confinement(
            layers=layers,
            folder=self.folder / f"job-{self.started}",
            gpu=spec.gpu,
            may_start_programs=spec.may_start_programs,
            cpu_seconds=int(spec.cpu_seconds),
            memory=spec.limits.memory + spec.memory,
            limits=spec.limits,
            cache=self.folder / f"{isolation.CACHE}-{spec.cache}" if spec.cache else None,
        )

        def inside(channel: Channel) -> None:
            self.control.close()
            run(channel, confinement.folder)

        self.supervisors.add(supervisor.start(confinement, data, report, inside))


def work(control: Channel, folder: Path, layers: str, trusted: int, began: float) -> None:
    """Be a worker, in a process that is warm: say what isolation holds, then serve. `trusted` is the process at the other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    worker = Worker(control, folder, isolation.available_layers() & set(layers.split("+")))
    found = self_test.strongest_layers(worker.trial(gpu=False), worker.layers, trusted)
    if "memory" in found.gaps:
        # the process that started us can make itself unreadable, at a price: debuggers cannot attach to it
        control.send(Exposed())
        control.receive(Hidden)
        found = self_test.strongest_layers(worker.trial(gpu=False), worker.layers, trusted)
    worker.layers, threads = found.layers, len(os.listdir("/proc/self/task"))
    in_force, gaps = tuple(sorted(found.layers)), tuple(sorted(found.gaps))
    control.send(WorkerReady(in_force, gaps, found.lost, threads, time.perf_counter() - began))
    worker.serve()


def main(arguments: list[str]) -> None:
    began = time.perf_counter()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control, folder = Channel(socket.socket(fileno=int(arguments[0]))), Path(arguments[1])
    try:
        from checker.sandbox.warm_up import warm_up

        warm_up(folder)
    except Exception as error:
        control.send(Broken(f"{type(error).__name__}: {error}"[:2000]))
        raise
    work(control, folder, arguments[2], os.getppid(), began)


if __name__ == "__main__":
    main(sys.argv[1:])
