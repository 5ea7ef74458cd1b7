"""What stands below a cell when something went wrong: edited, stopped, undefined or unrun cells are never judged by an older kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker.workspace import Workspace
from tests.verbs.test_notebook import RIGHT, Run, html, run  # noqa: F401
from tools import setup_venv


def error_of(outputs: list[Any]) -> str:
    """The message of the one error below a cell."""
    (told,) = [output["evalue"] for output in outputs if output["output_type"] == "error"]
    return str(told)


WRONG = RIGHT.replace("x + y", "x - y")


FAILS = (
    "from checker import check, film",
    WRONG,
    "check(vector_add_kernel, device='cpu')",
    "film(vector_add_kernel, case='failing')",
    "film(vector_add_kernel)",
)


def test_a_red_card_holds_the_film_of_the_failing_case(run: Run) -> None:
    """One click opens it; `film` shows the same below a cell, and no film of a wrong kernel is without its verdict."""
    _, _, (card,), (asked,), (own, *_) = run(FAILS)
    assert "tbt-card bad" in html(card)
    assert "Watch it fail" in html(card)
    assert "film(vector_add_kernel, case=&#34;failing&#34;)" in html(card)
    for film in (card, asked, own):
        assert "This kernel does not pass. Vector addition gives wrong numbers." in html(film)
        assert 'class="first-wrong"' in html(film)


UNCLOSED = RIGHT.replace("tl.program_id(0)", "tl.program_id(0")


STOPPED = "TWO = 1 / 0\n" + RIGHT


EDITED = (
    "from checker import check, film",
    RIGHT,
    UNCLOSED,
    "check(vector_add_kernel, device='cpu')",
    "film(vector_add_kernel, N=6)",
    RIGHT,
    "check(vector_add_kernel, device='cpu')",
    STOPPED,
    "check(vector_add_kernel, device='cpu')",
    "before = vector_add_kernel",
    RIGHT + "\n\nx = 1",
    "check(before, device='cpu')",
    "vector_add_kernel = before\ncheck(vector_add_kernel, device='cpu')",
)


def test_a_cell_that_failed_leaves_an_old_kernel_which_is_not_judged(run: Run) -> None:
    """A cell with a syntax error defines nothing; the name still holds what an earlier cell put there."""
    assert UNCLOSED != RIGHT
    line = next(n for n, text in enumerate(UNCLOSED.split("\n"), 1) if "tl.program_id(0" in text)
    (_, _, _, unclosed, unfilmed, _, mended, _, stopped, _, _, older, rebound) = run(EDITED)

    told = f"The cell that defines `vector_add_kernel` (In[3]) has a syntax error on line {line}: '(' was never closed."
    for outputs in (unclosed, unfilmed):
        assert not any("tbt-card" in html(output) or "tbt-film" in html(output) for output in outputs)
        assert error_of(outputs).startswith(told)
        assert "run it again" in error_of(outputs)

    assert "tbt-card good" in html(mended[0])

    assert "In[8]) stopped with an error before it got there" in error_of(stopped)
    assert not any("tbt-card" in html(output) for output in stopped)

    # an older version that somebody kept is what they mean, and so is one they put back
    assert "tbt-card good" in html(older[0])
    assert "tbt-card good" in html(rebound[0])


BELOW_MAGIC = (
    "from checker import check",
    RIGHT,
    "%%time\n" + UNCLOSED,
    "check(vector_add_kernel, device='cpu')",
    RIGHT,
    "%%time\n" + RIGHT,
    "check(vector_add_kernel, device='cpu')",
    "%%capture\n" + RIGHT,
    "check(vector_add_kernel, device='cpu')",
    "%%writefile kept.py\n" + UNCLOSED,
    "check(vector_add_kernel, device='cpu')",
)


def test_a_cell_below_a_magic_is_read_like_any_other(run: Run) -> None:
    """IPython keeps such a cell as a call with its text in it, and Triton cannot read a kernel that was run as a string."""
    line = next(n for n, text in enumerate(UNCLOSED.split("\n"), 2) if "tl.program_id(0" in text)
    _, _, _, unclosed, _, _, timed, _, captured, _, written = run(BELOW_MAGIC)

    assert f"(In[3]) has a syntax error on line {line}: '(' was never closed." in error_of(unclosed)
    assert "(In[6]) did not get there: below %%time Triton cannot read a kernel's source" in error_of(timed)
    for outputs in (unclosed, timed):
        assert not any("tbt-card" in html(output) for output in outputs)
    assert "tbt-card good" in html(captured[0])
    assert "tbt-card good" in html(written[0]), "a cell that only writes a file defines nothing"


MISSING = (
    "from checker import check",
    "check(vector_add_kernel)",
    UNCLOSED,
    "check(vector_add_kernel)",
    "undefined_kernel",
    "vector_add_stub",
)


def test_a_kernel_that_is_not_defined_yet_names_the_cell_to_run(run: Run) -> None:
    _, early, _, broken, other, ordinary = run(MISSING)

    for outputs in (early, broken, other, ordinary):
        assert outputs[0]["ename"] == "NameError", "Python's own message stays"
    assert 'Run the cell above that defines <code class="whole">vector_add_kernel</code> first' in html(early[1])
    assert "(In[3]) has a syntax error on line" in html(broken[1])
    assert len(other) == len(ordinary) == 1, "names that are none of the course's kernels are left alone"


SAVED_LATER = """\
import json, os, time
from pathlib import Path
later = vector_add_source.replace("x + y", "x - y")
cell = {"cell_type": "code", "source": later, "metadata": {}, "outputs": [], "execution_count": None, "id": "a"}
Path("open.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
os.environ["JPY_SESSION_NAME"] = str(Path("open.ipynb").resolve())
"""


STALE = (
    "from checker import check, hint",
    RIGHT,
    "check(vector_add_kernel, device='cpu')",
    f"vector_add_source = {RIGHT!r}\n{SAVED_LATER}",
    "check(vector_add_kernel, device='cpu')",
    "import time; os.utime('open.ipynb', (time.time() - 1000,) * 2)",
    "check(vector_add_kernel, device='cpu')",
)


def test_a_cell_that_was_edited_and_not_run_is_not_judged(run: Run) -> None:
    """The saved notebook holds another text than the one that was run; an older file says nothing."""
    _, _, before, _, stale, _, old_file = run(STALE)
    assert "tbt-card good" in html(before[0])
    assert "In [2]" in html(before[0]), "the card names the cell it judged"
    assert "was edited after it was run as In [2]. Run it (Shift+Enter), then check again." in error_of(stale)
    assert not any("tbt-card" in html(output) for output in stale)
    assert "tbt-card good" in html(old_file[0])


def test_run_all_uses_up_no_hint(run: Run, space: Workspace) -> None:
    together = ("from checker import hint", "hint('vector_add')", "hint('vector_add')")
    _, first, second = run(together)
    assert "no hint was used up" in html(first[0])
    assert "no hint was used up" in html(second[0])
    assert not space.progress.exists()
    _, asked_for = run(("from checker import hint", "hint('vector_add', 1)"))
    assert "Hint 1 of 3" in html(asked_for[0]), "one that is asked for by its number is shown"


def test_after_a_restart_the_first_cell_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that set-up writes into `.venv`, in a session of their own."""
    monkeypatch.setattr(setup_venv, "VENV", str(tmp_path))
    setup_venv.tell_ipython()
    (tmp_path / "etc/ipython").rename(tmp_path / "profile_default")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    missing, other = run(("check(vector_add_kernel)", "undefined"))
    said = "".join(output.get("text", "") for output in missing)
    assert "does not know `check` yet. Run the first cell of this notebook" in said
    assert len(other) == 1, "any other name is left to Python"
