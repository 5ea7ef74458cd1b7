"""What a class needs of one server: the sum, and that what goes into it is really measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checker.verbs import workshop_readiness as evening
from checker.verbs.doctor import DoctorReport, HealthCheck
from classroom import cli
from classroom.workshop import room_size, simulated
from classroom.workshop.room_size import Measured, needs
from classroom.workshop.simulated import SimulatedLearner, Try

MEASURED = Measured(private=200, shared=300, during=100, processor=1.8, alone=1.0, together=2.0)


def test_memory_is_a_sum() -> None:
    forty, eighty = needs(MEASURED, 40), needs(MEASURED, 80)
    assert forty.cores == 2
    assert forty.memory * 1024 == pytest.approx(1500 + 300 + 40 * (200 + 110) + 4 * 100)
    assert eighty.cores > forty.cores
    assert eighty.memory < 2 * forty.memory, "the system and what is shared count once"


def test_a_burst_takes_as_long_as_all_checks_on_all_cores() -> None:
    need = needs(MEASURED, 40)
    assert need.burst == pytest.approx(40 * 1.8 / need.cores)


def test_memory_and_processor_are_those_of_a_process_tree() -> None:
    me = os.getpid()
    assert 10 < simulated.private(me) <= simulated.memory(me)
    before = simulated.processor(me)
    sum(range(3_000_000))
    assert simulated.processor(me) >= before


@pytest.mark.exhaustive
def test_simulated_learners_check_right_and_wrong_kernels_at_once() -> None:
    with room_size.room(2) as present:
        with room_size.Watch([learner.pid for learner in present]) as watch:
            answers = simulated.at_once(present, [Try("vector_add"), Try("vector_add", "no_mask")])
        assert [answer.status for answer in answers] == ["passed", "failed"]
        assert all(answer.seconds > 0 for answer in answers)
        assert watch.peak > 100


def test_a_learner_that_died_is_noticed() -> None:
    learner = SimulatedLearner()
    os.kill(learner.pid, 9)
    with pytest.raises(RuntimeError, match="ended"):
        learner.answer()


def test_a_room_without_learners_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["size", "0"]) == 2
    assert "at least one learner" in capsys.readouterr().err


class TestEvening:
    def test_the_course_s_own_kernel_is_checked(self) -> None:
        (check,) = evening._check()
        assert (check.what, check.level) == ("a check", "ok")

    def test_the_last_line_says_whether_to_come(self) -> None:
        good = HealthCheck("a check", "ok", "vector_add passed in 1.0 s.")
        assert evening.answer(DoctorReport([good])) == "READY for the workshop: vector_add passed in 1.0 s."
        bad = HealthCheck("triton", "problem", "Triton is not installed.")
        assert evening.answer(DoctorReport([bad, good])).startswith("NOT READY: triton.")

    def test_a_folder_without_notebooks_is_no_course(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("TILE_BY_TILE_HOME", str(tmp_path))
        (check,) = evening._notebooks()
        assert check.level == "problem"
