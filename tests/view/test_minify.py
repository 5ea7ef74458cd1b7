"""Scripts and styles get shorter and stay what they are."""

from __future__ import annotations

import re

import pytest

from checker.view import minify
from checker.view.film import PARTS, _script
from checker.view.theme import asset


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("// a comment\nconst total = 1; /* more */ let other = total;", "const a=1;let b=a;"),
        ("const first = 1;\nconst second = 2;\nfirst + +second;", "const a=1,b=2;a+ +b;"),
        ("const node = box.node;\nnode.node;", "const a=box.node;a.node;"),
        ("const label = 1; f({ label, size: label });", "const label=1;f({label,size:label});"),
        ("const name = 'name'; f(`name ${name} { ${`in ${name}`} }`);", "const a='name';f(`name ${a} { ${`in ${a}`} }`);"),
        ("const go = (item) => item, at = (row, { key }) => row[key];", "const c=a=>a,d=(b,{key})=>b[key];"),
        ("list.forEach(() => {\n  f(true);\n});", "list.forEach(()=>{f(!0)});"),
        ("const [one, two] = pair; one === undefined ? two : one;", "const[a,b]=pair;a===void 0?b:a;"),
        ("if (x) {\n  y();\n}\nz();", "if(x){y()}\nz();"),
        ("function f(value) { const value2 = value; return value2; }", "function c(a){const b=a;return b}"),
    ],
    ids=["comments", "constants", "properties", "shorthand", "templates", "arrows", "words", "patterns", "lines", "functions"],
)  # fmt: skip
def test_scripts_are_shortened(text: str, short: str) -> None:
    assert minify.script(text) == short


def test_own_fields_are_short_in_all_places() -> None:
    text = "// own fields: program\nconst e = { program: 1 }, y = e.y;\nconst { program } = e;\nf(e.program, program, e.programs);"
    out = minify.script(text)
    assert "program" not in out.replace("programs", "")
    short = re.search(r"\{(\w+):1\}", out)
    assert short is not None
    assert f"{{{short[1]}}}" in out
    assert short[1] not in ("y", "e", "f")


def test_what_is_not_understood_is_an_error() -> None:
    with pytest.raises(ValueError, match="not understood"):
        minify.script("const a = 'never closed;")


def test_the_players_own_names_are_gone() -> None:
    """Every part in, at under three quarters of what was written."""
    whole = asset("film.js") + "".join(map(asset, PARTS.values()))
    short = _script(tuple(PARTS))
    assert len(short) < 0.7 * len(whole)
    for name in ("drawPanel", "countStores", "sliceOfProgram"):
        assert re.search(rf"\b{name}\b", whole)
        assert not re.search(rf"\b{name}\b", short)


def test_styles_lose_comments_and_line_ends() -> None:
    assert minify.styles("/* why */\n.a{color:red;}\n.b,\n.c{margin:0 4px}\n") == ".a{color:red}.b,.c{margin:0 4px}"


def test_only_rules_that_a_page_can_use_stay() -> None:
    sheet = ".a .in{x:1}.a .gone{x:2}.a .in,.a .gone .in{x:3}@media(x){.a .gone{x:4}}.a b{x:5}.a .set-later{x:6}"
    page = '<i class="in"></i><script>node.className = "set-later";</script>'
    assert (
        minify.pruned(sheet, page, keep={"a"})
        == ".a .in{x:1}.a .in{x:3}@media(x){.a .gone{x:4}}.a b{x:5}.a .set-later{x:6}"
    )
