"""A Ray cluster: one task for each missing verdict, and nothing but text between driver and task. Needs the extra ``ray``.

A task that is lost with its node is run again by Ray. Verdicts are stored by the driver, so a lost driver loses what was running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from classroom.grading.judge_process import answer, judged, request
from classroom.grading.judging import Task
from classroom.grading.keys import Setting
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
