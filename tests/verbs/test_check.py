"""What `check` adds to a verdict."""

from __future__ import annotations

from argparse import Namespace

import pytest

from checker.course import PUZZLES
from checker.submission.kernel import KernelSource
from checker.verbs import check
from checker.verbs.arguments import Stopped
from checker.verbs.submissions import missing_verdict
from checker.workspace import Workspace


def test_a_card_says_how_long_the_learner_waited(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The start of a worker takes seconds that the judging does not count."""
    clock = iter([100.0, 107.5, 109.0])
    puzzle = PUZZLES["vector_add"]
    monkeypatch.setattr(check, "time", Namespace(perf_counter=lambda: next(clock)))
    monkeypatch.setattr(check, "check_source", lambda *_, **__: missing_verdict(puzzle, "", "cpu"))
    made = check.check_and_show(puzzle, KernelSource("vector_add", puzzle.kernel, "", ()))
    assert made.seconds == 7.5
    assert "7.5 s" in capsys.readouterr().out
    kernel = KernelSource("vector_add", puzzle.kernel, "", ())
    assert check.check_and_show(puzzle, kernel, started=99.0).seconds == 10.0, "a shell imports torch first"


def test_an_interrupted_check_ends_in_one_line(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check_source", interrupted)
    puzzle = PUZZLES["vector_add"]
    with pytest.raises(Stopped) as stopped:
        check.check_and_show(puzzle, KernelSource("vector_add", puzzle.kernel, "", ()))
    (line,) = stopped.value._render_traceback_()
    assert line.startswith("Stopped.")


def test_an_interrupt_while_the_film_is_made_leaves_the_verdict(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card would vanish, although the verdict counts."""
    shown: list[str] = []
    handle = Namespace(update=lambda html: shown.append(html.data))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    puzzle = PUZZLES["vector_add"]
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: handle)
    monkeypatch.setattr("checker.view.display.in_notebook", lambda: True)
    monkeypatch.setattr(check, "check_source", lambda *_, **__: missing_verdict(puzzle, "", "cpu"))
    monkeypatch.setattr(check, "folded", interrupted)
    with pytest.raises(Stopped) as stopped:
        check.check_and_show(puzzle, KernelSource("vector_add", puzzle.kernel, "", ()))
    assert "The verdict counts" in str(stopped.value)
    (card,) = shown
    assert "tbt-card" in card
