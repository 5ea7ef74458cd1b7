"""A real Ray cluster of two nodes on this machine, one of which is killed in the middle."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from checker.grading.judging import Local, judge_missing, tasks, verdict_record
from checker.grading.keys import Setting
from checker.grading.records import VerdictRecord
from checker.sandbox import Sandbox
from tests.grading.classes import VECTOR_ADD, differing, run_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'tile-by-tile[ray]'"
    ),
]
CPU = Setting(diagnose=False)


def test_a_lost_node_loses_no_verdict_and_changes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # before Ray is imported: both nodes stay on 127.0.0.1, since not every machine can reach itself by another address
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    from ray.cluster_utils import Cluster

    from checker.grading.ray_engine import RayEngine

    folder = run_folder(tmp_path, {f"learner{n}.py": text for n, text in enumerate(differing(4))})
    wanted = list(tasks(folder.collected, folder, {"vector_add": VECTOR_ADD}, CPU).values())
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
    )
    lost = cluster.add_node(num_cpus=1)
    killed = []

    def kill(made: object) -> None:
        if not killed:
            cluster.remove_node(lost, allow_graceful=False)
            killed.append(True)

    try:
        engine = RayEngine(cluster.address)
        judged = judge_missing(folder, wanted, CPU, engine, report=kill)
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
    assert (judged.stored, judged.faults, killed) == (4, [], [True])
    with Sandbox() as sandbox:
        for task in wanted:
            here, there = verdict_record(task, CPU, None, sandbox), folder.verdict(task.key)  # type: ignore[arg-type]
            assert isinstance(here, VerdictRecord)
            assert there is not None
            assert here.facts == there.facts
    assert judge_missing(folder, wanted, CPU, Local(None)).stored == 0  # type: ignore[arg-type]
