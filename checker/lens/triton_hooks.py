"""Where launches come in: Triton's own `run` methods, and the choice of a configuration by its autotuner.

Like the simulator's `triton_internals`, this module uses names that Triton does not promise to keep: `JITFunction.run`,
`InterpretedFunction.run`, `pre_run_hooks`, and of `Autotuner` the attributes below.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from checker.lens.launch import KernelStopped, LaunchError, tensors_of
from checker.phrases import join
from checker.simulator.triton_internals import unwrapped_tensor

Run = Callable[..., Any]


class Launcher(Protocol):
    """What becomes of a launch."""

    all_configs: bool

    def takes(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether a launch on these tensors is simulated."""

    def launch(self, kernel: Any, grid: Any, given: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Raises LaunchError."""

    def trying(self) -> AbstractContextManager[None]:
        """Inside, `stopped` raises its error."""

    def stopped(self, error: KernelStopped) -> None:
        """Raise the error, or go on."""


def install(current: Callable[[], Launcher]) -> None:
    """From here on, `current()` decides what becomes of each launch. Launches that it does not take stay Triton's own."""
    for jitted in (JITFunction, InterpretedFunction):
        jitted.run = _simulated(jitted.run, current)
    Autotuner.run = _first_configuration(Autotuner.run, current)


def _simulated(own: Run, current: Callable[[], Launcher]) -> Run:
    @functools.wraps(own)
    def run(self: Any, *given: Any, grid: Any, warmup: bool = False, **named: Any) -> Any:
        launcher = current()
        if not launcher.takes(_tensors(given, named)):
            return own(self, *given, grid=grid, warmup=warmup, **named)
        if warmup:
            return Compiled(self)
        with torch._C.DisableTorchFunction():
            for hook in self.pre_run_hooks:
                hook(*given, **named)
            try:
                return launcher.launch(self, grid, given, named)
            except KernelStopped as error:
                launcher.stopped(error)

    return run


def _tensors(given: Sequence[Any], named: Mapping[str, Any]) -> list[torch.Tensor]:
    return list(tensors_of([unwrapped_tensor(value) for value in (*given, *named.values())]))


class Compiled:
    """What `kernel.warmup` returns: it can be launched, and holds modest numbers in place of what only a compiler knows."""

    n_regs, n_spills, shared = 32, 0, 1024

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.metadata = self

    def __getitem__(self, grid: Any) -> Any:
        return self.kernel[grid]

    def _init_handles(self) -> None:
        """Nothing has to be loaded onto a GPU."""


def _first_configuration(own: Run, current: Callable[[], Launcher]) -> Run:
    """Nothing is timed: the first configuration that runs is the best, or all of them run, one after another."""

    @functools.wraps(own)
    def run(self: Any, *given: Any, **named: Any) -> Any:
        launcher = current()
        tensors = _tensors(given, named)
        if not launcher.takes(tensors):
            return own(self, *given, **named)
        self.nargs = dict(zip(self.arg_names, given, strict=False))
        configs = self.prune_configs(named) if len(self.configs) > 1 else self.configs
        reset = len(self.configs) > 1 and _is_new(self, {**self.nargs, **named})
        before = [tensor.detach().clone() for tensor in tensors] if len(configs) > 1 else []
        result, stopped = None, None
        for number, config in enumerate(configs):
            for tensor, values in zip(tensors, before if number else (), strict=False):
                tensor.detach().copy_(values)
            try:
                with launcher.trying():
                    result, stopped = _with(self, config, reset, given, named), None
            except KernelStopped as error:
                stopped = stopped or error
                continue
            self.best_config = config
            if not launcher.all_configs:
                break
        self.nargs = None
        if stopped is not None:
            launcher.stopped(stopped)
        return result

    return run


def _is_new(tuner: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether a GPU would try all configurations for these arguments: it does that once for each key."""
    keys = [repr(arguments.get(name)) for name in tuner.keys]
    key = *keys, *(str(value.dtype) for value in arguments.values() if hasattr(value, "dtype"))
    seen = vars(tuner).setdefault("simulated_keys", set())
    new = key not in seen
    seen.add(key)
    return new


def _with(tuner: Any, config: Any, reset: bool, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Launch with one configuration, after the tuner's own preparations."""
    chosen = config.all_kwargs()
    if twice := named.keys() & chosen.keys():
        raise LaunchError(f"The launch passes {join(sorted(twice))}, which @triton.autotune chooses: leave it out.")
    everything = {**tuner.nargs, **named, **chosen}
    if reset:
        tuner.pre_hook(everything, reset_only=True)
    if config.pre_hook is not None:
        config.pre_hook(everything)
    return tuner.fn.run(*given, **named, **chosen)
