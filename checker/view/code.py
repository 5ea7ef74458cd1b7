"""Source lines as HTML, with the few colours that make Python readable."""

from __future__ import annotations

import io
import keyword
import token
import tokenize

from checker.view.theme import between_tags

_TAGS = {
    token.STRING: ("<span class=s>", "</span>"),
    token.NUMBER: ("<span class=n>", "</span>"),
    tokenize.COMMENT: ("<em>", "</em>"),
}
_KEYWORD = ("<b>", "</b>")


def highlight(source: str) -> list[str]:
    """One piece of HTML per line of `source`, escaped. Source that cannot be read as Python stays plain.

    Without a style sheet keywords are bold and comments slanted.
    """
    lines = source.splitlines()
    marks: list[list[tuple[int, int, tuple[str, str]]]] = [[] for _ in lines]
    try:
        for tok in tokenize.generate_tokens(io.StringIO(source).readline):
            tags = _TAGS.get(tok.type)
            if tok.type == token.NAME and keyword.iskeyword(tok.string):
                tags = _KEYWORD
            if tags is None:
                continue
            for row in range(tok.start[0], min(tok.end[0], len(lines)) + 1):
                start = tok.start[1] if row == tok.start[0] else 0
                stop = tok.end[1] if row == tok.end[0] else len(lines[row - 1])
                marks[row - 1].append((start, stop, tags))
    except (tokenize.TokenError, SyntaxError, IndexError, ValueError):
        return [between_tags(line) for line in lines]
    return [_paint(line, spans) for line, spans in zip(lines, marks, strict=True)]


def _paint(line: str, spans: list[tuple[int, int, tuple[str, str]]]) -> str:
    out, at = [], 0
    for start, stop, (opening, closing) in spans:
        if stop <= start or start < at:
            continue
        out.append(between_tags(line[at:start]) + opening + between_tags(line[start:stop]) + closing)
        at = stop
    return "".join(out) + between_tags(line[at:])


def body_start(source: str) -> int:
    """The first line worth showing: what stands before it is a docstring, imports and blank lines. From 1."""
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
