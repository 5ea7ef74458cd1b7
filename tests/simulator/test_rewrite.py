"""Jitted functions are rewritten from what stands in the kernel's module now, in every launch anew."""

import importlib
import sys

import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import simulate
from tests.simulator.launching import HEAD


def test_no_redefinition_goes_stale(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = f"{HEAD}\nFACTOR = tl.constexpr({{}})\n\n\n@triton.jit\ndef helper(x):\n    return x + {{}}\n\n\n"
    text += "@triton.jit\ndef kernel(y_ptr):\n    tl.store(y_ptr, helper(1.0) * FACTOR)\n"
    path = tmp_path / "a_cell_of_a_notebook.py"
    path.write_text(text.format(1, 1))
    module = importlib.import_module(path.stem)
    del sys.modules[path.stem]
    y = torch.zeros(1)
    launch = Launch((1,), {"y_ptr": y}, {}, ("y_ptr",))
    simulate(module.kernel, launch)
    assert y.item() == 2.0
    path.write_text(text.format(10, 2))
    module.FACTOR = tl.constexpr(10)
    simulate(module.kernel, launch)
    assert y.item() == 20.0

    @triton.jit
    def helper(x):
        return x + 2.0

    module.helper = helper
    simulate(module.kernel, launch)
    assert y.item() == 30.0
