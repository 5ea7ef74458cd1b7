"""A learner in notebook 01: a wrong kernel and its diagnosis, unrun edits, and the way on."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.lab import Notebook
from tests.browser.test_row_softmax import CHECK_CELL, SOLUTION, STEM, STUB_CELL

__all__ = ["STEM"]  # the fixture `notebook` opens this notebook
pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def checked(notebook: Notebook, source: str) -> Locator:
    """Put a kernel into its cell, check it, and return the card."""
    notebook.write(STUB_CELL, source)
    notebook.run(STUB_CELL)
    return notebook.run(CHECK_CELL).locator(".tbt-card")


def test_masked_lanes_that_hold_zero_are_diagnosed(notebook: Notebook) -> None:
    wrong = SOLUTION.replace('other=float("-inf")', "other=0.0")
    assert wrong != SOLUTION
    card = checked(notebook, wrong)
    expect(card).to_have_class("tbt-card bad")
    expect(card.locator(".gates li.bad")).to_contain_text("values")
    expect(card).to_contain_text("Smallest failing shape")

    # one click opens the film of the smallest failing case
    below = notebook.cell(CHECK_CELL)
    film = below.locator(".tbt-film")
    expect(film).to_have_count(1)
    expect(film).not_to_be_visible()
    below.locator("summary", has_text="Watch it fail").click()
    expect(film).to_be_visible()
    expect(film.locator(".verdict")).to_contain_text("This kernel does not pass. Row softmax gives wrong numbers.")
    expect(film.locator(".stage .first-wrong")).to_have_count(0)
    film.locator(".verdict button").click()
    expect(film.locator(".stage .first-wrong")).to_have_count(1)
    expect(film.locator(".stage")).to_contain_text("should be")
    expect(film.locator(".kind").first).to_have_text("store")
    expect(film.locator(".marks button")).to_have_count(1)


def test_a_cell_that_was_edited_and_not_run_is_not_shown_green(notebook: Notebook) -> None:
    notebook.write(STUB_CELL, SOLUTION)
    notebook.run(STUB_CELL)
    output = notebook.run(CHECK_CELL)
    expect(output.locator(".tbt-card.good")).to_be_visible()
    expect(output.get_by_role("alert")).to_be_hidden()

    notebook.write(STUB_CELL, SOLUTION.replace('float("-inf")', "0.0"))
    output = notebook.run(CHECK_CELL)
    expect(output.get_by_role("alert")).to_contain_text("was edited after it was run")
    expect(output.locator(".tbt-card")).to_be_hidden()

    notebook.run(STUB_CELL)
    expect(notebook.run(CHECK_CELL).locator(".tbt-card.bad")).to_be_visible()


def test_a_green_card_leads_to_the_next_notebook(notebook: Notebook) -> None:
    link = checked(notebook, SOLUTION).locator("a", has_text="02_chunked_softmax")
    expect(link).to_be_visible()
    link.click()
    expect(notebook.page.locator(".lm-TabBar-tabLabel", has_text="02_chunked_softmax.ipynb")).to_be_visible()
