"""The report of a GPU, made here from tests that need none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tools.gpu_report import ROOT, markdown, rows

TESTS = """
import os, signal, pytest

def test_right():
    pass

@pytest.mark.skip(reason="so")
def test_skipped():
    pass

def test_wrong():
    assert False

@pytest.fixture
def broken():
    yield
    raise RuntimeError

def test_taken_down(broken):
    pass

def test_cut_off():
    os.kill(os.getpid(), signal.SIGKILL)

def test_never_begun():
    pass
"""


def test_a_run_that_is_cut_off_leaves_what_it_saw(tmp_path: Path) -> None:
    file, seen = tmp_path / "test_some.py", tmp_path / "rows.jsonl"
    file.write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.gpu_rows", "-p", "no:cacheprovider", str(file)]
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True, env={"GPU_ROWS": str(seen), "PATH": "/usr/bin"})
    found = {row["test"].split("::")[1]: row["outcome"] for row in rows(seen.read_text())}
    assert found == {
        "test_right": "passed",
        "test_skipped": "skipped",
        "test_wrong": "failure",
        "test_taken_down": "error",
        "test_cut_off": "not finished",
        "test_never_begun": "not finished",
    }


def test_a_time_limit_leaves_what_was_seen(tmp_path: Path) -> None:
    """The tool itself is told to end while a test hangs."""
    (tmp_path / "test_slow.py").write_text(
        "import os, signal, time, pytest\n\n@pytest.mark.gpu\ndef test_quick(monkeypatch):\n    pass\n\n"
        "@pytest.mark.gpu\ndef test_slow():\n    os.kill(os.getppid(), signal.SIGTERM)\n    time.sleep(100)\n"
    )
    code = (
        "import tools.gpu_report as tool, pathlib; tool.environment = lambda: {'device': 'NVIDIA X'}; "
        f"tool.REPORTS = tool.ROOT = pathlib.Path({str(tmp_path)!r}); "
        "raise SystemExit(tool.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PATH": "/usr/bin", "PYTHONPATH": str(ROOT)}, check=False, timeout=60,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    report = json.loads((tmp_path / "gpu-x.json").read_text())
    assert [row["outcome"] for row in report["tests"]] == ["passed", "not finished"]


def test_the_page_counts_every_outcome() -> None:
    tests = [{"test": f"t{i}", "outcome": o, "seconds": 1.0} for i, o in enumerate(("passed", "error", "not finished"))]
    report = {"environment": {"device": "NVIDIA X"}, "date": "2026-11-22", "tests": tests}
    page = markdown(json.loads(json.dumps(report)))
    assert "1 of 3 tests passed, 1 failed, 0 skipped, 1 not finished" in page
