"""Slides show the right parts of a notebook, and a deck works in a room without a network."""

from __future__ import annotations

import itertools
import re

import nbformat

from classroom.workshop import deck
from classroom.workshop.executed import fill_in
from tests.classroom.workshop.conftest import ROOT
from tools import site


def test_every_deck_has_slides_notes_a_stub_and_a_film_and_loads_nothing_from_outside() -> None:
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name, notebook = path.stem, nbformat.read(path, as_version=4)
        ran = nbformat.from_dict(notebook)
        fill_in(ran, ROOT / "solutions")
        slides = deck.deck(name, notebook, ran)
        places = [cell.metadata.slideshow.slide_type for cell in slides.cells]
        assert places.count("slide") >= 6, name
        assert "notes" in places, name
        stubs = {cell.source for cell in notebook.cells if cell.id.startswith("stub-")}
        code = {cell.source for cell in slides.cells if cell.cell_type == "code"}
        assert code <= stubs | {""}, f"{name}: code other than a stub, or a filled-in one"
        assert not stubs or code & stubs, name
        shown = [cell for cell in notebook.cells if cell.metadata.slideshow.slide_type in ("slide", "fragment", "-")]
        assert not stubs or any(re.search(r"\bfilms?\(", cell.source) for cell in shown if cell.cell_type == "code"), (
            name
        )
        seen = [cell for cell in slides.cells if cell.metadata.slideshow.slide_type != "notes"]
        for cell, following in itertools.pairwise([*seen, seen[0]]):
            last = following.metadata.slideshow.slide_type in ("slide", "subslide")
            assert not (last and cell.cell_type == "markdown" and cell.source.rstrip().endswith(":")), (
                name,
                cell.source,
            )
        assert site.read_page(deck.html(slides)).loaded == [], name
