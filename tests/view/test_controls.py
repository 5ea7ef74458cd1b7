"""Controls that run a film again."""

from __future__ import annotations

import sys

import pytest

from checker.course import PUZZLES
from checker.view.controls import film_controls
from tests.judge.helpers import solution


def test_without_widgets_it_says_how_to_get_other_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython.display

    pages: list[str] = []
    monkeypatch.setattr(IPython.display, "display", lambda html: pages.append(html.data))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert film_controls(solution("row_softmax"), PUZZLES["row_softmax"], lambda case: "", pages.append) is None
    assert len(pages) == 1
    assert "install ipywidgets" in pages[0]
