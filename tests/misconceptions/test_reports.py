"""The report on mutants covers the course as it is now."""

from __future__ import annotations

import subprocess
import sys


def test_the_report_covers_the_bank_and_explains_every_survivor() -> None:
    check = [sys.executable, "-m", "tools.mutants", "--check"]
    outcome = subprocess.run(check, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_a_sample_of_mutants_is_judged() -> None:
    sample = [sys.executable, "-m", "tools.mutants", "bank", "mechanical", "--puzzle=vector_add", "--sample=1"]
    outcome = subprocess.run([*sample, "--jobs=1"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert "1 tried, 1 killed" in outcome.stdout
