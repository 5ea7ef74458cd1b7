"""Colours, styles and small pieces of HTML that everything on the page shares.

The hues are Okabe and Ito's, which stay apart for the common kinds of colour blindness; nothing is shown by colour alone.
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
"""Each colour on a light and on a dark page."""
LIGHT = {name: light for name, (light, _) in PALETTE.items()}
DARK = {name: dark for name, (_, dark) in PALETTE.items()}


def variable(colour: str) -> str:
    """The CSS variable of a colour; the light one where no style sheet sets it."""
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
    """A template of one of our packages, e.g. ``checker.view/card.html``, filled in. Values are escaped unless they are `Markup`."""
    return Markup(_templates().get_template(template).render(values))  # noqa: S704 (escaped by the template)


def style_element(root: str, sheet: str) -> Markup:
    """The style element for what has the class `root`: the palette for both themes, and the style `sheet`, which is ours.

    The reader's system says dark or light; a notebook that says which theme it has (JupyterLab, VS Code, Colab) wins.
    """
    # of two switches, one is empty and the other falls back to the one beside it: each colour is written once
    colours = "".join(f"--{n}:var(--lit,{light})var(--dim,{dark});" for n, (light, dark) in PALETTE.items())
    light, dark = "--lit:initial;--dim: ;color-scheme:light", "--lit: ;--dim:initial;color-scheme:dark"
    hosts_light = ("[data-jp-theme-light=true]", ".vscode-light", "html[theme=light]")
    hosts_dark = ("[data-jp-theme-light=false]", ".vscode-dark", "html[theme=dark]", ".tbt-dark")

    def under(hosts: Iterable[str]) -> str:
        return ",".join(f"{host} .{root}" for host in hosts)

    # a notebook's word is more specific than the system's, so both light cases can be one rule
    rules = (
        f".{root}{{{colours}}}.{root},{under(hosts_light)}{{{light}}}"
        f"@media(prefers-color-scheme:dark){{.{root}{{{dark}}}}}{under(hosts_dark)}{{{dark}}}"
    )
    # the class twice, so that a notebook's own rules for tables, code and headings do not win
    firmer = re.sub(rf"[.]{root}(?![-_a-z0-9])", f".{root}.{root}", sheet)
    return Markup("<style>{}</style>").format(Markup(rules + firmer))  # noqa: S704 (nothing in it comes from a learner)


def svg_text(x: float, y: float, words: str, colour: str, anchor: str = "start", bold: bool = False) -> Markup:
    """A line of text in a picture, in a colour of the palette."""
    weight = Markup(' font-weight="650"') if bold else Markup()
    text = Markup('<text x="{:g}" y="{:g}" fill="{}" text-anchor="{}"{}>{}</text>')
    return text.format(round(x, 1), y, variable(colour), anchor, weight, words)


def prose(text: str) -> Markup:
    """Text in which `code` between backquotes is set as code and line breaks are kept."""
    html = Markup()
    for i, piece in enumerate(re.split(r"`([^`\n]+)`", text)):
        whole = Markup(' class="whole"') if len(piece) <= 40 else ""
        html += Markup("<code{}>{}</code>").format(whole, piece) if i % 2 else markupsafe.escape(piece)
    return html.replace("\n", Markup("<br>"))
