"""The film of a kernel: one HTML fragment that shows, step by step, which program touches which tile.

In the order in which a launch becomes a page:

    diagram           what a puzzle says about its film
    steps             which events are shown, every tile laid flat
    state             variables as numbers, and the rows that they belong to
    state_divergence  where a running state first differs from what it must be
    kernel_text       the products in a kernel's text, and which of its variables belong to a step
    square            tiles made on chip of two others
    kept_state        a state that is kept on chip and added to
    layout            where everything is drawn, by the axes that the course declares
    updates           how a running sum takes in each chunk
    flaws             why the kernel does not pass, and which elements are wrong
    film_data         all of that, before anything is drawn
    svg               paths, texts, heat maps, bars
    scene             slots on the page, and what each step puts into them
    stage             the tensors and what is on chip, drawn once for every step
    charts            the running state as bars and lines
    tables            the source, the variables, the bytes, what went wrong
    legend            what the signs mean
    page              the fragment, and the data for `player.js`, which knows only slots; several films with one time line
"""
