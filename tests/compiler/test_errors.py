"""Each failure of the real compiler, on a real kernel: its kind, the learner's line, words that help.

In broken_kernels.txt each kernel has a heading: its name, the kind of failure, words of the message. ``# !`` marks the line that the message names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import triton

from checker.compiler import CompileRequest, CompileResult, Until, compile_kernel
from checker.compiler.errors import explanations, translate
from tests.compiler.kernels import BROKEN, SIGNATURE
from tests.simulator.launching import loaded

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
ACCEPTED_FROM = {"dot_small": (3, 8), "chained": (3, 9)}  # newer Triton has learnt it: then there is nothing to explain
ONLY_IN_MACHINE_CODE = {"bf_scalar_return", "shared_big", "no_such_instruction", "too_much_by_hand"}
Compiled = Callable[..., CompileResult]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    def run(name: str, capability: int = 80, *, until: Until = "machine_code") -> CompileResult:
        kernel = loaded(tmp_path, BROKEN[name].source)
        return compile_kernel(kernel, CompileRequest(capability, SIGNATURE, {"B": 16}, until=until))

    return run


@pytest.mark.parametrize("name", BROKEN)
def test_failure_is_explained(compiled: Compiled, name: str) -> None:
    kind, words, source = BROKEN[name]
    capability = 90 if kind == "shared_memory" else 75 if kind == "accepted" else 80
    # The front end first: Triton 3.6 would answer from the cache of a whole compilation.
    early = compiled(name, capability, until="front_end")
    result = compiled(name, capability)
    assert early.ok == (result.ok or name in ONLY_IN_MACHINE_CODE)
    if not early.ok:
        assert (early.kind, early.line, early.message) == (result.kind, result.line, result.message)
    if kind == "accepted" or ACCEPTED_FROM.get(name, (9, 9)) <= VERSION:
        assert result.ok
        return
    assert (result.ok, result.kind, result.status) == (False, kind, "compile_error")
    assert kind in {entry.kind for entry in explanations()}
    marked = [number for number, line in enumerate(source.split("\n"), 1) if line.endswith("# !")]
    assert [result.line] == marked if marked else (result.line is not None) == (name == "ret_mismatch")
    for word in words:
        assert word in result.message
    assert result.raw


def test_too_much_shared_memory_is_seen_before_there_is_machine_code(compiled: Compiled) -> None:
    early, result = (compiled("shared_big", 90, until=until) for until in ("shared_memory", "machine_code"))
    assert (early.ok, early.kind, early.line, early.message) == (False, "shared_memory", result.line, result.message)
    accepted = next(name for name, broken in BROKEN.items() if broken.kind == "accepted")
    assert compiled(accepted, 75, until="shared_memory").ok


def test_what_one_gpu_lacks_is_said_to_be_its_own(compiled: Compiled) -> None:
    assert compiled("fp8", 80).only_here
    assert compiled("shared_big", 90).only_here
    assert not compiled("undefined", 80).only_here
    assert compiled("fp8", 90).ok


def test_amd_s_gpus_have_64_kib_of_shared_memory(compiled: Compiled) -> None:
    result = compiled("shared_big", 942)
    assert (result.kind, result.line) == ("shared_memory", compiled("shared_big", 90).line)
    assert "128 KiB of tiles in shared memory (LDS), and MI300X (gfx942) has 64 KiB" in result.message


def test_words_nobody_has_seen_end_as_unknown_with_tritons_last_line(tmp_path: Path) -> None:
    kernel = loaded(tmp_path, BROKEN["brk"].source)
    request = CompileRequest(80, SIGNATURE, {"B": 16})
    failure = translate(RuntimeError("first\nthe wombat is upside down"), kernel, request)
    assert failure.kind == "unknown"
    assert "the wombat is upside down" in failure.message
    assert "wombat" in failure.raw


def test_a_failure_prints_nothing(compiled: Compiled, capfd: pytest.CaptureFixture[str]) -> None:
    compiled("exp_fp16")
    assert capfd.readouterr().out == ""
