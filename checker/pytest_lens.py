"""A plugin for pytest: `pytest --lens` simulates the launches of all tests, and fails those whose kernels do something wrong.

    pytest --lens tests

Where the course is not installed, add `-p checker.pytest_lens`. A test that takes the fixture `lens` gets the report of its own launches, with
or without `--lens`, and judges the findings itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # pytest loads this module in any project
    from checker.lens.report import Report

_WHOLE_RUN = pytest.StashKey[contextlib.ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lens")
    group.addoption("--lens", action="store_true", help="simulate Triton launches without a GPU, and fail on findings")
    group.addoption("--lens-seconds", type=float, default=60.0, metavar="S", help="the most time that one launch takes")


def pytest_configure(config: pytest.Config) -> None:
    """The whole run goes through the lens: tests ask for a GPU while they are collected, too."""
    if config.getoption("--lens"):
        config.stash[_WHOLE_RUN] = contextlib.ExitStack()
        config.stash[_WHOLE_RUN].enter_context(_looking(config, pretend=True))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _WHOLE_RUN in config.stash:
        config.stash[_WHOLE_RUN].close()


@pytest.fixture
def lens(pytestconfig: pytest.Config) -> Iterator[Report]:
    """The report of the launches of this test."""
    with _looking(pytestconfig, pretend=_WHOLE_RUN not in pytestconfig.stash) as report:
        yield report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if _WHOLE_RUN not in item.config.stash or "lens" in getattr(item, "fixturenames", ()):
        return (yield)
    with _looking(item.config, pretend=False) as report:
        result = yield
    if report.findings:
        pytest.fail(str(report), pytrace=False)
    return result


def _looking(config: pytest.Config, pretend: bool) -> Any:
    from checker.lens import lens as looking

    return looking(quiet=True, pretend=pretend, seconds=config.getoption("--lens-seconds"))
