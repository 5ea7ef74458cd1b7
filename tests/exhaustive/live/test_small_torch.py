"""All kernels of the live page, in all cases, get the same verdicts with the small torch as with torch."""

from __future__ import annotations

from tests.live.test_small_torch import the_same_verdicts
from tests.pure_triton.conftest import Run, without_triton  # noqa: F401


def test_solutions_and_wrong_kernels_get_the_same_verdicts(without_triton: Run) -> None:
    the_same_verdicts(without_triton, "all")
