"""Each isolation layer closes its gaps, and the probe reports the gaps that stay open."""

from __future__ import annotations

import os

import pytest

from checker.sandbox import Sandbox, isolation
from tests.sandbox.conftest import works


def test_with_every_layer_there_is_no_gap(sandbox: Sandbox) -> None:
    assert sandbox.tier.endswith("rlimits")
    if isolation.NAMESPACES in sandbox.tier or isolation.SECCOMP in sandbox.tier:
        assert "network" not in sandbox.gaps
    if isolation.LANDLOCK in sandbox.tier:
        assert not {"write", "solutions"} & set(sandbox.gaps)
    assert not {"memory", "secrets"} & set(sandbox.gaps)
    assert sandbox.lost == ()
    assert (isolation.OTHER_USER in isolation.available_layers()) == (os.geteuid() == 0)


LAYERS = {
    ("seccomp",): ({"network", "memory", "signal"}, {"solutions"}),
    ("landlock",): ({"network", "write", "solutions", "signal"}, set()),
    ("namespaces",): ({"network", "memory", "signal"}, {"solutions"}),
    (): ({"memory"}, {"network", "solutions", "signal"}),
}


@pytest.mark.parametrize("layers", LAYERS, ids="+".join)
def test_each_layer_closes_its_gaps_and_the_probe_reports_the_rest(layers: tuple[str, ...]) -> None:
    missing, (closed, left_open) = set(layers) - isolation.available_layers(), LAYERS[layers]
    if missing:
        pytest.skip(f"this machine has no {missing.pop()}")
    with Sandbox(layers=layers) as weaker:
        assert set(weaker.tier.split("+")) == {*layers, "rlimits"}
        assert not closed & set(weaker.gaps)
        assert left_open <= set(weaker.gaps)
        works(weaker)
