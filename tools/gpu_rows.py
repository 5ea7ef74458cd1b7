"""A pytest plugin: what became of each test, a line of JSON as soon as it is known, so that a run that is cut off leaves what it saw.

``GPU_ROWS`` names the file. Lines are ``{"test", "outcome", "seconds"}``; a test that was only collected or begun is `not finished`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def _write(test: str, outcome: str, seconds: float = 0.0) -> None:
    with Path(os.environ["GPU_ROWS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"test": test, "outcome": outcome, "seconds": round(seconds, 2)}) + "\n")


def pytest_collection_finish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # a worker of pytest-xdist: the process that started it writes
        for item in session.items:
            _write(item.nodeid, "not finished")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    for test in ids if node.gateway.id == "gw0" else ():
        _write(test, "not finished")


@pytest.hookimpl
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when == "call":
        _write(report.nodeid, "failure" if report.failed else report.outcome, report.duration)
    elif report.failed:
        _write(report.nodeid, "error", report.duration)
    elif report.skipped:
        _write(report.nodeid, "skipped", report.duration)
