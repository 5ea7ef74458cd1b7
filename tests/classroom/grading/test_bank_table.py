"""The table of what wrong kernels do: the same after a round through the disk, and no fault where it cannot be read or written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from checker.judge import combined_kernel
from checker.judge.combined_kernel import behaviours, remembered
from checker.judge.launches import prepare
from checker.judge.likeness import Behaviour
from checker.misconceptions import bank
from checker.sandbox import Sandbox
from classroom.grading import bank_table
from tests.classroom.grading.classes import VECTOR_ADD


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(combined_kernel, "_REMEMBERED", {})
    return tmp_path / "tile-by-tile"


class Refuses:
    """A runner for runs that must not be needed."""

    def simulate(self, *asked: object) -> Iterator[object]:
        raise AssertionError("run again")


def run(runner: object) -> list[Behaviour]:
    tasks = [(wrong, prepare(VECTOR_ADD, case)) for wrong in bank("vector_add") for case in VECTOR_ADD.cases[:2]]
    return list(behaviours(VECTOR_ADD, runner, tasks))  # type: ignore[arg-type]


def test_the_next_process_runs_nothing_again(cache: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(sandbox)
    bank_table.save([VECTOR_ADD])
    monkeypatch.setattr(combined_kernel, "_REMEMBERED", {})
    bank_table.load([VECTOR_ADD])
    after = run(Refuses())
    assert any(one.lanes for one in before)
    for one, other in zip(before, after, strict=True):
        nothing = {"values": {}, "errors": {}, "stored": {}}
        assert replace(one, **nothing) == replace(other, **nothing)
        for mine, theirs in ((one.values, other.values), (one.errors, other.errors), (one.stored, other.stored)):
            assert mine.keys() == theirs.keys()
            assert all(torch.equal(mine[name].nan_to_num(7.0), theirs[name].nan_to_num(7.0)) for name in mine)


@pytest.mark.parametrize("damage", [b"", b"x", b"\x78\x01\x03\x00\x00\x00\x00\x01"])
def test_a_damaged_table_is_made_again(cache: Path, sandbox: Sandbox, damage: bytes) -> None:
    run(sandbox)
    bank_table.save([VECTOR_ADD])
    (table,) = cache.iterdir()
    whole = table.read_bytes()
    table.write_bytes(damage)
    bank_table.load([VECTOR_ADD])
    assert remembered(VECTOR_ADD).behaviours
    bank_table.save([VECTOR_ADD])
    assert len(table.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written_is_no_fault(cache: Path, sandbox: Sandbox) -> None:
    cache.write_text("a file where the folder should be")
    run(sandbox)
    bank_table.save([VECTOR_ADD])
