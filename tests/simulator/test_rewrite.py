"""Jitted functions are rewritten from what stands in the kernel's module now, in every launch anew."""

import importlib
import sys

import torch
import triton

from checker.puzzle import Launch
from checker.simulator import simulate


def test_no_redefinition_goes_stale(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    sys.dont_write_bytecode, old = True, sys.dont_write_bytecode
    try:
        text = "import triton\nimport triton.language as tl\n\nFACTOR = tl.constexpr({})\n\n\n@triton.jit\ndef helper(x):\n    return x + {}\n\n\n"
        text += "@triton.jit\ndef kernel(y_ptr):\n    tl.store(y_ptr, helper(1.0) * FACTOR)\n"
        path = tmp_path / "a_cell_of_a_notebook.py"
        path.write_text(text.format(1, 1))
        module = importlib.import_module("a_cell_of_a_notebook")
        y = torch.zeros(1)
        launch = Launch((1,), {"y_ptr": y}, {}, ("y_ptr",))
        simulate(module.kernel, launch)
        assert y.item() == 2.0
        path.write_text(text.format(10, 2))
        fresh: dict = {}
        exec(compile("import triton.language as tl\nFACTOR = tl.constexpr(10)", "cell 2", "exec"), fresh)
        module.FACTOR = fresh["FACTOR"]
        simulate(module.kernel, launch)
        assert y.item() == 20.0

        @triton.jit
        def helper(x):
            return x + 2.0

        module.helper = helper
        simulate(module.kernel, launch)
        assert y.item() == 30.0
    finally:
        sys.dont_write_bytecode = old
        sys.modules.pop("a_cell_of_a_notebook", None)
