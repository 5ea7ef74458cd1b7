"""The server that a class needs, and whether a machine is ready for a workshop."""

from __future__ import annotations

import pytest

from checker.verbs import workshop_readiness as readiness
from checker.verbs.doctor import DoctorReport, HealthCheck
from classroom import cli
from classroom.workshop.room_size import needs


def test_the_command_says_what_a_class_needs(capsys: pytest.CaptureFixture[str]) -> None:
    forty, eighty = needs(40), needs(80)
    assert 18 < forty.memory < 24 < eighty.memory < 2 * forty.memory
    assert (forty.cores, eighty.cores) == (2, 4)
    assert cli.main(["size", "40"]) == 0
    assert "20 GB of memory and 2 cores" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["size", "0"]) == 2
    assert "greater than or equal to 1" in capsys.readouterr().err


def test_the_last_line_of_the_readiness_check_says_whether_the_machine_is_ready() -> None:
    good = HealthCheck("a check", "ok", "vector_add passed in 1.0 s.")
    assert readiness.answer(DoctorReport([good])) == "READY for the workshop: vector_add passed in 1.0 s."
    bad = HealthCheck("triton", "problem", "Triton is not installed.")
    assert readiness.answer(DoctorReport([bad, good])).startswith("NOT READY: triton.")
