"""Without Triton's wheel, its front end says the same words and lines about every wrong kernel, known or made by a slip of the hand."""

from __future__ import annotations

from pathlib import Path

from tests.pure_triton.conftest import Run
from tests.pure_triton.test_pure_triton import same_answers, same_version


@same_version
def test_every_wrong_kernel_of_the_bank_gets_the_same_answer(without_triton: Run, tmp_path: Path) -> None:
    assert len(same_answers(without_triton, tmp_path, "bank")) > 600


@same_version
def test_mechanical_mutants_get_the_same_answer(without_triton: Run, tmp_path: Path) -> None:
    answers = same_answers(without_triton, tmp_path, "mutants")
    refused = [name for name, (taken, *_) in answers.items() if not taken]
    assert len(answers) >= 270
    assert 50 < len(refused) < len(answers)
