"""The builder: what is not written does not exist."""

import pytest

from checker.simulator.builder import Primitives
from checker.simulator.errors import Unsupported


def test_memory_operations_are_known_or_refused():
    """Whatever a newer Triton adds, an operation we did not write cannot reach a virtual address."""
    builder = Primitives()
    with pytest.raises(Unsupported, match="does not know"):
        builder.create_something_new()
    with pytest.raises(AttributeError):
        builder.anything_else  # noqa: B018
