"""Source lines as HTML, with a few colours."""

from __future__ import annotations

from itertools import groupby

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Literal, Operator

_ELEMENTS = {
    Keyword: Markup("<b>{}</b>"),
    Operator.Word: Markup("<b>{}</b>"),
    Literal.String: Markup("<span class=s>{}</span>"),
    Literal.Number: Markup("<span class=n>{}</span>"),
    Comment: Markup("<em>{}</em>"),
}
"""By Pygments' kind of token, or a parent of it. Without a style sheet, keywords are bold and comments slanted."""


def highlight(source: str) -> list[Markup]:
    """Escaped HTML for each of `source.splitlines()`, even if the source is not valid Python."""
    lines = [Markup()]
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(source)
    for element, alike in groupby(tokens, key=lambda token: _element(token[0])):
        for piece in "".join(text for _, text in alike).splitlines(keepends=True):
            words = "".join(piece.splitlines())
            lines[-1] += element.format(words) if words else Markup()
            if words != piece:
                lines.append(Markup())
    return lines[: len(source.splitlines())]


def _element(kind: tuple[str, ...]) -> Markup:
    return next((html for parent, html in _ELEMENTS.items() if kind in parent), Markup("{}"))


def body_start(source: str) -> int:
    """The number of the first line after docstring, imports and blank lines, counted from 1."""
    quote = ""
    for i, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        if quote:
            quote = "" if text.endswith(quote) else quote
        elif text[:3] in ('"""', "'''"):
            quote = "" if len(text) > 5 and text.endswith(text[:3]) else text[:3]
        elif text and not text.startswith(("import ", "from ", "#")):
            return i
    return 1
