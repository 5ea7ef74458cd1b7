"""Calls a function around kernels as the judge asks, in a job of the sandbox, and reports what it did.

The outputs are compared in another process; nothing in this report decides more than what a card says.
"""

from __future__ import annotations

import inspect
import itertools
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from checker import gpu
from checker.judge.runner import CallReport, Launched, Noticed, Passed
from checker.lens.launch import LaunchError, launch_of
from checker.lens.pretend import on_gpu, pretending
from checker.lens.session import Lens, using
from checker.phrases import shape
from checker.puzzle import Launch

READS = ("item", "tolist", "numpy", "cpu", "nonzero", "__bool__", "__int__", "__float__", "__index__", "__array__")
"""What a tensor is asked where the CPU has to wait for its numbers."""
REPEATS = 30


class CallStopped(Exception):
    """A call that did not end as it should."""

    def __init__(self, message: str, line: int | None = None, status: str = "runtime_error", detail: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.status, self.detail = message, line, status, detail


@dataclass
class Recording(Lens):
    """A lens that also keeps what `file` launched, or only does that: it `looks`."""

    file: str = ""
    looks: bool = False
    launched: list[Launched] = field(default_factory=list)

    def launch(self, kernel: Any, grid: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
        launch = launch_of(kernel, grid, given, named, self.outputs)
        bound = {**launch.arguments, **launch.meta}
        numbers = {n: int(v) for n, v in bound.items() if isinstance(v, Integral) and not isinstance(v, bool)}
        tensors = {n: _passed(v) for n, v in bound.items() if isinstance(v, torch.Tensor)}
        name = kernel.fn.__name__
        self.launched.append(Launched(name, tuple(bound), launch.grid, numbers, tensors, _line(self.file)))
        if not self.looks:
            super().launch(kernel, grid, given, named)


class HostReads(TorchFunctionMode):
    """Notices where a number of these tensors, or of what is computed from them, is asked for: `read`, and in which line of `file`."""

    def __init__(self, tensors: Sequence[torch.Tensor], file: str) -> None:
        super().__init__()
        self.known = {id(tensor): tensor for tensor in tensors}
        self.file = file
        self.read: Noticed | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = [*args, *(kwargs or {}).values()]
        flat = [one for value in given for one in (value if isinstance(value, list | tuple) else [value])]
        if any(id(one) in self.known for one in flat):
            name = getattr(func, "__name__", "")
            if name in READS and self.read is None:
                self.read = Noticed(_asked(name), "", _line(self.file))
            made = result if isinstance(result, list | tuple) else [result]
            self.known |= {id(one): one for one in made if isinstance(one, torch.Tensor)}
        return result


def _asked(name: str) -> str:
    return {"__bool__": "bool(…) or an if", "__array__": "NumPy"}.get(name, f"{name.strip('_')}()")


def _line(file: str, error: BaseException | None = None) -> int | None:
    """The line of `file` that runs now, or where an error came from."""
    if error is not None:
        return next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == file), None)
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else None


class Caller:
    """What a job calls: it makes the steps of a case. `peer` is the library's function to time beside it."""

    def __init__(self, function: Any, peer: Callable[..., Callable[[], object]] | None = None) -> None:
        self.function, self.peer = function, peer
        self.plain = getattr(function, "_init_fn", function)  # of an operator of torch.library
        self.name, self.file = self.plain.__name__, self.plain.__code__.co_filename

    def __call__(self, launch: Launch) -> CallReport:
        """Fill the outputs of `launch`, whose options say how. Raises CallStopped."""
        os.environ.setdefault("USER", "nobody")  # the compiler asks who it is, and a job cannot look that up
        torch._C._set_deterministic_algorithms(True, warn_only=True)  # torch.empty fills its memory with NaN then
        if not launch.options:
            return self._simulated(launch)
        from torch import _prims  # noqa: F401  stand-ins for tensors and for a GPU need it first, and a worker imports it late

        if "cores" in launch.options:
            return self._looked(launch, launch.options["cores"])
        if "planned" in launch.options:
            return self._planned(launch)
        mirror = gpu.Mirror(launch)
        steps, outputs = _steps(launch, mirror.arguments), [mirror.arguments[name] for name in launch.outputs]
        if "timed" in launch.options:
            return self._timed(steps[0])
        first = self._result(self.function, steps[0])
        if "graph" in launch.options:
            last = self._replayed(steps)
        else:
            last = self._result(self._compiled() if "compiled" in launch.options else self.function, steps[1])
        for output, result in zip(outputs, (first, last), strict=True):
            output.copy_(result)
        torch.cuda.synchronize()
        mirror.back(in_place=True)
        return CallReport()

    def _compiled(self) -> Callable[..., Any]:
        function = self.function

        def call(*inputs: torch.Tensor) -> torch.Tensor:
            return function(*inputs) * 1

        return torch.compile(call, backend="aot_eager", fullgraph=True)

    def _simulated(self, launch: Launch) -> CallReport:
        steps, results = _steps(launch, launch.arguments), list[torch.Tensor]()
        seen = Recording(quiet=True, file=self.file)
        reads, counts = list[Noticed](), [0]
        with using(seen):
            for inputs in steps:
                with HostReads(inputs, self.file) as watch:
                    results.append(self._result(self.plain, inputs))
                reads += [watch.read] if watch.read else []
                counts.append(len(seen.launched))
        for name, result in zip(launch.outputs, results, strict=True):
            launch.arguments[name].copy_(result)  # type: ignore[union-attr]
        return CallReport(
            launches=tuple(tuple(seen.launched[a:b]) for a, b in itertools.pairwise(counts)),
            noticed=tuple(
                Noticed(f"{p.heading} in {p.kernel}: {p.what}.", p.advice, p.line) for p in seen.report.findings
            ),
            read=next(iter(reads), None),
            returned=tuple(result.data_ptr() for result in results),
        )

    def _looked(self, launch: Launch, cores: int) -> CallReport:
        """The launches of the first step as if on a GPU with so many multiprocessors. None of them runs."""
        seen = Recording(pretends=True, file=self.file, looks=True)
        with pretending(cores), using(seen):
            result = self._result(self.plain, [on_gpu(tensor) for tensor in _steps(launch, launch.arguments)[0]])
        return CallReport(launches=(tuple(seen.launched),), returned=(result.data_ptr(),))

    def _planned(self, launch: Launch) -> CallReport:
        """With tensors without numbers, as `torch.compile` does to learn what an operator returns."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        if self.function is self.plain:
            raise CallStopped("It is a plain function.", status="compile_error")
        with FakeTensorMode() as mode:
            self._result(self.function, [mode.from_tensor(t) for t in _steps(launch, launch.arguments)[0]])
        return CallReport()

    def _replayed(self, steps: Sequence[Sequence[torch.Tensor]]) -> torch.Tensor:
        """The second step by a CUDA graph of the first, whose tensors get the second's numbers."""
        static = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).copy_(t) for t in steps[0]]
        graph, result = self._captured(static)
        for here, given in zip(static, steps[1], strict=True):
            here.copy_(given)
        graph.replay()
        return result.clone()

    def _captured(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        graph = torch.cuda.CUDAGraph()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(2):
                self._result(self.function, inputs)
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()
        try:
            with torch.cuda.graph(graph):
                result = self._result(self.function, inputs)
        except RuntimeError as error:  # the graph's own, after that of the function
            raise error.__context__ if isinstance(error.__context__, CallStopped) else error from None
        return graph, result

    def _timed(self, inputs: Sequence[torch.Tensor]) -> CallReport:
        """A graph of one call, a copy of its largest input, and the library's function."""
        torch._C._set_deterministic_algorithms(False)
        graph, _ = self._captured(inputs)
        largest = max(inputs, key=torch.Tensor.numel)
        there = torch.empty_like(largest)
        calls: dict[str, Callable[[], object]] = {"yours": graph.replay, "copy": lambda: there.copy_(largest)}
        if self.peer is not None:
            calls["SDPA"] = self.peer(*inputs)
        clock, timings = gpu.Clock(), {}
        for name, call in calls.items():
            for _ in range(3):
                call()
            timings[name] = gpu.Timing.of(clock.times(call, REPEATS))
        return CallReport(timings=timings)

    def _result(self, function: Callable[..., Any], inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """What the function returns, if it is what it should be: a tensor of the shape, type and device of its first input."""
        try:
            result = function(*inputs)
        except LaunchError as error:
            raise CallStopped(str(error), _line(self.file, error)) from None
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            raise CallStopped(words, _line(self.file, error), detail=traceback.format_exc()) from error
        q = inputs[0]
        if isinstance(result, torch.Tensor) and (result.shape, result.dtype, result.device) == (
            q.shape,
            q.dtype,
            q.device,
        ):
            return result
        is_tensor = isinstance(result, torch.Tensor)
        got = _described(result) if is_tensor else f"a value of type {type(result).__name__}"
        first = next(iter(inspect.signature(self.plain).parameters))
        raise CallStopped(
            f"It returned {got}. The output has the shape, the type and the device of {first}: {_described(q)}"
        )


def _described(x: torch.Tensor) -> str:
    return f"{_type(x)} {shape(x.shape)} on {x.device.type}"


def _passed(x: torch.Tensor) -> Passed:
    return Passed(_type(x), tuple(x.shape), x.stride(), x.data_ptr())


def _type(x: torch.Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _steps(launch: Launch, arguments: Mapping[str, Any]) -> list[list[torch.Tensor]]:
    """The inputs of each step: those with its number, and those that all steps share."""
    inputs = [name for name in launch.arguments if name not in launch.outputs]
    names = dict.fromkeys(re.sub(r"_\d+$", "", name) for name in inputs)
    return [
        [arguments.get(f"{name}_{step}", arguments.get(name)) for name in names] for step in range(len(launch.outputs))
    ]
