"""A Ray cluster: one task for each missing verdict, and nothing but text between driver and task. Needs the extra ``ray``.

A task that is lost with its node is run again by Ray. Verdicts are stored by the driver, so a lost driver loses what was running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from checker.api.grading import PUZZLES, KernelSource, Record, Sandbox, gpu
from classroom.grading.judging import Task, isolation_lacks, stored_verdict
from classroom.grading.keys import Setting, key_of
from classroom.grading.records import Fault, StoredVerdict

LOST_NODES = 3
"""How often a task may lose its node."""


@dataclass
class RayEngine:
    """`address` as `ray.init` takes it: ``auto``, ``host:port``; None starts a cluster of this machine."""

    address: str | None = "auto"
    secret: bytes | None = None
    isolation: Sequence[str] = ()

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[StoredVerdict | Fault]:
        """Raises ImportError without Ray, ConnectionError without a cluster."""
        import ray

        if not ray.is_initialized():
            with contextlib.chdir("/"):  # Ray's workers import from where it is started
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
        on_gpu = 0 if setting.device == "cpu" else 1
        remote = ray.remote(num_cpus=1, num_gpus=on_gpu, max_retries=LOST_NODES)(judged)
        waiting: dict[Any, Task] = {
            remote.remote(request(task, setting, self.secret, self.isolation)): task for task in wanted
        }
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1)
                for reference in ready:
                    task = waiting.pop(reference)
                    try:
                        yield answer(ray.get(reference), task)
                    except (ray.exceptions.RayError, ValueError) as error:
                        message = f"the cluster lost it ({type(error).__name__}: {str(error)[:300]})"
                        yield Fault(key=task.key, message=message, tried=1 + LOST_NODES)
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


# ------------------------------------------------------------------------------------------------ on a node


class Request(Record, frozen=True, kw_only=True):
    """One kernel to judge. `isolation` names the layers that it needs."""

    key: str
    kernel: KernelSource
    setting: Setting
    secret: bytes | None
    isolation: tuple[str, ...] = ()


def request(task: Task, setting: Setting, secret: bytes | None, isolation: Sequence[str] = ()) -> bytes:
    return msgspec.json.encode(
        Request(key=task.key, kernel=task.source, setting=setting, secret=secret, isolation=tuple(isolation))
    )


def answer(data: bytes, task: Task) -> StoredVerdict | Fault:
    """The verdict on `task`, or why there is none. Raises ValueError for the answer to another task."""
    verdict, fault = msgspec.json.decode(data, type=tuple[StoredVerdict | None, Fault | None])
    made = verdict or fault
    if made is None or made.key != task.key:
        raise ValueError("this is the answer to another request")
    return made


def judged(data: bytes) -> bytes:
    """The judge's answer to a request: a fault if this machine differs from the grader's."""
    request = msgspec.json.decode(data, type=Request)
    puzzle, sandbox, setting = PUZZLES[request.kernel.puzzle], Sandbox.shared(), request.setting
    here = setting if setting.device == "cpu" else msgspec.structs.replace(setting, device=gpu.device_name())
    task = Task(key_of(puzzle, request.kernel, here), puzzle, request.kernel)
    if task.key != request.key:
        made: StoredVerdict | Fault = _refused(request, "this judge has another checker, other versions or another GPU")
    elif lacking := isolation_lacks(sandbox, request.isolation):
        made = _refused(request, f"isolation is required that this judge lacks: {', '.join(lacking)}")
    else:
        made = stored_verdict(task, setting, request.secret, sandbox, hurry=setting.device != "cpu")
    return msgspec.json.encode((None, made) if isinstance(made, Fault) else (made, None))


def _refused(request: Request, why: str) -> Fault:
    return Fault(key=request.key, message=why, tried=1)
