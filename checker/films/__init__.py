"""The film of a kernel: one HTML fragment that shows, step by step, which program touches which tile.

`diagram` is what a puzzle says about its film, `film_data` everything that a film shows before it is drawn, `scene` what each step
changes on the page, and `page` the fragment. `player.js` knows nothing but the slots of a page.
"""
