"""Imports torch in two thirds of the time, without a part that a worker does not need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_LATE = "torch._meta_registrations"
_GPUS = ("/dev/nvidia0", "/dev/dxg")


class _Later(Loader):
    """Runs a module when somebody takes a name from it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def exec_module(self, module: ModuleType) -> None:
        def first(name: str) -> Any:
            if name.startswith("__"):  # `inspect` looks at every module
                raise AttributeError(name)
            del module.__dict__["__getattr__"]
            self.loader.exec_module(module)
            return getattr(module, name)

        module.__dict__["__getattr__"] = first


class _Finder:
    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == _LATE else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


def import_torch_sooner() -> None:
    """From here on, `import torch` takes a second less of processor time, which a learner's first check would wait for.

    For workers without a GPU only: what is late is needed for torch's `meta` tensors and its random generators.
    """
    if _Finder not in sys.meta_path and not any(map(os.path.exists, _GPUS)):
        sys.meta_path.insert(0, _Finder)
