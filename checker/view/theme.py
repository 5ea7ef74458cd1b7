"""Colours, styles and small pieces of HTML for all pages.

The hues are Okabe and Ito's, which people with common kinds of colour blindness can tell apart; and nothing relies on colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

import jinja2
import markupsafe
from markupsafe import Markup

PALETTE: dict[str, tuple[str, str]] = {
    "bg": ("#ffffff", "#16191d"),
    "panel": ("#f5f6f8", "#1f2329"),
    "ink": ("#1b1f24", "#e8ebee"),
    "soft": ("#59636e", "#a3adb8"),
    "faint": ("#d4d9df", "#434b55"),
    "line": ("#e7eaee", "#2b3138"),
    "load": ("#0072b2", "#56b4e9"),
    "store": ("#c14f00", "#f0a030"),
    "atomic": ("#00775a", "#2cc59b"),
    "dot": ("#7a5195", "#c39bd8"),
    "mask": ("#8d96a0", "#88929d"),
    "warn": ("#b0005c", "#ff7ab8"),
    "good": ("#00775a", "#2cc59b"),
    "bad": ("#b93a00", "#ff8f52"),
    "mark": ("#fff3c4", "#453c14"),
    "focus": ("#0072b2", "#56b4e9"),
    "keyword": ("#8250a8", "#d3a6ec"),
    "string": ("#0b6e4f", "#7fd6b2"),
    "number": ("#0a5c99", "#86c5f2"),
}
"""Each colour in the light and the dark theme."""
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
DARK = {name: dark for name, (_, dark) in PALETTE.items()}


def variable(colour: str) -> str:
    """The CSS variable of a colour, which defaults to the light theme's."""
    return f"var(--{colour},{LIGHT[colour]})"


@cache
def asset(package: str, name: str) -> str:
    """A file of one of our packages, e.g. ``asset("checker.view", "card.css")``."""
    return (resources.files(package) / name).read_text("utf-8")


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset(*name.split("/"))),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: object) -> Markup:
    """Fill in a template of one of our packages, e.g. ``checker.view/card.html``. Escapes values unless they are `Markup`."""
    return Markup(_templates().get_template(template).render(values))  # noqa: S704 (escaped by the template)


def style_element(root: str, sheet: str) -> Markup:
    """The style element for elements of class `root`: the palette for both themes, and our style `sheet`.

    The theme is the notebook's in JupyterLab, VS Code and Colab, and otherwise the system's.
    """
    # the two switches select one of two colours in each variable, so that each colour appears only once
    colours = "".join(f"--{n}:var(--lit,{light})var(--dim,{dark});" for n, (light, dark) in PALETTE.items())
    light, dark = "--lit:initial;--dim: ;color-scheme:light", "--lit: ;--dim:initial;color-scheme:dark"
    hosts_light = ("[data-jp-theme-light=true]", ".vscode-light", "html[theme=light]")
    hosts_dark = ("[data-jp-theme-light=false]", ".vscode-dark", "html[theme=dark]", ".tbt-dark")

    def under(hosts: Iterable[str]) -> str:
        return ",".join(f"{host} .{root}" for host in hosts)

    # the notebook's rules are more specific than the system's
    rules = (
        f".{root}{{{colours}}}.{root},{under(hosts_light)}{{{light}}}"
        f"@media(prefers-color-scheme:dark){{.{root}{{{dark}}}}}{under(hosts_dark)}{{{dark}}}"
    )
    # repeat the class, so that our rules win over the notebook's for tables, code and headings
    specific = re.sub(rf"[.]{root}(?![-_a-z0-9])", f".{root}.{root}", sheet)
    return Markup("<style>{}</style>").format(Markup(rules + specific))  # noqa: S704 (nothing in it comes from a learner)


def svg_text(x: float, y: float, words: str, colour: str, anchor: str = "start", bold: bool = False) -> Markup:
    """A line of text in an SVG, in a colour of the palette."""
    weight = Markup(' font-weight="650"') if bold else Markup()
    text = Markup('<text x="{:g}" y="{:g}" fill="{}" text-anchor="{}"{}>{}</text>')
    return text.format(round(x, 1), y, variable(colour), anchor, weight, words)


def prose(text: str) -> Markup:
    """Text as HTML, with `code` in backquotes as code, and with line breaks."""
    html = Markup()
    for i, piece in enumerate(re.split(r"`([^`\n]+)`", text)):
        whole = Markup(' class="whole"') if len(piece) <= 40 else ""
        if i % 2:
            html += Markup("<code{}>{}</code>").format(whole, piece)
        else:  # a browser may break the line after the hyphen of "-inf"
            html += markupsafe.escape(piece).replace("-inf", Markup('<span style="white-space:nowrap">-inf</span>'))
    return html.replace("\n", Markup("<br>"))
