"""The film in Chromium: it plays, scrubs and steps, and what moves is what should."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.view.card import card_html
from tests.films import films
from tests.view import verdicts

pytestmark = pytest.mark.browser

Page = Any  # playwright.sync_api.Page
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def softmax(tmp_path_factory: pytest.TempPathFactory) -> films.Shot:
    """Four programs that load and store a row each."""
    return films.solved("row_softmax", tmp_path_factory.mktemp("softmax"))


def current_line(page: Page) -> int:
    return int(page.locator(".source .current i").inner_text())


def tile(page: Page) -> tuple[float, float]:
    x, y = re.match(r"M([\d.]+) ([\d.]+)h", page.locator(".stage .edge").last.get_attribute("d") or "").groups()
    return float(x), float(y)


def test_stepping_moves_the_tile_the_line_the_state_and_the_bars(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    seen = []
    for k, event in enumerate(softmax.trace.events):
        assert page.locator(".clock").inner_text() == f"{k + 1} / {len(softmax.trace.events)}"
        assert current_line(page) == event.line
        assert page.locator(".kind").first.inner_text() == event.kind
        assert f"program {event.program[0]}" in page.locator(".facts").first.inner_text()
        assert page.locator("table.state tr").first.inner_text().split() == ["program", str(event.program[0])]
        seen.append(tile(page))
        page.click(".next")
    assert len(set(seen)) == len(seen)
    assert page.locator(".traffic .words").all_inner_texts() == ["112 B of 112 B, 1 pass", "112 B of 112 B, 1 pass"]


def test_the_keys_of_a_page_work_without_a_click(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.keyboard.press("ArrowRight")
    assert page.locator(".clock").inner_text() == "2 / 8"


def test_play_goes_to_the_end_and_stops(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.select_option(".speed", "4")
    page.click(".play")
    assert page.locator(".play").get_attribute("aria-label") == "Pause"
    page.wait_for_function("() => document.querySelector('.clock').textContent === '8 / 8'")
    page.wait_for_function("() => document.querySelector('.play').getAttribute('aria-label') === 'Play'")
    assert current_line(page) == softmax.trace.events[-1].line


def test_keys_and_slider(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    film, clock = page.locator(".tbt-film"), page.locator(".clock")
    for key, at in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", 8), ("Home", 1)):
        film.press(key)
        assert clock.inner_text() == f"{at} / 8"
    film.press(" ")
    assert "playing" in (film.get_attribute("class") or "")
    film.press(" ")
    assert "playing" not in (film.get_attribute("class") or "")
    page.locator(".scrub").fill("5")
    assert clock.inner_text() == "6 / 8"
    page.locator(".scrub").press("ArrowRight")
    assert clock.inner_text() == "7 / 8"
    assert "y[2" in (page.locator(".scrub").get_attribute("aria-valuetext") or "") or "x[3" in (
        page.locator(".scrub").get_attribute("aria-valuetext") or ""
    )


def test_one_program_and_the_wave(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.select_option(".who", "2")
    assert page.locator(".clock").inner_text() == "1 / 2"
    assert page.locator(".what").inner_text() == "x[2, 0:7]"
    page.select_option(".who", "-1")
    page.select_option(".order", "wave")
    page.locator(".tbt-film").press("Home")
    told = []
    for _ in softmax.trace.events:
        told.append(page.locator(".what").inner_text())
        page.click(".next")
    assert told == [f"x[{p}, 0:7]" for p in range(4)] + [f"y[{p}, 0:7]" for p in range(4)]


def test_one_program_is_measured_by_its_own_bytes(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.select_option(".who", "2")
    assert page.locator(".measure").inner_text() == "bytes so far, of all that program 2 moves"
    assert page.locator(".traffic .words").all_inner_texts() == ["28 B of 28 B", "0 B of 28 B"]
    page.locator(".tbt-film").press("End")
    bars = "() => [...document.querySelectorAll('.traffic .bar')].map((n) => [n.style.getPropertyValue('--moved'), n.style.getPropertyValue('--budget')])"
    assert page.evaluate(bars) == [["100.00%", "-9px"], ["100.00%", "-9px"]]
    page.select_option(".who", "-1")
    page.locator(".tbt-film").press("End")
    assert page.locator(".traffic .words").first.inner_text() == "112 B of 112 B, 1 pass"
    assert page.evaluate(bars)[0] == ["100.00%", "100.00%"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", [1000, 1400, 1920])
@pytest.mark.parametrize("name", ["online_softmax", "flash_attention"])
def test_stage_and_controls_are_seen_together_and_can_be_read(
    show: Open, name: str, width: int, tmp_path: Path
) -> None:
    """No label is below 11 pixels, the marked line is there as a whole, and a sentence for each step reaches a screen reader."""
    page = show(films.solved(name, tmp_path).html, width)
    page.set_viewport_size({"width": width, "height": 900})
    film, said = page.locator(".tbt-film"), []
    assert page.locator(".buttons").bounding_box()["y"] + 30 <= 900
    sizes = """() => [...document.querySelectorAll('.stage text, .charts text')].map((t) => {
        const svg = t.closest('svg'), scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return [parseFloat(getComputedStyle(t).fontSize) * scale, t.textContent]; }).filter(([size]) => size < 10.95)"""
    marked = """() => { const box = document.querySelector('.source'), line = box.querySelector('.current');
        return line.scrollWidth <= line.clientWidth && line.offsetTop >= box.scrollTop && line.offsetTop + line.offsetHeight <= box.scrollTop + box.clientHeight; }"""
    for _ in range(5):
        assert page.evaluate(sizes) == []
        assert page.evaluate(marked)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        said.append(page.locator(".says[aria-live=polite]").inner_text())
        label = page.locator("svg.stage").get_attribute("aria-label")
        assert " ".join(label.split()) == " ".join(page.locator(".says").text_content().split())
        page.click(".next")
    assert any("maximum" in text for text in said), said
    film.press(" ")
    assert page.locator(".says").get_attribute("aria-live") == "off", "nobody could listen that fast"


def test_the_stage_stays_where_it_is(show: Open, tmp_path: Path) -> None:
    """However long the sentence above it is, and whether a step is alarming or not."""
    shot = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path)
    page, places = show(shot.html), set()
    for _ in shot.trace.events:
        places.add(page.locator("svg.stage").bounding_box()["y"])
        page.click(".next")
    assert len(places) == 1


def test_a_film_is_saved_as_one_page_that_plays(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html)
    page.click(".next")
    with page.expect_download() as download:
        page.click(".save")
    assert download.value.suggested_filename.endswith(".html")
    again = show(Path(download.value.path()).read_text("utf-8"))
    assert again.locator(".clock").inner_text() == "1 / 8", "as it was at first"
    again.click(".next")
    assert again.locator(".clock").inner_text() == "2 / 8"


def test_findings_lead_to_their_moment(show: Open, tmp_path: Path) -> None:
    unmasked = films.edited("vector_add", ("x_ptr + offs_n, mask=mask, other=0.0", "x_ptr + offs_n"))
    page = show(films.shoot("vector_add", unmasked, tmp_path).html)
    assert page.locator(".marks button").count() == 1
    page.locator(".finding").first.click()
    assert page.locator(".what").inner_text() == "x[8:10]"
    assert "outside the tensor" in page.locator(".alarm").inner_text()
    assert page.locator(".stage .outside").count() == 1


PICTURE = """() => [...document.querySelectorAll('.stage path, .stage text, .stage g[transform], .state td, .caption, .clock')]
    .map((n) => [n.tagName, n.getAttribute('class'), n.matches('path') ? n.getAttribute('d') : n.textContent].join(' '))"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["online_softmax", "flash_attention_v1", "causal_linear_attention_chunked"])
def test_a_step_looks_the_same_however_one_gets_there(show: Open, name: str, tmp_path: Path) -> None:
    """Jumped to, stepped to, and come back to from the end."""
    page = show(films.solved(name, tmp_path).html)
    film, scrub = page.locator(".tbt-film"), page.locator(".scrub")
    for _ in range(5):
        page.click(".next")
    stepped = page.evaluate(PICTURE)
    film.press("End")
    assert page.evaluate(PICTURE) != stepped
    scrub.fill("5")
    assert page.evaluate(PICTURE) == stepped
    page.reload()
    scrub.fill("5")
    assert page.evaluate(PICTURE) == stepped


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["row_softmax", "flash_attention_heads", "causal_linear_attention"])
def test_the_first_frame_needs_no_script(show: Open, name: str, tmp_path: Path) -> None:
    """What the page holds is what the player draws for the first step."""
    html = films.solved(name, tmp_path).html
    assert show(html, java_script_enabled=False).locator(".stage path").count() > 10
    drawn = show(html).evaluate(PICTURE)
    alone = show(html.replace("<script>", "<script type='text/plain'>")).evaluate(PICTURE)
    assert [line for line in drawn if not line.startswith("SPAN clock")] == [line for line in alone if not line.startswith("SPAN clock")]  # fmt: skip


def test_two_films_on_one_page_do_not_disturb_each_other(show: Open, softmax: films.Shot, tmp_path: Path) -> None:
    empty = show("").evaluate("() => Object.keys(window)")
    page = show(softmax.html + films.solved("vector_add", tmp_path).html)
    page.locator(".tbt-film").nth(1).locator(".next").click()
    assert page.locator(".clock").all_inner_texts() == ["1 / 8", "2 / 9"]
    assert page.evaluate("() => Object.keys(window)") == empty


def test_running_state_is_shown_before_and_after_and_its_divergence_is_told(show: Open, tmp_path: Path) -> None:
    shot = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path)
    page = show(shot.html)
    cells = page.locator(".stage text.side")
    assert [t.split(" → ")[0] for t in cells.all_text_contents()] == ["-∞", "0"]
    assert page.locator(".stage .departs").count() == 0
    page.click(".next")
    assert page.locator(".alarm").inner_text() == "⚠ " + shot.film.divergences[0].words(True)
    assert page.locator(".stage .departs").count() == 1
    before, after = cells.nth(1).text_content().removeprefix("≠ ").split(" → ")
    state = page.locator("table.state tr", has_text="l_i").locator("td").inner_text()
    assert [float(v) for v in state.split("→")] == [float(before), float(after)]
    page.locator(".finding").click()
    assert page.locator(".clock").inner_text().startswith("2 /")
    page.click(".next")
    assert cells.nth(1).text_content().removeprefix("≠ ").startswith(after), "what was after is before the next chunk"
    page.select_option(".who", "1")
    assert page.locator(".marks button").count() == 1


def test_attention_shows_the_tile_the_staircase_and_the_rescaling(show: Open, tmp_path: Path) -> None:
    shot = films.solved("flash_attention_heads", tmp_path)
    page = show(shot.html)
    skipped = "() => [...document.querySelectorAll('.stage .skipped')].reduce((n, p) => n + p.getAttribute('d').split('M').length - 1, 0)"
    assert page.locator(".stage .guides").count() == 0
    assert page.evaluate(skipped) == 0
    dots = [k for k, event in enumerate(shot.trace.events) if event.kind == "dot" and event.program == (1, 0, 0)]
    page.locator(".scrub").fill(str(dots[2]))  # program 1, second tile of keys: the diagonal one
    assert page.locator(".what").inner_text() == "s = q[32:64] · k[32:64]ᵀ, on chip"
    assert page.locator(".stage .heat").count() > 40
    assert page.locator(".stage .masked.thin").first.get_attribute("d")
    page.locator(".scrub").fill(str(dots[3]))
    assert page.locator(".what").inner_text() == "acc of o[32:64]: rescaled, + p · v[32:64]"
    assert page.locator(".stage .bar-now").last.get_attribute("d").count("M") == 32, "a factor for each row"
    assert page.locator(".stage .plus").count() > 20
    page.locator(".tbt-film").press("End")
    assert page.evaluate(skipped) == 2 * 6
    assert page.locator(".stage .masked.thin").count(), "the staircase stays"
    page.select_option(".who", "0")
    page.locator(".tbt-film").press("End")
    assert page.evaluate(skipped) == 2 * 3


ATTENTION = ("flash_attention", "flash_attention_v1", "flash_attention_heads")
LINEAR = (
    "linear_attention",
    "causal_linear_attention",
    "causal_linear_attention_chunked",
    "linear_chunk_states",
    "linear_state_prefix",
    "causal_linear_attention_parallel",
)


def test_a_chunk_is_read_out_of_the_state_before_it_is_added(show: Open, tmp_path: Path) -> None:
    shot = films.solved(LINEAR[2], tmp_path, N=48)
    page = show(shot.html)
    assert page.locator(".stage .doing").first.text_content() == "no weights are on chip now"
    second = [k for k, event in enumerate(shot.trace.events) if event.kind == "dot" and ("start", 16) in event.loops]
    pulse, told = page.locator(".stage .pulse"), []
    for k in second:
        page.locator(".scrub").fill(str(k))
        told.append((page.locator(".what").inner_text(), pulse.get_attribute("class") if pulse.count() else ""))
    assert told == [
        ("a = φ(q[16:32]) · φ(k[16:32])ᵀ, on chip", ""),
        ("φ(q[16:32]) · state, which holds keys 0:16", "pulse reads"),
        ("+ a · v[16:32]: the keys of this chunk", ""),
        ("state += φ(k[16:32])ᵀ · v[16:32]", "pulse adds"),
    ]
    assert page.locator(".stage .doing").last.text_content() == told[-1][0]
    assert page.locator(".stage .told").count() == 1
    page.locator(".tbt-film").press("End")
    assert page.locator(".stage .told").count() == 2


def test_slices_of_the_values_as_a_wave(show: Open, tmp_path: Path) -> None:
    """Every program shows its own part of the state, whoever's turn it was before."""
    shot = films.solved(LINEAR[1], tmp_path, D_V=24)
    page = show(shot.html)
    page.select_option(".order", "wave")
    page.locator(".tbt-film").press("Home")
    left = "() => document.querySelector('.stage g[transform]').getAttribute('transform').match(/[\\d.]+/)[0]"
    places = []
    for _ in range(6):
        page.click(".next")
        places.append(page.evaluate(left))
    assert len(set(places)) == 2
    assert places[1:] == [places[1], places[2]] * 2 + [places[1]]


def test_atomic_updates_have_their_sign_and_meet(show: Open, tmp_path: Path) -> None:
    shot = films.atomic_sums(tmp_path)
    page = show(shot.html)
    atomics = [k for k, event in enumerate(shot.trace.events) if event.kind == "atomic"]
    page.locator(".scrub").fill(str(atomics[0]))
    assert page.locator(".kind").first.inner_text() == "atomic"
    assert "read and written back in one step" in page.locator(".caption").inner_text()
    assert "updated by" not in page.locator(".caption").inner_text()
    assert page.locator(".stage .plus-sign.top").count() == 1
    assert page.locator(".stage .shared").count() == 0
    page.locator(".scrub").fill(str(atomics[4]))
    assert "updated by 2 programs so far" in page.locator(".caption").inner_text()
    assert page.locator(".stage .shared").count() == 2
    assert page.locator(".traffic .words").last.inner_text().endswith(", 20 atomic updates")
    page.locator(".tbt-film").press("End")
    assert "updated by 3 programs so far" in page.locator(".caption").inner_text()
    page.select_option(".who", "1")
    page.locator(".tbt-film").press("End")
    assert page.locator(".stage .shared").count() == 0, "one program alone meets nobody"
    assert page.locator(".traffic .words").last.inner_text() == "48 B of 48 B, 12 atomic updates"


WIDE = {
    "row_softmax": {"sizes": {"M": 6, "N": 13}, "meta": {"BLOCK_N": 16}},
    "vector_add": {"sizes": {"N": 24}, "meta": {"BLOCK_N": 8}},
    "chunked_softmax": {"sizes": {"M": 16, "N": 1000}, "meta": {"BLOCK_N": 128}},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "kind", [*ATTENTION, *LINEAR, "merge_softmax_stats", "online_softmax", "tiled_softmax", "attention_delta", *WIDE]
)
def test_nothing_is_cut_or_hangs_out(show: Open, kind: str, tmp_path: Path) -> None:
    page = show(films.shoot(kind, films.solution(kind), tmp_path, **WIDE.get(kind, {})).html)
    hanging = """() => { const film = document.querySelector('.tbt-film'), edge = film.getBoundingClientRect();
        return [...film.querySelectorAll('*')].filter((n) => !n.closest('.source, script, style') && n.getClientRects().length)
            .filter((n) => { const r = n.getBoundingClientRect(); return r.right > edge.right + 1 || r.left < edge.left - 1; })
            .map((n) => n.outerHTML.slice(0, 90)); }"""
    overlaps = """() => { const found = [];
        for (const p of [document.querySelector('.stage')]) {
            const boxes = [...p.querySelectorAll('text')].filter((t) => t.textContent).map((t) => [t.textContent, t.getBoundingClientRect()]);
            boxes.forEach(([a, r], i) => boxes.slice(i + 1).forEach(([b, s]) => {
                if (r.left + 1 < s.right && s.left + 1 < r.right && r.top + 5 < s.bottom && s.top + 5 < r.bottom) found.push(a + ' over ' + b); }));
        } return found; }"""
    for key in ("PageDown", "End") if kind in LINEAR else ("End",):
        if key == "PageDown":  # somewhere in the middle, where something is done to the state
            page.locator(".scrub").fill(str(int(page.locator(".scrub").get_attribute("max")) * 6 // 10))
        else:
            page.locator(".tbt-film").press(key)
        for width in (600, 900, 1200):
            page.set_viewport_size({"width": width, "height": 800})
            assert (width, page.evaluate(hanging)) == (width, [])
            assert (width, page.evaluate(overlaps)) == (width, [])


THEMES = [("light", "", True), ("dark", "", False), ("dark", "true", True), ("light", "false", False)]


@pytest.mark.parametrize("what", ["film", "card"])
def test_themes_follow_the_notebook_before_the_system(show: Open, what: str, softmax: films.Shot) -> None:
    page = show(softmax.html if what == "film" else card_html(verdicts.wrong_values()))

    def bright(colour: str) -> float:
        return sum(int(part) for part in colour[4:-1].split(","))

    for system, notebook, light in THEMES:
        page.emulate_media(color_scheme=system)
        page.evaluate("(theme) => document.body.setAttribute('data-jp-theme-light', theme)", notebook)
        ink, ground = page.evaluate(
            f"() => {{ const s = getComputedStyle(document.querySelector('.tbt-{what}')); return [s.color, s.backgroundColor]; }}"
        )
        assert (bright(ground) > bright(ink)) == light, (system, notebook)


def test_without_scripts_nothing_pretends_to_work(show: Open, softmax: films.Shot) -> None:
    page = show(softmax.html, java_script_enabled=False)
    assert not page.locator(".controls").is_visible()
    assert page.locator(".strip figure").count() == 4
    assert page.locator(".strip").is_visible()
