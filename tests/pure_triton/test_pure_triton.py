"""Where there is no Triton wheel, its Python part and our stand-in say what Triton says: words, lines, verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import triton
from triton._C import libtriton

from checker.judge.result import Result
from checker.pure_triton import VENDORED, VERSION
from checker.pure_triton.libtriton import ENUMS, argument_type
from tests.pure_triton.conftest import Run
from tests.pure_triton.front_end import answers

same_version = pytest.mark.skipif(triton.__version__ != VERSION, reason=f"the copied files are Triton {VERSION}'s")


@same_version
def test_the_files_are_triton_s_own_byte_for_byte() -> None:
    installed = Path(triton.__file__).parent
    copied = [path for path in (VENDORED / "triton").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len(copied) == 42
    for path in copied:
        assert path.read_bytes() == (installed / path.relative_to(VENDORED / "triton")).read_bytes(), path


@pytest.mark.parametrize("module", ENUMS)
def test_enumerations_have_triton_s_members(module: str) -> None:
    for name, members in ENUMS[module].items():
        real = getattr(getattr(libtriton, module), name).__members__
        assert members == {member: int(value) for member, value in real.items()}, name


def same_answers(without_triton: Run, folder: Path, *kinds: str) -> dict[str, Any]:
    """What the front end answers with and without the wheel, by kernel: the same."""
    pure = json.loads(without_triton("tests.pure_triton.front_end", *kinds))
    real = dict(answers(list(kinds), folder))
    assert not pure.pop("compiler")
    assert pure.keys() == real.keys()
    assert {name: answer for name, answer in pure.items() if tuple(answer) != real[name]} == {}
    return real


def test_arguments_have_triton_s_types() -> None:
    import torch
    from triton.backends.compiler import BaseBackend

    tensors = [torch.zeros(4, dtype=dtype) for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool)]
    for argument in (None, True, False, 0, 1, 7, 32, -(2**31), 2**31, 2**63, 1.0, torch.zeros(8)[1:], *tensors):
        for specialize in (False, True):
            real = libtriton.native_specialize_impl(BaseBackend, argument, False, specialize, True)
            assert argument_type(BaseBackend, argument, False, specialize, True)[0] == real[0], (argument, specialize)


@same_version
def test_the_front_end_says_the_same_without_the_wheel(without_triton: Run, tmp_path: Path) -> None:
    assert len(same_answers(without_triton, tmp_path, "broken", "solutions")) > 100


def test_a_kernel_is_checked_and_graded_without_the_wheel(without_triton: Run) -> None:
    seen = json.loads(without_triton("tests.pure_triton.session"))
    assert "Vector addition passed" in seen["card"]
    assert "front end accepts it" in seen["card"]
    graded = msgspec.convert(json.loads(seen["grade"]), Result)
    assert graded.environment.triton == f"{VERSION} without a compiler"
    (one,) = graded.submissions
    assert (one.puzzles[0].status, one.puzzles[0].front_end_only, one.review) == ("passed", True, "compiler")
    assert "no machine code is made. Nothing was graded, because of --require-compiler." in " ".join(
        seen["refusal"].split()
    )
