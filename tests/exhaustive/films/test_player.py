"""Films in Chromium: every stage is legible, nothing overlaps, and a step looks the same however one gets there."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.course import LADDER, PUZZLES
from tests.films import films
from tests.films.test_player import Open

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", ["online_softmax", "flash_attention"])
def test_stage_and_controls_fit_and_are_legible(show: Open, name: str, tmp_path: Path) -> None:
    """Labels are 9 pixels high, 11 where there is room; the marked line is visible; a screen reader gets a sentence for each step."""
    html = films.solved(name, tmp_path).html
    sizes = """() => [...document.querySelectorAll('.stage text, .charts text')].map((t) => {
        const svg = t.closest('svg'), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return [parseFloat(getComputedStyle(t).fontSize) * scale, t.textContent]; }).filter(([size]) => size < %s)"""
    marked = """() => { const box = document.querySelector('.source'), line = box.querySelector('.current');
        return line.scrollWidth <= line.clientWidth && line.offsetTop >= box.scrollTop && line.offsetTop + line.offsetHeight <= box.scrollTop + box.clientHeight; }"""
    for width in (1000, 1400, 1920):
        page, sentences = show(html, width), []
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".buttons").bounding_box()["y"] + 30 <= 900
        for _ in range(5):
            assert page.evaluate(sizes % (10.95 if width == 1920 else 9)) == []
            assert page.evaluate(marked)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            sentences.append(page.locator(".says[aria-live=polite]").inner_text())
            label = page.locator("svg.stage").get_attribute("aria-label")
            assert label.split() == page.locator(".says").text_content().split()
            page.click(".next")
        assert any("maximum" in sentence for sentence in sentences), sentences


def test_films_of_the_first_notebooks_fit_one_screen_beside_a_sidebar(show: Open, tmp_path: Path) -> None:
    """JupyterLab in a window of 1400 by 900 leaves an output 948 by 779 pixels."""
    for puzzle in LADDER:
        if puzzle.notebook < "06":
            page = show(films.solved(puzzle.name, tmp_path).html, 964)
            page.set_viewport_size({"width": 964, "height": 900})
            page.locator(".scrub").fill("7")
            assert page.locator(".tbt-film").bounding_box()["height"] <= 779, puzzle.name


PICTURE = """() => [...document.querySelectorAll('.stage path, .stage text, .stage g[transform], .state td, .caption')]
    .map((n) => [n.tagName, n.getAttribute('class'), n.matches('path') ? n.getAttribute('d') : n.textContent].join(' '))"""


@pytest.mark.parametrize("name", ["online_softmax", "flash_attention_v1", "causal_linear_attention_chunked"])
def test_a_step_looks_the_same_however_one_gets_there(show: Open, name: str, tmp_path: Path) -> None:
    html = films.solved(name, tmp_path).html
    page = show(html)
    first = page.evaluate(PICTURE)
    for _ in range(5):
        page.click(".next")
    stepped = page.evaluate(PICTURE)
    page.locator(".tbt-film").press("End")
    assert page.evaluate(PICTURE) != stepped
    page.locator(".scrub").fill("5")
    assert page.evaluate(PICTURE) == stepped
    static = show(html, java_script_enabled=False)
    assert static.locator(".stage path").count() > 10
    inert = show(html.replace("<script>", "<script type='text/plain'>").replace('class="data"', ""))
    assert inert.evaluate(PICTURE) == first, "the first frame needs no script"


WIDE = {
    "row_softmax": {"sizes": {"M": 6, "N": 13}, "meta": {"BLOCK_N": 16}},
    "vector_add": {"sizes": {"N": 24}, "meta": {"BLOCK_N": 8}},
    "chunked_softmax": {"sizes": {"M": 16, "N": 1000}, "meta": {"BLOCK_N": 128}},
}
HANGING = """() => { const film = document.querySelector('.tbt-film'), edge = film.getBoundingClientRect();
    return [...film.querySelectorAll('*')].filter((n) => !n.closest('.source, script, style') && n.getClientRects().length)
        .filter((n) => { const r = n.getBoundingClientRect(); return r.right > edge.right + 1 || r.left < edge.left - 1; })
        .map((n) => n.outerHTML.slice(0, 90)); }"""
PAST_THE_STAGE = """() => { const stage = document.querySelector('.stage').getBoundingClientRect();
    return [...document.querySelectorAll('.stage text')].filter((t) => t.getBoundingClientRect().right > stage.right + 8).map((t) => t.textContent); }"""
OVERLAPS = """() => { const overlaps = [];
    const boxes = [...document.querySelectorAll('.stage text')].filter((t) => t.textContent).map((t) => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([a, r], i) => boxes.slice(i + 1).forEach(([b, s]) => {
        if (r.left + 1 < s.right && s.left + 1 < r.right && r.top + 5 < s.bottom && s.top + 5 < r.bottom) overlaps.push(a + ' over ' + b); }));
    return overlaps; }"""


def test_nothing_is_cut_off_or_overlaps(show: Open, tmp_path: Path) -> None:
    for name in PUZZLES:
        page = show(films.shoot(name, films.solution(name), tmp_path, **WIDE.get(name, {})).html)
        last = int(page.locator(".scrub").get_attribute("max"))
        for k in (last * 6 // 10, last):
            page.locator(".scrub").fill(str(k))
            for width in (600, 900, 1200):
                page.set_viewport_size({"width": width, "height": 800})
                assert (name, width, page.evaluate(HANGING)) == (name, width, [])
                assert (name, width, page.evaluate(OVERLAPS)) == (name, width, [])
                assert (name, width, page.evaluate(PAST_THE_STAGE)) == (name, width, [])
