"""Every maintainers' tool starts and says how it is used."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = [
    path.relative_to(ROOT).as_posix()
    for folder in ("tools", "bench")
    for path in sorted((ROOT / folder).glob("*.py"))
    if '__name__ == "__main__"' in (text := path.read_text("utf-8")) and ("typer" in text or "argparse" in text)
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(script, run_name="__main__")
    assert stop.value.code in (0, None)
    assert "usage" in capsys.readouterr().out.lower()


def test_makefile_tools_and_workflows_name_tests_that_exist() -> None:
    """pytest runs nothing at all where one of the files it is given is missing."""
    files = [ROOT / "Makefile", ROOT / "tools/test-matrix", *(ROOT / "tools").glob("*.py")]
    files += (ROOT / ".github/workflows").glob("*.yml")
    named = {
        (file.name, path) for file in files for path in re.findall(r"\btests/[\w/]+(?:\.py)?", file.read_text("utf-8"))
    }
    assert [(file, path) for file, path in sorted(named) if not (ROOT / path).exists()] == []
