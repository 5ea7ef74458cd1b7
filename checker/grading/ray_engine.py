"""A Ray cluster: one task a missing verdict, and nothing but text between driver and task. Needs the extra ``ray``.

A task that is lost with its node is run again by Ray. Verdicts are stored by the driver, so a lost driver loses what was running.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from checker.grading.judging import Task, verdict_record
from checker.grading.keys import Setting, key_of
from checker.grading.records import Fault, VerdictRecord
from checker.submission.kernel import KernelSource

LOST_NODES = 3
"""How often a task may lose its node."""


@dataclass
class RayEngine:
    """`address` as `ray.init` takes it: ``auto``, ``host:port``; None starts a cluster of this machine."""

    address: str | None = "auto"
    secret: bytes | None = None

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[VerdictRecord | Fault]:
        """Raises ImportError without Ray, ConnectionError without a cluster."""
        import ray

        if not ray.is_initialized():
            ray.init(address=self.address, log_to_driver=False, include_dashboard=False)
        on_gpu = 0 if setting.device == "cpu" else 1
        remote = ray.remote(num_cpus=1, num_gpus=on_gpu, max_retries=LOST_NODES)(_judged)
        asked = msgspec.json.encode(setting)
        waiting: dict[Any, Task] = {
            remote.remote(task.key, msgspec.json.encode(task.source), asked, self.secret): task for task in wanted
        }
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), num_returns=1)
                for reference in ready:
                    task = waiting.pop(reference)
                    try:
                        yield _read(ray.get(reference), task)
                    except (ray.exceptions.RayError, ValueError) as error:
                        message = f"the cluster lost it ({type(error).__name__}: {str(error)[:300]})"
                        yield Fault(key=task.key, message=message, tried=1 + LOST_NODES)
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def _read(answer: bytes, task: Task) -> VerdictRecord | Fault:
    """Raises ValueError for what is no verdict on `task`."""
    kind, _, body = answer.partition(b"\n")
    made: VerdictRecord | Fault = (
        msgspec.json.decode(body, type=VerdictRecord) if kind == b"verdict" else msgspec.json.decode(body, type=Fault)
    )
    if made.key != task.key:
        raise ValueError("the node has another checker, or other versions: its key is another one")
    return made


def _judged(key: str, source: bytes, setting: bytes, secret: bytes | None) -> bytes:
    """On a node: the verdict as JSON. A node whose checker or versions differ says so by its key."""
    from checker.course import PUZZLES
    from checker.sandbox import Sandbox

    kernel = msgspec.json.decode(source, type=KernelSource)
    puzzle, asked = PUZZLES[kernel.puzzle], msgspec.json.decode(setting, type=Setting)
    task = Task(key_of(puzzle, kernel, asked), puzzle, kernel)
    made = verdict_record(task, asked, secret, Sandbox.shared())
    return (b"verdict" if isinstance(made, VerdictRecord) else b"fault") + b"\n" + msgspec.json.encode(made)
