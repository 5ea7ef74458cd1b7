"""Colours, styles and small pieces of HTML that everything on the page shares.

The hues are Okabe and Ito's, which stay apart for the common kinds of colour blindness; nothing is said by colour alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import cache
from html import escape as _escape
from importlib import resources
from typing import Any

LIGHT: dict[str, str] = {
    "bg": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#1b1f24",
    "soft": "#59636e",
    "faint": "#d4d9df",
    "line": "#e7eaee",
    "load": "#0072b2",
    "store": "#c14f00",
    "atomic": "#00775a",
    "dot": "#7a5195",
    "mask": "#8d96a0",
    "warn": "#b0005c",
    "good": "#00775a",
    "bad": "#b93a00",
    "mark": "#fff3c4",
    "focus": "#0072b2",
    "keyword": "#8250a8",
    "string": "#0b6e4f",
    "number": "#0a5c99",
}
DARK: dict[str, str] = {
    "bg": "#16191d",
    "panel": "#1f2329",
    "ink": "#e8ebee",
    "soft": "#a3adb8",
    "faint": "#434b55",
    "line": "#2b3138",
    "load": "#56b4e9",
    "store": "#f0a030",
    "atomic": "#2cc59b",
    "dot": "#c39bd8",
    "mask": "#88929d",
    "warn": "#ff7ab8",
    "good": "#2cc59b",
    "bad": "#ff8f52",
    "mark": "#453c14",
    "focus": "#56b4e9",
    "keyword": "#d3a6ec",
    "string": "#7fd6b2",
    "number": "#86c5f2",
}


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
    return "\n".join(asset(name) for name in names)


def style(root: str, *names: str, page: str | None = None, alias: str = "") -> str:
    """A style element: the palette of `root` (a class) for both themes, then the given style sheets.

    The reader's system says dark or light; a notebook that says which theme it has (JupyterLab, VS Code, Colab) wins. With
    the HTML of the `page` only what it can use is said. `alias` is a shorter class that the root has too.
    """
    sheets = _sheet(names)
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


def number(value: float, width: int = 6) -> str:
    """A number in at most `width` characters where that is possible without lying about its magnitude."""
    if isinstance(value, bool):
        return "✓" if value else "·"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and len(str(int(value))) <= width:
        return str(int(value))
    allowed = min(0.1, 10.0 ** (5 - width)) * abs(value)  # more room promises more digits
    for digits in range(max(4, width - 2), 0, -1):
        text = f"{value:.{digits}f}"
        if len(text) <= width and abs(float(text) - value) <= allowed:
            return text
    if len(text := f"{value:.0f}") <= width and abs(value) >= 10:
        return text
    for digits in range(3, -1, -1):
        text = re.sub(r"e([+-])0*(\d)", lambda m: "e" + m[1].replace("+", "") + m[2], f"{value:.{digits}e}")
        if len(text) <= width:
            break
    return text


def count(amount: int, noun: str, plural: str = "") -> str:
    """``1 lane``, ``1,024 lanes``."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def size(amount: int) -> str:
    """Bytes as people say them: ``18,744 B``, ``256 kB``, ``1.5 GB``."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**5)):
        if amount >= scale:
            value = amount / (1000 if unit == "kB" else scale)
            return f"{value:.1f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{amount:,} B"


def short(tensor: str) -> str:
    """``x_ptr`` is called ``x`` wherever people look."""
    return tensor.removesuffix("_ptr")
