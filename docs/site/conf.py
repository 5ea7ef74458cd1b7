"""How Sphinx builds the site; `make site` calls it (tools/site.py)."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

project = "Tile by Tile"
html_title = "Tile by Tile"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js", "live.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False

extensions = ["myst_nb"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
nb_code_prompt_show, nb_code_prompt_hide = "Show the set-up", "Hide the set-up"
nb_execution_mode = "off"  # tools/site.py has run the notebooks
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # would come from elsewhere
html_math_renderer = "mathml"


def inline(visitor: Any, node: Any) -> None:
    visitor.body.append(convert(node.astext()))
    raise SkipNode


def display(visitor: Any, node: Any) -> None:
    visitor.body.append(convert(node.astext(), display="block"))
    raise SkipNode


def setup(app: Any) -> None:
    """Formulas become MathML, which browsers draw themselves: MathJax would be fetched from elsewhere."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
