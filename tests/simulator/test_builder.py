"""The builder: what is not written does not exist."""

import pytest

from checker.simulator.builder import Builder
from checker.simulator.errors import Unsupported
from checker.simulator.findings import Findings
from checker.simulator.location import Locator
from checker.simulator.memory import Memory
from checker.simulator.recorder import Recorder
from checker.simulator.trace import SimulateOptions


def test_memory_operations_are_known_or_refused():
    """Whatever a newer Triton adds, an operation we did not write cannot reach a virtual address."""
    locator = Locator()
    findings = Findings(locator, (1, 1, 1))
    builder = Builder(Memory(Recorder(SimulateOptions(), locator, findings), findings))
    with pytest.raises(Unsupported, match="does not know"):
        builder.create_something_new()
    with pytest.raises(AttributeError):
        builder.anything_else  # noqa: B018
