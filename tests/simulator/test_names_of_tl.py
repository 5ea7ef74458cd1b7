"""Every public name of `tl` works, compiled and simulated, or is refused in words that say what to do."""

from __future__ import annotations

import pytest
import torch
from triton.language.semantic import TritonSemantic

from checker.compiler import TARGETS, compile_kernel, requests_for
from checker.puzzle import Launch
from checker.simulator import simulate
from checker.submission.allowed_names import DTYPES, FUNCTIONS, no_tl
from tests.simulator.launching import loaded
from tools import language

USED = [name for name in language.names() if name in FUNCTIONS - DTYPES]
BLOCK_POINTERS = ("make_block_ptr", "advance")


def test_every_function_has_an_example():
    assert set(language.EXAMPLES) == FUNCTIONS - DTYPES


@pytest.mark.parametrize("name", USED)
def test_works(name, tmp_path):
    if name in BLOCK_POINTERS and not hasattr(TritonSemantic, "make_block_ptr"):
        pytest.skip("this Triton has no block pointers")
    kernel = loaded(tmp_path, language.kernel(language.EXAMPLES[name]))
    arguments = {"x_ptr": torch.rand(16) + 0.5, "y_ptr": torch.zeros(16), "n_ptr": torch.arange(16, dtype=torch.int32)}
    launch = Launch((1,), {**arguments, "N": 16}, {"BLOCK": 16}, ("y_ptr",))
    (request,) = requests_for(launch, ("x_ptr", "y_ptr", "n_ptr", "N", "BLOCK"), [TARGETS["A100"]])
    compiled = compile_kernel(kernel, request)
    assert compiled.ok, compiled
    simulate(kernel, launch)


@pytest.mark.parametrize("name", [name for name in language.names() if name not in FUNCTIONS])
def test_refused_in_words(name):
    words = no_tl(name)
    assert "is not one of the functions" not in words, "say what to write instead, or that the course has no use for it"
    assert ":" in words
