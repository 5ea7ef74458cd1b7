"""Programs that ask for a GPU run: inside `pretending`, ``device="cuda"`` means this machine's memory.

A tensor that was put on the GPU says so (`device`, `is_cuda`), and so does what is computed from it. Queries to `torch.cuda` and to
Triton's driver describe a small GPU of compute capability 9.0, and nothing is timed. All of it ends with the context.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
import triton.testing
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode
from torch.utils import _device as _devices
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
MILLISECONDS = 1.0
"""What every measurement gives."""
_PROPERTIES = {
    "name": "a GPU that the lens pretends to be",
    "major": 9,
    "minor": 0,
    "multi_processor_count": 8,
    "total_memory": 80 << 30,
    "warp_size": 32,
    "max_threads_per_multi_processor": 2048,
    "regs_per_multiprocessor": 65_536,
    "shared_memory_per_block_optin": 232_448,
    "shared_memory_per_multiprocessor": 233_472,
    "L2_cache_size": 50 << 20,
}
_DRIVER_PROPERTIES = {
    "multiprocessor_count": 8,
    "max_shared_mem": 232_448,
    "max_num_regs": 65_536,
    "warpSize": 32,
    "sm_clock_rate": 1_700_000,
    "mem_clock_rate": 2_600_000,
    "mem_bus_width": 5120,
}


@contextlib.contextmanager
def pretending(multiprocessors: int = 8) -> Iterator[None]:
    """Inside, programs that ask for a GPU run on the CPU."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.dict(_PROPERTIES, multi_processor_count=multiprocessors))
        stack.enter_context(patch.dict(_DRIVER_PROPERTIES, multiprocessor_count=multiprocessors))
        for place, replacements in (
            (torch.cuda, _cuda()),
            (torch.accelerator, _ACCELERATOR),
            (triton.testing, _TESTING),
        ):
            for name, replacement in replacements.items():
                if hasattr(place, name):
                    stack.enter_context(patch.object(place, name, replacement))
        stack.enter_context(patch.object(torch, "Generator", _Generator))
        # what the code that torch.compile writes asks for
        stack.enter_context(patch.object(torch._C, "_cuda_getCurrentRawStream", lambda *_: 0, create=True))
        stack.enter_context(patch.object(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_strided))
        stack.enter_context(patch.object(driver, "_active", _Driver()))
        stack.enter_context(patch.object(BackwardCFunction, "apply", _own_backward(BackwardCFunction.apply)))
        stack.callback(torch.set_default_device, _devices.CURRENT_DEVICE)
        stack.enter_context(_OnGpu())
        yield


# ---- tensors -----------------------------------------------------------------------------------------------------------


_READ_DEVICES = (torch.device, torch._C._nn._parse_to)
"""Functions that make a device of what they are given."""


def _device(value: Any) -> torch.device | None:
    """The device that an argument names, if it names one."""
    if isinstance(value, torch.device):
        return value
    return torch.device(value) if isinstance(value, str) and value.partition(":")[0] in ("cuda", "cpu") else None


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    """The tensors in a value, also in lists and tuples of them."""
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _tensors(value)


_UNMARKED = [False]
"""Whether a tensor without a mark is on the GPU; the last one counts."""


def on_gpu(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, as a tensor that is on the GPU."""
    tensor = tensor.view(tensor.shape)
    tensor._on_gpu = True  # type: ignore[attr-defined]
    return tensor


def _is_on_gpu(tensor: Any) -> bool:
    return getattr(tensor, "_on_gpu", _UNMARKED[-1])


def _own_backward(apply: Callable[..., Any]) -> Callable[..., Any]:
    """The `backward` of a program's own `autograd.Function`: torch calls it with gradients of its own making."""

    @functools.wraps(apply)
    def on_gpu(self: Any, *gradients: Any) -> Any:
        _UNMARKED.append(True)
        try:
            with _OnGpu():
                return apply(self, *gradients)
        finally:
            _UNMARKED.pop()

    return on_gpu


def _moved(tensor: torch.Tensor, source: torch.Tensor, gpu: bool) -> torch.Tensor:
    """What `source` became, as a tensor of its own if it changes places."""
    if gpu != _is_on_gpu(source) and tensor.data_ptr() == source.data_ptr():
        tensor = tensor.clone()
    tensor._on_gpu = gpu  # type: ignore[attr-defined]
    return tensor


class _OnGpu(TorchFunctionMode):
    """Marks the tensors that would be on the GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        own = _OWN.get(func)
        if own is not None:
            return own(*args, **named)
        if func in _READ_DEVICES:
            return func(*args, **named)
        if func in _devices._device_constructors() and named.get("device") is None:
            named["device"] = _devices.CURRENT_DEVICE or CPU
        places = [device for value in (*args, *named.values()) if (device := _device(value)) is not None]
        if "device" in named and isinstance(named["device"], int) and not isinstance(named["device"], bool):
            places.append(GPU)
            named["device"] = CPU
        inputs = list(_tensors((*args, *named.values())))
        gpu = places[-1].type == "cuda" if places else any(map(_is_on_gpu, inputs))
        here = [CPU if _device(value) is not None else value for value in args]
        named = {name: CPU if _device(value) is not None else value for name, value in named.items()}
        result = func(*here, **named)
        for tensor in _tensors(result):
            if not any(tensor is one for one in inputs):
                tensor._on_gpu = gpu  # type: ignore[attr-defined]
        return result


def _cuda_method(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return _moved(tensor, tensor, True)


def _cpu_method(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return _moved(tensor, tensor, False)


def _to(tensor: torch.Tensor, *args: Any, **named: Any) -> torch.Tensor:
    gpu = _is_on_gpu(tensor)
    if args and isinstance(args[0], int):
        args = (GPU, *args[1:])
    for value in (*args, *named.values()):
        device = _device(value)
        gpu = (
            device.type == "cuda"
            if device is not None
            else _is_on_gpu(value)
            if isinstance(value, torch.Tensor)
            else gpu
        )
    here = [CPU if _device(value) is not None else value for value in args]
    named = {name: CPU if _device(value) is not None else value for name, value in named.items()}
    result: torch.Tensor = _TENSOR.to(tensor, *here, **named)
    return _moved(result, tensor, gpu)


def _set_data(tensor: torch.Tensor, values: torch.Tensor) -> None:
    tensor.data = values
    tensor._on_gpu = _is_on_gpu(values)  # type: ignore[attr-defined]


_TENSOR: Any = torch.Tensor
_OWN: dict[Any, Callable[..., Any]] = {
    _TENSOR.device.__get__: lambda tensor, *_: GPU if _is_on_gpu(tensor) else tensor.device,
    _TENSOR.is_cuda.__get__: lambda tensor, *_: _is_on_gpu(tensor),
    _TENSOR.data.__set__: _set_data,
    _TENSOR.get_device: lambda tensor: 0 if _is_on_gpu(tensor) else -1,
    _TENSOR.cuda: _cuda_method,
    _TENSOR.cpu: _cpu_method,
    _TENSOR.to: _to,
    _TENSOR.pin_memory: lambda tensor, *_: tensor,
    _TENSOR.record_stream: lambda *_: None,
}
"""What is asked of a tensor, and our answer."""


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device=GPU)


class _Generator(torch.Generator):
    """On the CPU, whatever is asked for."""

    def __new__(cls, device: Any = None) -> _Generator:
        return super().__new__(cls, CPU)  # type: ignore[call-arg]

    def __init__(self, device: Any = None) -> None:
        """The device does not matter."""


class _GpuGenerator(_Generator):
    """A GPU's own: its state is a seed, and how many random numbers it has given, as 16 bytes."""

    given = 0

    def manual_seed(self, seed: int) -> _GpuGenerator:
        super().manual_seed(seed)
        self.given = 0
        return self

    def get_offset(self) -> int:
        return self.given

    def set_offset(self, given: int) -> _GpuGenerator:
        self.given = given
        return self

    def get_state(self) -> torch.Tensor:
        return torch.tensor([self.initial_seed(), self.given]).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> _GpuGenerator:
        seed, given = state.contiguous().view(torch.int64).tolist()
        return self.manual_seed(seed).set_offset(given)


# ---- torch.cuda and Triton's driver ------------------------------------------------------------------------------------


class _Context:
    """A stream, an event, or a device as a context: there is only one, and it never waits."""

    cuda_stream = stream_id = idx = 0
    device = GPU

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing has to be made."""

    def __enter__(self) -> _Context:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing has to end."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, _: Any) -> float:
        return MILLISECONDS

    def _nothing(self, *_: Any, **__: Any) -> None:
        """All work is done already."""

    record = wait = synchronize = wait_event = wait_stream = record_event = _nothing


def _cuda() -> dict[str, Any]:
    """The functions of `torch.cuda` that are served; any other raises torch's own error."""
    fixed: dict[str, Any] = {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": True,
        "is_current_stream_capturing": False,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": _PROPERTIES["name"],
        "get_device_capability": (9, 0),
        "get_device_properties": SimpleNamespace(**_PROPERTIES),
        "mem_get_info": (80 << 30, 80 << 30),
        "current_stream": _Context(),
        "default_stream": _Context(),
    }
    nothing = (
        "init",
        "synchronize",
        "set_device",
        "empty_cache",
        "ipc_collect",
        "reset_peak_memory_stats",
        "set_stream",
    )
    answers = {**fixed, **dict.fromkeys(nothing)}
    functions = {name: (lambda *_, answer=answer, **__: answer) for name, answer in answers.items()}
    contexts = dict.fromkeys(("Stream", "Event", "stream", "device", "device_of", "_DeviceGuard"), _Context)
    generators = {"default_generators": (_GpuGenerator(),)}
    return {
        **functions,
        **contexts,
        **generators,
        "get_rng_state": lambda *_: torch.get_rng_state(),
        "set_rng_state": _set_state,
    }


def _set_state(state: torch.Tensor, *_: Any) -> None:
    torch.set_rng_state(state)


_ACCELERATOR: dict[str, Any] = {
    "is_available": lambda: True,
    "device_count": lambda: 1,
    "current_accelerator": lambda *_, **__: torch.device("cuda"),
    "current_device_index": lambda: 0,
    "synchronize": lambda *_: None,
}


def _do_bench(fn: Callable[[], Any], *_: Any, quantiles: Sequence[float] | None = None, **__: Any) -> Any:
    """Run `fn` once. Nothing is timed."""
    fn()
    return [MILLISECONDS] * len(quantiles) if quantiles else MILLISECONDS


_TESTING: dict[str, Any] = {"do_bench": _do_bench, "do_bench_cudagraph": _do_bench}


class _Driver:
    """What programs ask of Triton's active driver."""

    utils = SimpleNamespace(get_device_properties=lambda *_: dict(_DRIVER_PROPERTIES))

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> torch.device:
        return GPU

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        return _do_bench

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: Any = None) -> int:
        return 0
