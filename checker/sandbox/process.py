"""The worker's process as the trusted side sees it: start it, hand it jobs, notice its death, start it again.

Imports nothing heavy, so that `import checker` can start a worker before torch is loaded.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.sandbox.wire import Channel, Closed, ProtocolError

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "TILE_BY_TILE_WORKER"
"""Set in a worker's environment: a sandbox does not start another one inside itself."""
_KEPT = (
    *("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CC", "CXX"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"),
    *("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_LIBCUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"),
)
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")

_COMMAND = (sys.executable, "-s", "-P", "-m", "checker.sandbox.worker")


class WorkerFailed(Exception):
    """The worker could not be started or is gone; never the learner's fault."""


@dataclass(frozen=True)
class Ready:
    """What a worker found out about its machine: the layers of isolation in force and what a job could do in spite of them."""

    layers: tuple[str, ...]
    gaps: tuple[str, ...]
    seconds: float


class WorkerProcess:
    """One worker, restarted when it is gone. Safe to use from several threads and after a fork."""

    def __init__(self, start_seconds: float, layers: Collection[str]) -> None:
        self._start_seconds = start_seconds
        self._layers = "+".join(layers)
        self._lock = threading.RLock()
        self._owner = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._control: Channel | None = None
        self._ready: Ready | None = None
        self._folder = Path()

    def start(self) -> None:
        """Start the process and return at once; it warms up by itself."""
        with self._lock:
            if self._process is not None and self._owner == os.getpid():
                return
            self._clear()
            self._owner = os.getpid()
            self._folder = Path(tempfile.mkdtemp(prefix="tile-by-tile-"))
            self._folder.chmod(0o711)  # a job that runs as another user has to reach its own folder in it
            near, far = socket.socketpair()
            with far, (self._folder / "worker.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [*_COMMAND, str(far.fileno()), str(self._folder), self._layers],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                    env=_environment(),
                    pass_fds=(far.fileno(),),
                    start_new_session=True,
                )
            self._control = Channel(near)

    def wait_ready(self) -> Ready:
        """Raises WorkerFailed, with what the worker printed, where it does not get ready."""
        with self._lock:
            self.start()
            if self._ready is None:
                try:
                    body = self._first_word(time.monotonic() + self._start_seconds)
                except (Closed, TimeoutError, ProtocolError) as error:
                    body = {"message": f"it did not get ready ({type(error).__name__})"}
                if body.get("type") != "ready":
                    message = f"The checker's worker could not start: {body.get('message')}\n{self._log()}".strip()
                    self.close()
                    raise WorkerFailed(message)
                self._ready = Ready(tuple(body["layers"]), tuple(body["gaps"]), float(body["seconds"]))
            return self._ready

    def _first_word(self, deadline: float) -> dict[str, Any]:
        assert self._control is not None
        body = self._control.receive(deadline).body
        if body.get("type") == "exposed":
            from checker.sandbox import syscalls

            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)
            self._control.send({"type": "hidden"}, deadline=deadline)
            body = self._control.receive(deadline).body
        return body

    def submit(self, spec: dict[str, Any], data: socket.socket, report: socket.socket) -> None:
        """Hand a job and its two sockets to the worker; a dead worker is replaced. Raises WorkerFailed."""
        with self._lock:
            if not self.alive():
                self.close()
            self.wait_ready()
            assert self._control is not None
            try:
                self._control.send(spec, fds=(data.fileno(), report.fileno()), deadline=time.monotonic() + 10)
            except (Closed, TimeoutError) as error:
                self.close()
                raise WorkerFailed("The checker's worker takes no jobs.") from error

    def alive(self) -> bool:
        """Whether the worker's process is there."""
        return self._process is not None and self._owner == os.getpid() and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End the worker and every job of it, and remove its folder."""
        with self._lock:
            if self._owner == os.getpid() and self._process is not None:
                assert self._control is not None
                self._control.close()
                try:
                    self._process.wait(2)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    self._process.wait()
                shutil.rmtree(self._folder, ignore_errors=True)
            self._clear()

    def after_fork(self) -> None:
        """In a forked child: let go of the parent's worker, so that it ends when the parent does."""
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.close()
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._owner, self._process, self._control, self._ready, self._folder = -1, None, None, None, Path()

    def _log(self) -> str:
        try:
            return (self._folder / "worker.log").read_text(errors="replace")[-4000:]
        except OSError:
            return ""


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    folders = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p)]
    own = {"PYTHONPATH": os.pathsep.join([str(ROOT), *folders]), INSIDE: "1", "CUDA_CACHE_DISABLE": "1"}
    return kept | dict.fromkeys(_ONE_THREAD, "1") | own
