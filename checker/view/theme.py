"""Colours, styles and small pieces of HTML that everything on the page shares.

The hues are Okabe and Ito's, which stay apart for the common kinds of colour blindness; nothing is said by colour alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape as _escape
from importlib import resources
from typing import Any

import markupsafe
from markupsafe import Markup

from checker.view import minify
from checker.view.formats import count, number, short, size  # noqa: F401 (the film's modules import them from here)

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


def escape(text: object) -> str:
    """Text that is safe between tags and inside a quoted attribute."""
    return _escape(str(text), quote=True)


def between_tags(text: object) -> str:
    """Text that is safe between tags only: quotes stay as they are."""
    return _escape(str(text), quote=False)


def script_json(data: Any) -> str:
    """JSON that is safe inside a script element: no ``<`` is left that could close it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return (resources.files("checker.view") / name).read_text("utf-8")


@cache
def _sheet(names: tuple[str, ...]) -> str:
    return minify.styles("\n".join(asset(name) for name in names))


def style(root: str, *names: str, page: str | None = None, alias: str = "") -> str:
    """A style element: the palette of `root` (a class) for both themes, then the given style sheets.

    The reader's system says dark or light; a notebook that says which theme it has (JupyterLab, VS Code, Colab) wins. With
    the HTML of the `page` only what it can use is said. `alias` is a shorter class that the root has too.
    """
    sheets = _sheet(names)
    if page is not None:
        sheets = minify.pruned(sheets, page, keep={root})
    # what a sheet does not use can still be used by what is drawn inside (a plot has no sheet)
    used = set(re.findall(r"var\(--([\w-]+)", sheets + (page or ""))) if page is not None else set(LIGHT)
    # of two switches, one is empty and the other falls back to what stands beside it: each colour is said once
    colours = "".join(f"--{n}:var(--lit,{LIGHT[n]})var(--dim,{DARK[n]});" for n in LIGHT if n in used)
    light, dark = "--lit:initial;--dim: ;color-scheme:light", "--lit: ;--dim:initial;color-scheme:dark"
    name = alias or root
    hosts_light = ("[data-jp-theme-light=true]", ".vscode-light", "html[theme=light]")
    hosts_dark = ("[data-jp-theme-light=false]", ".vscode-dark", "html[theme=dark]", ".tbt-dark")

    def under(hosts: Iterable[str]) -> str:
        return ",".join(f"{host} .{name}" for host in hosts)

    # a notebook's word is more specific than the system's, so both light cases can be one rule
    rules = (
        f".{name}{{{colours}}}.{name},{under(hosts_light)}{{{light}}}"
        f"@media(prefers-color-scheme:dark){{.{name}{{{dark}}}}}{under(hosts_dark)}{{{dark}}}"
    )
    # the class twice, so that a notebook's own rules for tables, code and headings do not win
    return f"<style>{rules}{re.sub(rf'[.]{root}(?![-_a-z0-9])', f'.{name}.{name}', sheets)}</style>"


def style_element(root: str, *sheets: str) -> Markup:
    """The style element for what has the class `root`: the palette for both themes, and the `sheets` of this room."""
    return Markup(style(root, *sheets))  # noqa: S704 (nothing in it comes from a learner)


def prose(text: str) -> Markup:
    """Text in which `code` between backquotes is set as code and line breaks are kept."""
    said = Markup()
    for i, piece in enumerate(re.split(r"`([^`\n]+)`", text)):
        whole = Markup(' class="whole"') if len(piece) <= 40 else ""
        said += Markup("<code{}>{}</code>").format(whole, piece) if i % 2 else markupsafe.escape(piece)
    return said.replace("\n", Markup("<br>"))
