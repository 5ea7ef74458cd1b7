"""Progress is merged and never lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import checker
from checker import workspace
from checker.course.launchers import JUDGED
from checker.judge.verdict import Diagnosis, GateResult, Status, Verdict
from checker.simulator.trace import Traffic as Moved
from checker.verbs import progress_file
from checker.verbs.progress_file import BestTraffic, Record
from checker.view.panel import Panel
from checker.workspace import Workspace

KERNEL = "import triton\n\n@triton.jit\ndef row_softmax_kernel():\n    pass\n"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def verdict(status: Status = "passed", loaded: int = 64) -> Verdict:
    moved = {"x_ptr": (Moved(loaded=loaded), 64, 0), "y_ptr": (Moved(stored=64), 0, 64)}
    gate = GateResult("traffic", "passed", "as little as any kernel can", traffic=moved)
    gates = (gate,) if status == "passed" else ()
    return Verdict("row_softmax", "In[3]", status, "cpu", 0.1, 2.0 if status == "passed" else 0.0, 2.0, gates)


def saved(space: Workspace) -> list[str]:
    return sorted(path.name for path in (space.ours / "passed").glob("*"))


def test_attempts_are_counted_and_a_pass_stays_when_a_later_one_fails(space: Workspace) -> None:
    for status in ("failed", "passed", "compile_error"):
        progress_file.record(space, verdict(status), KERNEL)  # type: ignore[arg-type]
    record = progress_file.load(space).of("row_softmax")
    assert (record.attempts, record.status) == (3, "compile_error")
    assert record.passed
    assert record.best_traffic == BestTraffic(128, 128)
    assert len(saved(space)) == 1, "only what passed is kept"


@pytest.mark.parametrize("status", ["not_attempted", "infra_error"])
def test_an_untouched_stub_and_our_own_failures_are_not_attempts(space: Workspace, status: Status) -> None:
    progress_file.record(space, verdict(status), KERNEL)
    assert progress_file.load(space).puzzles == {}
    assert not space.ours.exists()


def test_each_passing_kernel_is_saved_once_and_never_overwritten(space: Workspace) -> None:
    faster = KERNEL + "# faster\n"
    for module in (KERNEL, KERNEL, faster):
        progress_file.record(space, verdict(), module)
    assert sorted((space.ours / "passed" / name).read_text() for name in saved(space)) == [KERNEL, faster]
    assert all(name.startswith("row_softmax-") for name in saved(space))


@pytest.fixture
def shown(space: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What `progress` prints in this folder, in one line."""
    monkeypatch.setenv(workspace.HOME_VARIABLE, str(space.root))

    def printed() -> str:
        checker.progress()
        return " ".join(capsys.readouterr().out.split())

    return printed


def test_mistakes_are_counted_and_shown_as_assumptions(space: Workspace, shown: Callable[[], str]) -> None:
    recognised = replace(verdict("failed"), diagnosis=Diagnosis("zero_in_masked_lanes"))
    for _ in range(2):
        progress_file.record(space, recognised, KERNEL)
    assert progress_file.load(space).of("row_softmax").mistakes == {"zero_in_masked_lanes": 2}
    assert "row_softmax (2 times): you may have assumed that a lane past the end of the row should hold 0" in shown()


def test_the_last_step_of_decoding_is_counted_in_its_place(space: Workspace, shown: Callable[[], str]) -> None:
    for name in list(JUDGED)[: list(JUDGED).index("paged_decode")]:
        progress_file.update(space, name, lambda record: replace(record, first_passed="2026-01-01", status="passed"))
    title = JUDGED["paged_decode"].title
    assert f"Next: {title}, in notebooks/10_merge_and_pages.ipynb. Saved" in shown()
    progress_file.update(space, "paged_decode", lambda record: replace(record, first_passed="2026-01-01"))
    assert f"Next: {title}" not in shown()


def test_several_processes_merge_and_lose_no_attempt(space: Workspace) -> None:
    code = (
        "import sys; from pathlib import Path; from dataclasses import replace\n"
        "from checker.verbs import progress_file; from checker.workspace import Workspace\n"
        "for _ in range(25):\n"
        "    progress_file.update(Workspace(Path(sys.argv[1])), sys.argv[2], lambda r: replace(r, attempts=r.attempts + 1))\n"
    )
    names = ["vector_add", "row_softmax", "row_softmax", "row_softmax"]
    workers = [subprocess.Popen([sys.executable, "-c", code, str(space.root), name]) for name in names]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    loaded = progress_file.load(space)
    assert loaded.of("row_softmax").attempts == 75
    assert loaded.of("vector_add").attempts == 25
    assert loaded.messages == ()


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", '{"schema": "progress/v1"}', '{"schema": "progress/v1", "puzzles": {"a": {"attempts": "x"}}}'],
)
def test_a_damaged_file_is_renamed_and_a_new_one_started(space: Workspace, damage: str) -> None:
    progress_file.record(space, verdict(), KERNEL)
    space.progress.write_text(damage)
    updated = progress_file.update(space, "vector_add", lambda r: replace(r, attempts=1))
    assert "A new one was started" in updated.messages[0]
    assert progress_file.load(space).of("vector_add").attempts == 1
    (aside,) = space.ours.glob("progress.damaged-*.json")
    assert aside.read_text() == damage
    assert len(saved(space)) == 1, "kernels that passed stay"
    assert progress_file.load(space).messages == ()


def test_a_file_of_a_newer_version_is_left_alone(space: Workspace) -> None:
    newer = json.dumps({"schema": "progress/v2", "puzzles": {}})
    space.ours.mkdir()
    space.progress.write_text(newer)
    updated = progress_file.update(space, "vector_add", lambda r: replace(r, attempts=1))
    assert any("another version" in message for message in updated.messages)
    assert space.progress.read_text() == newer


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / workspace.OURS).write_text("a file where the folder should be")
    updated = progress_file.record(Workspace(tmp_path), verdict(), KERNEL)
    assert updated.of("row_softmax").passed
    assert any("not saved" in message for message in updated.messages)
    assert any("This kernel was not saved" in message for message in updated.messages)


def test_nothing_half_written_is_left_behind(space: Workspace) -> None:
    progress_file.record(space, verdict(), KERNEL)
    progress_file.record(space, verdict(), KERNEL)
    names = {path.name for path in space.ours.iterdir()}
    assert names == {"progress.json", "progress.json.lock", "passed"}
    assert json.loads(space.progress.read_text())["schema"] == "progress/v1"


def test_an_unknown_field_of_a_record_does_not_damage_a_file(space: Workspace) -> None:
    space.ours.mkdir()
    space.progress.write_text('{"schema": "progress/v1", "puzzles": {"vector_add": {"attempts": 2, "mood": "good"}}}')
    loaded = progress_file.load(space)
    assert (loaded.of("vector_add"), loaded.messages) == (Record(attempts=2), ())


class TestWorkspace:
    @pytest.mark.parametrize(
        ("folders", "start"),
        [
            (["notebooks/deep", "puzzles"], "notebooks/deep"),
            (["notebooks", "puzzles/deep"], "puzzles"),
            ([], "."),
            ([workspace.OURS, "sub"], "sub"),
        ],
        ids=["deep inside", "from a course folder", "the folder itself", "a folder used before"],
    )
    def test_it_is_found(self, folders: list[str], start: str, tmp_path: Path) -> None:
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)
        assert workspace.find(tmp_path / start).root == tmp_path

    def test_a_replaced_file_keeps_its_permissions(self, tmp_path: Path) -> None:
        file = tmp_path / "row_softmax.py"
        file.write_text("old")
        os.chmod(file, 0o640)
        workspace.write_atomically(file, "new")
        assert file.read_text() == "new"
        assert file.stat().st_mode & 0o777 == 0o640

    def test_waiting_too_long_for_a_lock_raises(self, tmp_path: Path) -> None:
        with (
            workspace.locked(tmp_path / "x"),
            pytest.raises(TimeoutError, match="another process"),
            workspace.locked(tmp_path / "x", patience=0.05),
        ):
            pytest.fail("the lock was given twice")


def test_the_table_fits_into_a_narrow_notebook(
    space: Workspace, shown: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of 1000 pixels leaves about 70 characters beside the list of files."""
    for puzzle in JUDGED.values():
        progress_file.update(
            space,
            puzzle.name,
            lambda record: replace(record, attempts=12, hints=3, first_passed="2026-01-01", status="passed"),
        )
    panels: list[Panel] = []
    monkeypatch.setattr(Panel, "show", lambda panel: panels.append(panel))
    checker.progress()
    (panel,) = panels
    columns = zip(panel.heads, *([cell.text for cell in row] for row in panel.rows), strict=True)
    assert sum(max(len(text) for text in column) + 1 for column in columns) <= 70
