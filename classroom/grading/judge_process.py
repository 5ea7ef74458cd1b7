"""Judges in separate processes: one for each GPU of this machine, or a task on a node of a cluster.

Only data passes between grader and judge: a request and an answer, each one line of JSON.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import torch

from checker.api.grading import PUZZLES, RETRIES, KernelSource, Record, Sandbox, course_on_path, gpu
from classroom.grading.judging import Task, isolation_lacks, stored_verdict
from classroom.grading.keys import Setting, key_of
from classroom.grading.records import Fault, StoredVerdict

_PATIENCE = 30.0  # seconds for a judge to end by itself


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


# ------------------------------------------------------------------------------------------------ the GPUs of this machine


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, as the variable ``CUDA_VISIBLE_DEVICES`` names them."""
    count = torch.cuda.device_count() if gpu.available() else 0
    selected = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [name.strip() for name in selected.split(",")] if selected else [str(number) for number in range(count)]
    return tuple(names[:count])


@dataclass
class GpuPool:
    """One judge for each of `gpus`, a process that sees only that GPU. A GPU of another model is left alone."""

    gpus: Sequence[str]
    secret: bytes | None = None
    isolation: Sequence[str] = ()

    def verdicts(self, wanted: Sequence[Task], setting: Setting) -> Iterator[StoredVerdict | Fault]:
        """A kernel whose judge dies is given to a judge again, at most `RETRIES` times."""
        started = [_Judge(name) for name in self.gpus[: len(wanted)]]
        busy: dict[_Judge, Task] = {}
        left, lost = deque(wanted), Counter[str]()
        try:
            judges = [judge for judge in started if judge.ready() == setting.device]
            if not judges:
                message = f"no judge started that sees {setting.device}"
                yield from (Fault(key=task.key, message=message, tried=1) for task in wanted)
                return
            while left or busy:
                for judge in judges:
                    if left and judge not in busy:
                        busy[judge] = left.popleft()
                        judge.ask(request(busy[judge], setting, self.secret, self.isolation))
                for judge in _answering(busy):
                    task = busy.pop(judge)
                    try:
                        yield answer(judge.answer(), task)
                    except (EOFError, ValueError) as error:
                        judge.restart()
                        lost[task.key] += 1
                        if lost[task.key] <= RETRIES:
                            left.append(task)
                        else:
                            yield Fault(key=task.key, message=f"its judge ended: {error}", tried=lost[task.key])
        finally:
            for judge in started:
                judge.close(now=judge in busy)


def _answering(judges: Iterable[_Judge]) -> list[_Judge]:
    """The judges that have answered or ended; waits for the first."""
    with selectors.DefaultSelector() as selector:
        for judge in judges:
            selector.register(judge, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select()]  # type: ignore[misc]


class _Judge:
    """A process that answers one request after another. It ends when this process does, however that ends."""

    def __init__(self, visible: str) -> None:
        """`visible` is what its CUDA_VISIBLE_DEVICES is."""
        self._visible = visible
        self._start()

    def _start(self) -> None:
        environment = course_on_path() | {"CUDA_VISIBLE_DEVICES": self._visible}
        command = [sys.executable, "-P", "-m", "classroom.grading.judge_process"]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._requests, self._answers = process, process.stdin, process.stdout

    def ready(self) -> str:
        """Its device: ``cpu`` or a GPU's name; empty if it did not start."""
        return self._answers.readline().decode("utf-8", "replace").strip()

    def restart(self) -> None:
        self.close(now=True)
        self._start()
        self.ready()

    def fileno(self) -> int:
        return self._answers.fileno()

    def ask(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # a process that has ended is noticed by its missing answer
            self._requests.write(line + b"\n")
            self._requests.flush()

    def answer(self) -> bytes:
        """Raises EOFError if the process has ended."""
        line = self._answers.readline()
        if not line.endswith(b"\n"):
            raise EOFError(f"exit status {self._process.wait()}")
        return line

    def close(self, now: bool = False) -> None:
        """Let it end by itself; with `now` end it in the middle of a verdict."""
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        if now:
            self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()


def _main() -> None:
    """Answer requests until there are no more. What anything prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # an orderly end, which takes the sandbox along
    answers.write((gpu.device_name() or "cpu").encode() + b"\n")
    answers.flush()
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            answers.write(judged(line) + b"\n")
            answers.flush()


if __name__ == "__main__":
    _main()
