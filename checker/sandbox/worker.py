"""The warm worker: it imports everything once, then forks a job for each request. It never runs untrusted code itself.

`WorkerProcess` starts it as ``python -m checker.sandbox.worker FD FOLDER LAYERS``: FD is the control socket, and LAYERS are the
isolation layers it may use, joined by ``+``. It ends when the socket closes.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from checker.sandbox import isolation, linux, probe, supervisor
from checker.sandbox.isolation import Confinement
from checker.sandbox.late_import import import_torch_sooner
from checker.sandbox.limits import CACHE, NAMESPACES, Limits
from checker.sandbox.protocol import Broken, Channel, Closed, Exposed, Hidden, JobSpec, Task, WorkerReady
from checker.submission.kernel import KernelSource

_ROUND = 1.0


@dataclass
class Worker:
    """The control loop, and the layers that hold on this machine."""

    control: Channel
    folder: Path
    layers: frozenset[str]
    gpu_layers: frozenset[str] | None = None
    started: int = 0
    supervisors: set[int] = field(default_factory=set)

    def serve(self) -> None:
        """Fork a job for each `JobSpec` until the other side closes the socket."""
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
        """Collect ended supervisors. Without namespaces, also kill whatever outlived a supervisor and so became our child."""
        if NAMESPACES not in self.layers:
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
            from checker.sandbox import job

            job.run(channel, folder, spec.task)

        try:
            if spec.task.gpu and self.gpu_layers is None:
                self.gpu_layers = probe.strongest_gpu_layers(self.trial(gpu=True), self.layers)
            layers = self.gpu_layers if spec.task.gpu else self.layers
            self._start(spec, layers or frozenset(), data, report, run)
        except (OSError, RuntimeError) as error:
            Channel(report).send(Broken(str(error)[:2000]))

    def trial(self, *, gpu: bool) -> probe.StartJob:
        """Starts jobs that run our own code, to see what a job can do."""
        spec = JobSpec(Task("launch" if gpu else "simulate", KernelSource("", "", "", ())), Limits())
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
        """Fork one job, which calls `run` with its channel to the trusted side and its own folder."""
        self.started += 1
        confinement = Confinement(
            layers=layers,
            folder=self.folder / f"job-{self.started}",
            gpu=spec.task.gpu,
            programs=spec.task.programs,
            memory=spec.limits.memory + spec.memory,
            limits=spec.limits,
            cache=self.folder / f"{CACHE}-{spec.cache}" if spec.cache else None,
        )

        def inside(channel: Channel) -> None:
            self.control.close()
            run(channel, confinement.folder)

        self.supervisors.add(supervisor.start(confinement, data, report, inside))


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control, folder = Channel(socket.socket(fileno=int(arguments[0]))), Path(arguments[1])
    import_torch_sooner()
    try:
        from checker.sandbox import job  # heavy, and every job has it from its fork on

        job.warm_up(folder)
    except Exception as error:
        control.send(Broken(f"{type(error).__name__}: {error}"[:2000]))
        raise
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
    trusted = os.getppid()
    worker = Worker(control, folder, isolation.available_layers() & set(arguments[2].split("+")))
    holding = probe.strongest_layers(worker.trial(gpu=False), worker.layers, trusted)
    if "memory" in holding.gaps:
        # the trusted process can make itself unreadable, at a price: debuggers cannot attach to it
        control.send(Exposed())
        control.receive(Hidden)
        holding = probe.strongest_layers(worker.trial(gpu=False), worker.layers, trusted)
    worker.layers = holding.layers
    control.send(WorkerReady(tuple(sorted(holding.layers)), tuple(sorted(holding.gaps)), holding.lost))
    worker.serve()
    os._exit(0)  # to unload torch takes seconds on a busy machine, and whoever closed the socket waits


if __name__ == "__main__":
    main(sys.argv[1:])
