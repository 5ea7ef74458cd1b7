"""A learner in notebook 01 types the right kernel, gets a green card and plays the film."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
STEM = "01_row_softmax"
SOLUTION = (ROOT / "solutions" / "row_softmax.py").read_text()
STUB_CELL = "def row_softmax_kernel"
CHECK_CELL = "check(row_softmax_kernel)"
FILM_CELL = "film(row_softmax_kernel)"


def region() -> list[str]:
    """The lines of the solution that a learner writes, without their indentation."""
    inside = SOLUTION.split("# your code starts here")[1].split("# your code ends here")[0]
    return [line.strip() for line in inside.splitlines()[1:] if line.strip()]


def test_right_kernel_turns_green_and_its_film_plays(notebook: Notebook) -> None:
    notebook.type_below(STUB_CELL, "# your code starts here", region())
    notebook.run(STUB_CELL)

    card = notebook.run(CHECK_CELL).locator(".tbt-card")
    expect(card).to_be_visible()
    expect(card).to_have_class("tbt-card good")
    for gate in ("source", "compile", "values", "memory", "traffic"):
        expect(card.locator(".gates li.good", has_text=gate)).to_be_visible()
    expect(card.locator(".gates li", has_text="gpu")).to_be_visible()

    film = notebook.run(FILM_CELL).locator(".tbt-film")
    expect(film.locator("svg.stage")).to_be_visible()
    scrub, stage = film.locator("input.scrub"), film.locator("svg.stage")
    opening = stage.inner_html()
    last = int(scrub.get_attribute("max") or 0)
    assert last >= 7, "four rows, a load and a store each"

    film.locator("button.play").click()
    expect(scrub).not_to_have_value("0")
    expect(film).to_contain_text("tl.load")

    scrub.fill(str(last))
    expect(scrub).to_have_value(str(last))
    assert stage.inner_html() != opening, "the last moment must not look like the first"
    expect(film.locator(".state")).to_contain_text("maximum of the row")
    film.locator("button.back").click()
    expect(scrub).to_have_value(str(last - 1))

    # another size takes the place of the film
    before = film.locator(".title").inner_text()
    notebook.cell(FILM_CELL).locator(".widget-dropdown select").nth(1).select_option("13")
    expect(film.locator(".title")).not_to_have_text(before)
    expect(film).to_have_count(1)
    expect(film.locator("svg.stage")).to_contain_text("[4, 13]")
