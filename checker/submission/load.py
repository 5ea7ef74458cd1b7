"""Turns a kernel's source into a live Triton function. Only for processes that may run learners' code."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from checker.submission.kernel import KernelSource

if TYPE_CHECKING:
    from types import ModuleType

    from triton import JITFunction

ENTRY = "call_of_the_checker"
"""The name in a launcher's module of what a job calls."""


def load_kernel(source: KernelSource, directory: Path) -> JITFunction:
    """Write the module into `directory`, import it, return its kernel.

    The function is a ``triton.JITFunction`` even if ``TRITON_INTERPRET`` is set. Errors of the import are passed on.
    """
    from triton.runtime.jit import JITFunction

    kernel = getattr(load_module(source, directory), source.kernel)
    if not isinstance(kernel, JITFunction):
        raise TypeError(f"{source.kernel} is a {type(kernel).__name__}, not a @triton.jit function")
    return kernel


def load_module(source: KernelSource, directory: Path) -> ModuleType:
    """The module, written into `directory` and imported. The same source always gets the same file and module name."""
    import triton
    import triton.language as tl
    from triton import knobs

    digest = hashlib.sha256(source.source.encode()).hexdigest()[:16]
    name = f"{source.kernel}_{digest}"
    path = Path(directory) / f"{name}.py"
    with NamedTemporaryFile("w", encoding="utf-8", dir=directory, delete=False) as file:
        file.write(source.source)
    os.replace(file.name, path)  # at once: another thread may be reading the same file
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(triton=triton, tl=tl)  # a kernel on line 1 leaves no room for the imports
    with knobs.runtime.scope():
        knobs.runtime.interpret = False
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return module
