"""Source lines with colours."""

from __future__ import annotations

from checker.view.code import highlight
from tests.view.pages import HOSTILE, Page

SOURCES = {
    "a kernel": "@triton.jit\ndef f(x):\n    return x\n",
    "nothing": "",
    "blank lines": "\n\n\n",
    "a docstring": '"""One\n\ntwo\n"""\nx = 1',
    "other line ends": "a\r\nb\rc\u2028d\x0ce",
    "an open string": "x = 'open\ny = (",
    "hostile": f'"""{HOSTILE}"""\n{HOSTILE}  # {HOSTILE}\n{HOSTILE!r}',
}


def test_each_line_is_well_formed_html_with_the_same_text() -> None:
    for name, source in SOURCES.items():
        assert [Page(line).text for line in highlight(source)] == source.splitlines(), name
