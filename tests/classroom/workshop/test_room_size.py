"""The server that a class needs, and whether a machine is ready for a workshop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checker.verbs import workshop_readiness as readiness
from checker.verbs.doctor import DoctorReport, HealthCheck
from classroom import cli
from classroom.workshop import room_size
from classroom.workshop.room_size import Measured, SimulatedLearner, Try, needs


def test_memory_and_the_burst_are_sums(capsys: pytest.CaptureFixture[str]) -> None:
    measured = Measured(private=200, shared=300, during=100, processor=1.8, alone=1.0, together=2.0)
    forty, eighty = needs(measured, 40), needs(measured, 80)
    assert forty.cores == 2 < eighty.cores
    assert forty.memory * 1024 == pytest.approx(1500 + 300 + 40 * (200 + 110) + 4 * 100)
    assert forty.burst == pytest.approx(40 * 1.8 / forty.cores)
    assert cli.main(["size", "0"]) == 2
    assert "greater than or equal to 1" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_simulated_learners_are_measured_while_they_check() -> None:
    me = os.getpid()
    assert 10 < room_size.private_memory(me) <= room_size.memory(me)
    with room_size.room(2) as people:
        pids = [learner.pid for learner in people]
        with room_size.Watch(pids) as watch:
            answers = room_size.check_at_once(people, [Try("vector_add"), Try("vector_add", "no_mask")])
        assert [answer.status for answer in answers] == ["passed", "failed"]
        assert all(answer.seconds > 0 for answer in answers)
        assert watch.peak > 100
        assert room_size.processor(pids[0]) > 0


def test_a_dead_learner_is_noticed() -> None:
    learner = SimulatedLearner()
    os.kill(learner.pid, 9)
    with pytest.raises(RuntimeError, match="ended"):
        learner.answer()


def test_the_last_line_of_the_readiness_check_says_whether_the_machine_is_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (check,) = readiness._check()
    assert (check.what, check.level) == ("a check", "ok")
    good = HealthCheck("a check", "ok", "vector_add passed in 1.0 s.")
    assert readiness.answer(DoctorReport([good])) == "READY for the workshop: vector_add passed in 1.0 s."
    bad = HealthCheck("triton", "problem", "Triton is not installed.")
    assert readiness.answer(DoctorReport([bad, good])).startswith("NOT READY: triton.")
    monkeypatch.setenv("TILE_BY_TILE_HOME", str(tmp_path))
    (check,) = readiness._notebooks()
    assert check.level == "problem"
