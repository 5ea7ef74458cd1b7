"""Learners and graders do not wait for a part of torch that no kernel needs."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import pytest

from checker.sandbox import late_import


def test_a_late_module_runs_when_a_name_is_taken_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needed_late.py").write_text("import sys\nsys.has_run = True\nANSWER = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(late_import, "_LATE", "needed_late")
    monkeypatch.setattr(late_import, "_GPUS", ())
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    late_import.import_torch_sooner()
    module = importlib.import_module("needed_late")
    assert inspect.getsourcefile(module) == str(tmp_path / "needed_late.py")
    assert not hasattr(sys, "has_run")
    assert module.ANSWER == 42
    assert vars(sys).pop("has_run")
    assert not hasattr(module, "ANOTHER")
