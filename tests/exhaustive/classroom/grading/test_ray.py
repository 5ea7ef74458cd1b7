"""A real Ray cluster of two nodes on this machine, one of which is killed in the middle."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from checker.sandbox import Sandbox
from classroom.grading.judging import Local, judge_missing, stored_verdict
from classroom.grading.records import StoredVerdict
from tests.classroom.grading.classes import CPU, differing_class, wanted
from tests.classroom.grading.conftest import ROOT
from tools.companions import python_of

HERE = importlib.util.find_spec("ray") is not None


def started(cluster: Callable[..., Any], tries: int = 4) -> Any:
    """A cluster of one node. Ray gives a node 30 s to start, which one on a busy machine may miss: then another is started."""
    node = {"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    for _ in range(tries - 1):
        try:
            return cluster(initialize_head=True, head_node_args=node)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return cluster(initialize_head=True, head_node_args=node)


@pytest.mark.skipif(HERE, reason="Ray is installed here: the test below runs")
def test_where_ray_is_a_companion_the_test_below_runs_beside_it(tmp_path: Path) -> None:
    python = python_of("ray")
    if python is None:
        pytest.skip("there is no Ray: GRADING ON A CLUSTER IS NOT TESTED (tools/companions.py fetches it)")
    options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--basetemp"]
    command = [python, *options, tmp_path / "ray", __file__]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.skipif(not HERE, reason="Ray is not installed here: the test above runs this one beside it")
def test_a_lost_node_loses_no_verdict_and_changes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # before Ray is imported: both nodes stay on 127.0.0.1, since not every machine can reach itself by another address
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    from ray.cluster_utils import Cluster

    from classroom.grading.ray_engine import RayEngine

    folder = differing_class(tmp_path, 4)
    every = wanted(folder)
    cluster = started(Cluster)
    lost = cluster.add_node(num_cpus=1)
    killed = []

    def kill(made: object) -> None:
        if not killed:
            cluster.remove_node(lost, allow_graceful=False)
            killed.append(True)

    try:
        engine = RayEngine(cluster.address)
        judged = judge_missing(folder, every, CPU, engine, report=kill)
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
    assert (judged.stored, judged.faults, killed) == (4, [], [True])
    with Sandbox() as sandbox:
        for task in every:
            here, there = stored_verdict(task, CPU, None, sandbox), folder.verdict(task.key)  # type: ignore[arg-type]
            assert isinstance(here, StoredVerdict)
            assert there is not None
            assert replace(here.result, seconds=0.0) == replace(there.result, seconds=0.0)
    assert judge_missing(folder, every, CPU, Local(None)).stored == 0  # type: ignore[arg-type]
