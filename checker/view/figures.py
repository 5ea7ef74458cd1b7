"""Figures that matplotlib draws, as inline SVG in the colours of the page they stand on.

They are drawn without pyplot, so that nothing of the reader's own plots is touched.
"""

from __future__ import annotations

import io
import re
from typing import Any

from checker.view.theme import LIGHT

INK = LIGHT["soft"]
"""What axes and words are drawn in. Each colour of the light palette is exchanged for the theme's own where the figure is shown."""

_COLOUR = re.compile("|".join(sorted(set(LIGHT.values()))))
_VARIABLE = {colour: f"var(--{name},{colour})" for name, colour in reversed(LIGHT.items())}


def svg(figure: Any) -> str:
    """The figure with real text, without the XML head, metadata and a fixed size; same figure, same text."""
    import matplotlib

    out = io.StringIO()
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "tile-by-tile",
        "hatch.linewidth": 0.7,
        "hatch.color": LIGHT["load"],
    }
    with matplotlib.rc_context(settings):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # matplotlib's style sheet is meant for a file: in a page its `*` would reach every element there is
    text = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    shape = 'width="100%" style="stroke-linejoin:round;stroke-linecap:butt"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1 {shape}", text, count=1)
    text = _COLOUR.sub(lambda match: _VARIABLE[match[0]], text)
    return re.sub(r"\n\s*", "\n", text).strip()
