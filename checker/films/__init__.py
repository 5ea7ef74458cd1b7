"""The film of a kernel: one HTML fragment that shows, step by step, which program touches which tile.

In the order in which a launch becomes a page:

    steps             which events are shown, every tile laid flat
    state             variables as numbers, and the rows that they belong to
    state_divergence  where a running state first differs from what it must be
    square            tiles made on chip of two others
    kept_state        a state that is kept on chip and added to
    diagram           where everything stands, by the axes that the course declares
    film_data         all of that, before anything is drawn
    svg               paths, texts, heat maps, bars
    scene             slots on the page, and what each step puts into them
    stage             the tensors and what is on chip, drawn once for every step
    tables            the source, the variables, the bytes, what went wrong
    legend            what the signs mean
    page              the fragment, and the data for `player.js`, which knows only slots
"""

from checker.films.page import film_document, film_html, side_by_side

__all__ = ["film_document", "film_html", "side_by_side"]
