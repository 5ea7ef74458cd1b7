"""A session on a system like macOS. The ordinary tests take one on a system like Windows, which lacks more."""

from __future__ import annotations

from checker.sandbox import Sandbox
from tests.sandbox.test_other_systems import works_without_linux


def test_a_learner_works_on_macos() -> None:
    with Sandbox() as sandbox:
        assert works_without_linux("Darwin", sandbox)["greedy"] == "resource_limit"
