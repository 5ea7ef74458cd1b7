"""The site: what it is made of, and that nothing in it loads from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.course import LADDER
from tools import site

STAGE = '<svg class="stage" viewBox="0 0 4 2"><path d="M0 0h4"/></svg>'


def test_every_notebook_is_shown_with_every_stub_solved() -> None:
    notebooks = site.solved()
    assert {puzzle.notebook for puzzle in LADDER} <= set(notebooks)
    for puzzle in LADDER:
        (cell,) = [cell for cell in notebooks[puzzle.notebook].cells if cell.id == f"stub-{puzzle.name}"]
        assert cell.source in (site.ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8")
        assert any(c.source == f"film({puzzle.kernel})" for c in notebooks[puzzle.notebook].cells), "no film to show"


@pytest.mark.parametrize(
    ("page", "loaded"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "https://cdn.example/a.js"),
        ('<link rel="preload stylesheet" href="//cdn.example/a.css">', "//cdn.example/a.css"),
        ('<svg><image xlink:href="http://cdn.example/a.png"/></svg>', "http://cdn.example/a.png"),
        ("<style>@font-face{src:url('https://cdn.example/a.woff2')}</style>", "https://cdn.example/a.woff2"),
        ('@import "//cdn.example/a.css";', "//cdn.example/a.css"),
    ],
    ids=["script", "style sheet", "picture", "font", "import"],
)
def test_what_is_loaded_from_outside_is_found(page: str, loaded: str) -> None:
    assert site.read_page(page).loaded == [loaded]


def test_links_and_names_are_not_loaded() -> None:
    page = '<a href="https://arxiv.org"></a><link rel="next" href="https://a.example"><svg xmlns="http://www.w3.org/2000/svg"/>'
    assert site.read_page(page + '<script src="_static/site.js"></script>').loaded == []


def test_links_that_lead_nowhere_and_paths_of_the_machine_are_found(tmp_path: Path) -> None:
    links = '<a href="b.html#part"></a><a href="c.ipynb"></a><a href="#here"></a><a href="https://arxiv.org"></a>'
    (tmp_path / "a.html").write_text(links + f"{site.ROOT}/checker", "utf-8")
    (tmp_path / "b.html").write_text("", "utf-8")
    assert list(site.flaws(tmp_path)) == ["a.html leads to c.ipynb", f"a.html names {site.ROOT}"]


def test_templates_load_nothing_from_outside() -> None:
    templates = [path for path in site.CONFIG.rglob("*.*") if path.suffix in (".md", ".css", ".js", ".py")]
    assert {path.name for path in templates} == {"conf.py", "index.md", "site.css", "site.js"}
    assert [
        path.name for path in templates if "//" in re.sub(r"^ *//.*", "", path.read_text("utf-8"), flags=re.M)
    ] == []
