"""What the fast solutions are tested with, in every combination."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

WIDTHS, BOTH = (64, 128), (False, True)
HALVES = (torch.bfloat16, torch.float16)


def every(**values: Iterable[object]) -> Callable[[Any], Any]:
    """A test for each combination of these values; in its name the last ones come first."""

    def parametrized(test: Any) -> Any:
        for name, some in reversed(values.items()):
            test = pytest.mark.parametrize(name, list(some), ids=str)(test)
        return test

    return parametrized
