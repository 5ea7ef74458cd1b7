"""``python -m classroom``: the stages as an instructor types them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from checker.sandbox import Sandbox
from classroom import cli
from classroom.grading.store import RunFolder
from tests.classroom.grading.classes import laid_out, run_folder
from tests.classroom.grading.conftest import RIGHT, STUB, UNMASKED


def test_wrong_usage_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(tmp_path, {"anna.py": RIGHT})
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        ([], "Grade a class"),
        (["judge", "nowhere"], "nothing was collected in nowhere"),
        (["score", "nowhere"], "nothing was collected in nowhere"),
        (["score", "run"], "nothing was judged in run yet: python -m classroom judge run"),
        (["report", "nowhere"], "nothing was scored in nowhere"),
        (["judge", "run", "--shard", "3/2"], "--shard takes I/N"),
        (["judge", "run", "--jobs", "0"], "--jobs has to be at least 1"),
        (["collect", ".", "--puzzle", "softmaxx"], "There is no puzzle called softmaxx"),
        (["judge", "run", "--require-isolation", "moat"], "not moat"),
        (["one", "."], "needs the puzzles"),
    ):
        assert cli.main(arguments) == 2, arguments
        printed = capsys.readouterr()
        assert message in printed.out + printed.err


def test_one_command_does_the_four_stages(tmp_path: Path) -> None:
    laid_out(tmp_path / "class", {"anna/vector_add.py": RIGHT, "bob/vector_add.py": UNMASKED})
    options = ["--puzzle", "vector_add", "--device", "cpu", "-o", str(tmp_path / "run")]
    assert cli.main(["all", str(tmp_path / "class"), *options]) == 0
    result = RunFolder(tmp_path / "run").results
    assert {one.learner.id: one.score for one in result.submissions} == {"anna": 1.0, "bob": 0.7}
    assert (tmp_path / "run" / "report" / "class.html").is_file()


def test_whose_an_unmatched_folder_is_is_settled_by_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid_out(tmp_path / "class", {"j.smith/a.py": RIGHT, "J-Smith/a.py": UNMASKED, "ZOE/a.py": STUB})
    (tmp_path / "roster.csv").write_text("id\njsmith\nzoe\n")
    run = tmp_path / "run"
    collect = ["collect", str(tmp_path / "class"), "--roster", str(tmp_path / "roster.csv"), "-o", str(run)]
    assert cli.main(collect) == 0
    printed = capsys.readouterr().out
    assert "matched by likeness: ZOE is zoe" in printed
    assert "unmatched, because they may be several people: J-Smith, j.smith" in printed
    text = (run / "unmatched.csv").read_text()
    assert text == "handed_in,id,candidates\nJ-Smith,,jsmith\nj.smith,,jsmith\n"
    (tmp_path / "match.csv").write_text(text.replace("j.smith,", "j.smith,jsmith"))
    assert cli.main([*collect, "--match", str(tmp_path / "match.csv")]) == 0
    found = {one.person.id: len(one.kernels) for one in RunFolder(run).collected.learners}
    assert found == {"jsmith": 1, "zoe": 1, "J-Smith": 1}
    (tmp_path / "match.csv").write_text("handed_in,id\nj.smith,nobody\n")
    assert cli.main([*collect, "--match", str(tmp_path / "match.csv")]) == 2
    assert "nobody on the roster has the id nobody" in capsys.readouterr().err


def test_less_isolation_than_required_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Sandbox, "shared", lambda: Namespace(tier="rlimits", gaps=(), lost=()))
    folder = run_folder(tmp_path, {"anna.py": RIGHT})
    assert cli.main(["judge", str(folder.path), "--device", "cpu", "--require-isolation", "full"]) == 3
    assert "this machine lacks landlock, namespaces, seccomp" in capsys.readouterr().err
