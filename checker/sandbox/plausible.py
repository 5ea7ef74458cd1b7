"""Whether a trace can be what a launch left behind.

A job that ran foreign code can send anything in the name of the simulator: nothing inside one process tells the two apart. So the
trusted side holds a report against what the job cannot invent: the launch that was asked for, and which bytes have changed.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from checker.puzzle import Launch
from checker.sandbox.protocol import ProtocolError
from checker.simulator.trace import Trace


def verify(trace: Trace | None, launch: Launch, after: Mapping[str, torch.Tensor]) -> None:
    """`launch` holds the tensors as they were handed over, `after` those that came back. Raises ProtocolError."""
    if trace is None:
        raise ProtocolError("a simulated launch has no trace")
    if trace.grid != (*(int(n) for n in launch.grid), 1, 1)[:3]:
        raise ProtocolError("the trace has the grid of another launch")
    told = {name: (info.shape, info.strides, info.dtype) for name, info in trace.tensors.items()}
    if told != {name: _layout(tensor) for name, tensor in after.items()} or trace.traffic.keys() != after.keys():
        raise ProtocolError("the trace has the tensors of another launch")
    if set(trace.writers) != set(launch.outputs):
        raise ProtocolError("the trace does not say who stored the outputs")
    for name in launch.outputs:
        before = launch.arguments[name]
        assert isinstance(before, torch.Tensor)
        _verify_stores(trace, name, before, after)


def _layout(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], str]:
    return tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype).removeprefix("torch.")


def _verify_stores(trace: Trace, name: str, before: torch.Tensor, all_after: Mapping[str, torch.Tensor]) -> None:
    """What is said to be stored was paid for, and what is said to be left alone was left alone."""
    after = all_after[name]
    stored = torch.from_numpy(trace.writers[name] >= 0)
    if int(stored.sum()) * after.element_size() > trace.traffic[name].stored:
        raise ProtocolError(f"the trace stores more elements of {name} than bytes")
    if bool(stored.all()) or _overlaps(name, all_after):
        return
    left = ~stored.reshape(after.shape)
    if not torch.equal(_bits(before[left]), _bits(after[left])):
        raise ProtocolError(f"elements of {name} have changed that nothing stored, says the trace")


def _overlaps(name: str, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether an element may also be stored under another name or index."""
    own = tensors[name]
    place = own.untyped_storage().data_ptr()
    shared = any(other.untyped_storage().data_ptr() == place for key, other in tensors.items() if key != name)
    return shared or any(size > 1 and stride == 0 for size, stride in zip(own.shape, own.stride(), strict=True))


def _bits(values: torch.Tensor) -> torch.Tensor:
    """NaN equals itself here."""
    return values.contiguous().view(torch.uint8)
