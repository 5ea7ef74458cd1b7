"""HTML read back: its tags, its words, and text that tries to break out of it."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

from rich.console import Console

from checker.view.display import Showable

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='&<!--&amp;{0}{x}\u202eevil\u2066"
"""Tags, both quotes, a comment, an entity, a format string's fields, and characters that turn the direction of text."""

VOID = {"meta", "input", "br", "img", "path", "rect", "image", "use"}
IN_A_LINE = {"b", "i", "em", "code", "span"}


class Page(HTMLParser):
    """Collects tags and words (style sheets and scripts left out), and checks that every tag is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._words = ""
        self.feed(str(html))  # of a Markup the parser would make Markup
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._words += "" if tag in IN_A_LINE else " "

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            self.text += data
            self._words += data

    @property
    def words(self) -> str:
        """The text in one line, with a space between one block and the next."""
        return " ".join(self._words.split())

    @property
    def harmless(self) -> bool:
        """Whether nothing runs or is loaded: no script, no picture but those inlined, no handler, no address but a notebook's beside it."""
        names = {name for _, attrs in self.tags for name in attrs}
        sources = [attrs.get("src") or attrs.get("href") or "data:" for _, attrs in self.tags]
        return (
            "script" not in [tag for tag, _ in self.tags]
            and not any(name.startswith("on") for name in names)
            and all(source.startswith(("data:", "#")) or re.fullmatch(r"\w+\.ipynb", source) for source in sources)
        )


def printed(thing: Showable, width: int = 100) -> str:
    """What a terminal without colours shows."""
    out = io.StringIO()
    thing.print(Console(file=out, width=width, color_system=None, force_terminal=False))
    return out.getvalue()


def luminance(colour: str) -> float:
    """Relative luminance of ``#rgb`` or ``#rrggbb`` as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)
