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


def test_keywords_strings_numbers_and_comments_have_elements_of_their_own() -> None:
    (line,) = highlight("if not x: y = float('-inf') + 1.5e3  # [N]")
    assert line == (
        "<b>if</b> <b>not</b> x: y = float(<span class=s>&#39;-inf&#39;</span>) + <span class=n>1.5e3</span>  <em># [N]</em>"
    )
