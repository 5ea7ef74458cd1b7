"""With every isolation layer there is no gap, and without any the probe reports the gaps."""

from __future__ import annotations

import os
from pathlib import Path

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


def test_without_a_layer_the_probe_reports_what_a_job_can_reach() -> None:
    with Sandbox(layers=()) as open_to_all:
        assert open_to_all.tier == "rlimits"
        assert "memory" not in open_to_all.gaps
        assert {"network", "solutions", "signal"} <= set(open_to_all.gaps)
        works(open_to_all)


def test_no_link_leads_a_kernel_to_the_solutions_of_an_installation(tmp_path: Path) -> None:
    material, beside = tmp_path / "lib" / "checker" / "material", tmp_path / "lib" / "numpy"
    for folder in (material, beside):
        folder.mkdir(parents=True)
    (tmp_path / "lib64").symlink_to("lib")  # as every venv has
    readable = [path.resolve() for path in isolation._without(tmp_path, material)]
    assert beside in readable
    assert not any(material.is_relative_to(path) for path in readable)
