"""The player's script and styles in fewer bytes: no comments, no blanks, short names for what only the script itself can see.

Written for our own scripts, and not for any script: statements end with semicolons, there are no regular expressions, no
`with` and no `eval`. Names that the script declares are shortened, and properties that it lists in lines that start with
``// own fields:``; a variable in a shorthand (``{ slice, label }``) is a property too and stays. So the language, the browser
and the film's data keep their names. One name is one short name everywhere, which keeps all scopes.
"""

from __future__ import annotations

import itertools
import re
import string
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<number>\d[\w.]*|\.\d[\w]*)
    |(?P<sign>=>|\.\.\.|\?\.|\+\+|--|[^\s\w"'`])""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = frozenset(
    re.findall(
        r"\w+",
        "break case catch const continue default delete do else false for function if in instanceof let new null of "
        "return switch this throw true try typeof undefined var void while",
    )
)
_OPENS_BLOCK = {")", "=>", ";", "{", "}", "else", "try", "do", "finally", ""}


@dataclass
class _Token:
    kind: str  # text, name, number, sign, quasi (a piece of a template)
    text: str
    line: bool = False  # a line ended before it
    property: bool = False
    shorthand: bool = False


def script(text: str) -> str:
    """The same script, shorter."""
    tokens = list(_tokens(text))
    _mark_properties(tokens)
    fields = {name for line in re.findall(r"// own fields: (.*)", text) for name in line.split()}
    short = _short_names(tokens, fields)
    for token in tokens:
        if token.kind == "name" and (not token.property or token.text in fields):
            token.text = short.get(token.text, token.text)
    return _joined(list(_one_const(list(_plainer(tokens)))))


def styles(text: str) -> str:
    """The same style sheet without comments, line ends and blanks that say nothing."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\s*\n\s*", "", text).replace(";}", "}")


def pruned(sheet: str, page: str, keep: Set[str] = frozenset()) -> str:
    """The rules whose classes the page has, in its tags or in its script, spelled out; what stands behind an ``@`` stays.

    `keep` are classes that count as there.
    """
    there = set(re.findall(r"[\w-]+", page)) | keep
    out = []
    for at, selectors, rule in re.findall(r"(@[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})|([^{}@]+)(\{[^{}]*\})", sheet):
        kept = [s for s in selectors.split(",") if set(re.findall(r"\.([a-zA-Z][\w-]*)", s)) <= there]
        out.append(at or (",".join(kept) + rule if kept else ""))
    return "".join(out)


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, False
    depth: list[int] = []  # of braces, for each template that is open
    while at < len(text):
        if text[at] == "`" or (text[at] == "}" and depth and depth[-1] == 0):
            if text[at] == "}":
                depth.pop()
            end = _quasi_end(text, at + 1)
            yield _Token("quasi", text[at:end], line)
            if text[end - 1] == "{":
                depth.append(0)
            at, line = end, False
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not understood in a script: {text[at : at + 20]!r}")
        at, kind = match.end(), match.lastgroup or ""
        if kind == "blank":
            line = line or "\n" in match[0]
            continue
        if depth and match[0] in "{}":
            depth[-1] += 1 if match[0] == "{" else -1
        yield _Token(kind, match[0], line)
        line = False


def _quasi_end(text: str, at: int) -> int:
    """Just behind the piece of a template that starts at `at`: behind its last `` ` `` or its next ``${``."""
    while text[at] != "`":
        if text.startswith("${", at):
            return at + 2
        at += 2 if text[at] == "\\" else 1
    return at + 1


def _mark_properties(tokens: list[_Token]) -> None:
    """Names behind a dot, and those that are keys of an object or of a pattern that takes one apart."""
    braces: list[str] = []
    before = _Token("sign", "")
    for token, after in zip(tokens, [*tokens[1:], before], strict=True):
        if token.kind == "name":
            key = bool(braces) and braces[-1] == "object" and before.text in ("{", ",")
            token.shorthand = key and after.text != ":"
            token.property = before.text in (".", "?.") or key
        if token.text in ("(", "["):
            braces.append(token.text)
        elif token.text == "{":
            braces.append("block" if before.text in _OPENS_BLOCK else "object")
        elif token.text in (")", "]", "}") and token.kind == "sign":
            braces.pop()
        elif token.kind == "quasi":
            if token.text[0] == "}":
                braces.pop()
            if token.text.endswith("${"):
                braces.append("quasi")
        before = token


def _short_names(tokens: list[_Token], fields: Set[str]) -> dict[str, str]:
    """The most frequent names get the shortest ones, which are nobody else's."""
    names = Counter(t.text for t in tokens if t.kind == "name" and (not t.property or t.text in fields))
    both = {t.text for t in tokens if t.shorthand}
    own = (_declared(tokens) - both - _WORDS) | (fields & set(names))
    taken = (set(names) | _WORDS | both) - own | {t.text for t in tokens if t.property and t.text not in fields}
    letters = string.ascii_letters + "_$"
    fresh = (n for n in itertools.chain(letters, map("".join, itertools.product(letters, repeat=2))) if n not in taken)
    return dict(zip((n for n, _ in names.most_common() if n in own), fresh, strict=False))


def _declared(tokens: list[_Token]) -> set[str]:
    """Constants, variables, functions and parameters; patterns that take lists apart included."""
    found: set[str] = set()
    for i, token in enumerate(tokens):
        if token.text in ("const", "let"):
            found |= set(_bound(tokens, i + 1))
        elif token.text == "function":
            named = tokens[i + 1].kind == "name"
            found |= {tokens[i + 1].text} if named else set()
            found |= set(_parameters(tokens, i + 1 + named))
        elif token.text == "=>":
            if tokens[i - 1].kind == "name":
                found.add(tokens[i - 1].text)
            else:
                found |= set(_parameters(tokens, _opening(tokens, i - 1)))
    return found


def _bound(tokens: list[_Token], at: int) -> Iterator[str]:
    """The names that a declaration binds, up to its semicolon, or to `of` and `in`."""
    depth, target = 0, True
    for token in tokens[at:]:
        if depth == 0 and token.text in (";", "of", "in"):
            return
        if token.text in ("(", "[", "{") or token.text.endswith("${"):
            depth += 1
        if token.text in (")", "]", "}") or (token.kind == "quasi" and token.text[0] == "}"):
            depth -= 1
            if depth < 0:
                return
        if token.text == "=" and depth == 0:
            target = False
        elif token.text == "," and depth == 0:
            target = True
        elif target and token.kind == "name":
            yield token.text


def _opening(tokens: list[_Token], at: int) -> int:
    depth = 0
    while True:
        depth += {")": 1, "(": -1}.get(tokens[at].text, 0)
        if depth == 0:
            return at
        at -= 1


def _parameters(tokens: list[_Token], at: int) -> Iterator[str]:
    """Names in the parentheses that open at `at` which stand where a parameter or a piece of a pattern can."""
    depth = 0
    for i in range(at, len(tokens)):
        text = tokens[i].text
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text, 0)
        if depth == 0:
            return
        if tokens[i].kind == "name" and tokens[i - 1].text in ("(", "[", ",", "...", "{"):
            yield text


_SHORT_WORDS = {"true": "!0", "false": "!1", "undefined": "void 0"}


def _plainer(tokens: list[_Token]) -> Iterator[_Token]:
    """Without parentheses around the only parameter of an arrow, and with shorter words for the same values."""
    for i, token in enumerate(tokens):
        if (
            token.text == "("
            and [t.text for t in tokens[i + 2 : i + 4]] == [")", "=>"]
            and tokens[i + 1].kind == "name"
        ):
            continue
        if (
            token.text == ")"
            and [t.text for t in tokens[i + 1 : i + 2]] == ["=>"]
            and [tokens[i - 2].text, tokens[i - 1].kind] == ["(", "name"]
        ):
            continue
        if token.kind == "name" and not token.property and token.text in _SHORT_WORDS:
            token.text = _SHORT_WORDS[token.text]
        yield token


def _one_const(tokens: list[_Token]) -> Iterator[_Token]:
    """Constants that are declared one after the other, in one declaration."""
    open_ = [False]  # for each bracket: whether a declaration of constants is going on in it
    skip = False
    for before, token, after in zip([_Token("sign", ";"), *tokens], tokens, [*tokens[1:], None], strict=False):
        if skip:
            skip = False
            continue
        opens = token.text in ("(", "[", "{") and token.kind == "sign"
        if token.text == "const" and before.text in (";", "{", "}"):
            open_[-1] = True
        if (token.text in (")", "]", "}") and token.kind == "sign") or (token.kind == "quasi" and token.text[0] == "}"):
            open_.pop()
        if opens or (token.kind == "quasi" and token.text.endswith("${")):
            open_.append(False)
        if token.text == ";":
            skip = open_[-1] and after is not None and after.text == "const"
            token.text = "," if skip else ";"
            open_[-1] = skip
        yield token


def _joined(tokens: list[_Token]) -> str:
    out: list[str] = []
    before = _Token("sign", ";")
    for token in tokens:
        if token.text == "}" and before.text == ";" and out:
            out.pop()
        words = before.kind in ("name", "number") and token.kind in ("name", "number") and token.text[0] != "!"
        signs = before.text + token.text in ("++", "--") or (before.text in ("+", "-") and token.text[0] == before.text)
        ends = token.line and before.text == "}" and token.text not in ("}", ")", ",", ";", "else", ".")
        if words or signs:
            out.append(" ")
        elif ends:
            out.append("\n")
        out.append(token.text)
        before = token
    return "".join(out)
