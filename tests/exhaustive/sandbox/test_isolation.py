"""Each isolation layer by itself closes its gaps, and the probe reports those that stay open."""

from __future__ import annotations

import pytest

from checker.sandbox import Sandbox, isolation
from tests.sandbox.conftest import works

LAYERS = {
    "seccomp": ({"network", "memory", "signal"}, {"solutions"}),
    "landlock": ({"network", "write", "solutions", "signal"}, set()),
    "namespaces": ({"network", "memory", "signal"}, {"solutions"}),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_closes_its_gaps_and_the_probe_reports_the_rest(layer: str) -> None:
    closed, left_open = LAYERS[layer]
    if layer not in isolation.available_layers():
        pytest.skip(f"this machine has no {layer}")
    with Sandbox(layers=(layer,)) as weaker:
        assert weaker.tier == f"{layer}+rlimits"
        assert not closed & set(weaker.gaps)
        assert left_open <= set(weaker.gaps)
        works(weaker)
