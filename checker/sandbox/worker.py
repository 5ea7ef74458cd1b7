"""The warm worker: imports everything once, then forks a job whenever it is asked to. It never runs foreign code itself.

Started by `Sandbox` as ``python -m checker.sandbox.worker FD FOLDER LAYERS``; FD is the control socket, LAYERS those it may
use, joined by ``+``. It ends when that closes.
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
from typing import Any

from checker.sandbox import codec, isolation, probe, supervisor, syscalls
from checker.sandbox.isolation import Wall
from checker.sandbox.limits import Limits
from checker.sandbox.wire import Channel, Closed, Frame

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
        """Fork a job per frame until the other side goes away."""
        while True:
            while not select.select([self.control], [], [], _ROUND)[0]:
                self._reap()
            try:
                frame = self.control.receive()
            except Closed:
                return
            try:
                self._answer(frame)
            finally:
                for fd in frame.fds:
                    os.close(fd)
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

    def _answer(self, frame: Frame) -> None:
        data, report = (socket.socket(fileno=os.dup(fd)) for fd in frame.fds)
        with data, report:
            spec, limits = frame.body, codec.decode(Limits, frame.body["limits"], ())
            gpu = spec["kind"] in ("launch", "time")
            try:
                layers = self._layers(gpu, limits)
                self.start(spec, limits, layers, data, report, lambda channel, folder: _run(channel, folder, spec))
            except (OSError, RuntimeError) as error:
                Channel(report).send({"type": "broken", "layer": "", "message": str(error)})

    def _layers(self, gpu: bool, limits: Limits) -> frozenset[str]:
        if not gpu:
            return self.layers
        if self.gpu_layers is None:
            self.gpu_layers = probe.strongest_with_gpu(self, self.layers, limits)
        return self.gpu_layers

    def start(
        self,
        spec: dict[str, Any],
        limits: Limits,
        layers: frozenset[str],
        data: socket.socket,
        report: socket.socket,
        body: Callable[[Channel, Path], None],
    ) -> None:
        """Fork one job. `body` gets the channel to the trusted side and the job's own folder."""
        self.started += 1
        gpu = spec["kind"] in ("launch", "time", "probe_gpu")
        wall = Wall(
            layers=layers,
            folder=self.folder / f"job-{self.started}",
            gpu=gpu,
            may_start_programs=gpu or spec["kind"] == "compile",
            cpu_seconds=int(spec["cpu_seconds"]),
            memory=limits.memory + int(spec.get("bytes", 0)),
            limits=limits,
        )

        def inside(channel: Channel) -> None:
            self.control.close()
            body(channel, wall.folder)

        self.supervisors.add(supervisor.start(wall, data, report, inside))


def _run(channel: Channel, folder: Path, spec: dict[str, Any]) -> None:
    from checker.sandbox import jobs

    jobs.run(channel, folder, spec)


def main(arguments: list[str]) -> None:
    began = time.perf_counter()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
    syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
    control = Channel(socket.socket(fileno=int(arguments[0])))
    try:
        from checker.sandbox.warm import warm_up

        warm_up(Path(arguments[1]))
    except Exception as error:
        control.send({"type": "broken", "layer": "", "message": f"{type(error).__name__}: {error}"})
        raise
    worker = Worker(control, Path(arguments[1]), isolation.possible() & set(arguments[2].split("+")))
    worker.layers, gaps = probe.strongest(worker, worker.layers)
    if (
        "memory" in gaps
    ):  # the process that started us can make itself unreadable, at a price: debuggers cannot attach to it
        control.send({"type": "exposed"})
        control.receive()
        worker.layers, gaps = probe.strongest(worker, worker.layers)
    control.send(
        {
            "type": "ready",
            "layers": sorted(worker.layers),
            "gaps": sorted(gaps),
            "threads": len(os.listdir("/proc/self/task")),
            "seconds": time.perf_counter() - began,
        }
    )
    worker.serve()


if __name__ == "__main__":
    main(sys.argv[1:])
