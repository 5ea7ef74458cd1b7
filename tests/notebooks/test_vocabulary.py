"""Notebooks teach every name of `tl` and every idiom before a solution needs it. Optional notebooks do not count."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from checker.course import LADDER
from checker.puzzle import Puzzle

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "notebooks" / "src").glob("*.md"))
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
IDIOMS = {
    "@triton.jit": (r"@triton\.jit", r"`@triton\.jit`"),
    "tl.constexpr": (r": tl\.constexpr", r"`tl\.constexpr`"),
    "64-bit offsets": (r"\.to\(tl\.int64\)", r"`[^`]*\.to\(tl\.int64\)`[^\n]*64"),
    "a scalar load": (
        r"tl\.load\(key_lengths_ptr \+ [\w /]+\)",
        r"`tl\.load\(key_lengths_ptr \+ \w+\)`[^\n]*one number",
    ),
    "a scalar store": (r"tl\.store\(m_ptr \+ row, m_i\)", r"`tl\.store\(m_ptr \+ row, m_i\)` stores a single number"),
    "a column of a vector": (r"\[:, None\]", r"`offs_m\[:, None\]`"),
    "a choice at compile time": (r"if IS_CAUSAL:", r"`if IS_CAUSAL:`"),
    "a carried number": (r"m_i = float\(\"-inf\"\)\n +for", r"`m_i = float\(\"-inf\"\)` before the loop"),
}
"""Idioms: how a solution writes them, and how the text introduces them."""


def optional(source: Path) -> bool:
    return "\n\nOptional. " in source.read_text("utf-8")


def taught_before(puzzle: Puzzle) -> str:
    """The prose a learner has read before the kernel has to be right: earlier notebooks that are not optional, and of this one
    what is above the first check or the first hint, whichever is later. (Sections between the two explain a failed check.)"""
    prose_so_far = ""
    for source in SOURCES:
        text = source.read_text("utf-8")
        if source.stem == puzzle.notebook:
            until = max(text.index(f"```python\n{verb}({puzzle.kernel})\n```") for verb in ("check", "hint"))
            return prose_so_far + FENCE.sub("", text[:until])
        if not optional(source):
            prose_so_far += FENCE.sub("", text)
    raise AssertionError(f"{puzzle.name} has no notebook")


def solution(puzzle: Puzzle) -> str:
    return (ROOT / "solutions" / f"{puzzle.name}.py").read_text("utf-8")


def names_of_tl(code: str) -> set[str]:
    return {
        f"tl.{node.attr}"
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tl"
    }


def test_every_name_and_idiom_is_taught_before_it_is_needed() -> None:
    for puzzle in LADDER:
        text, code = taught_before(puzzle), solution(puzzle)
        quoted = "".join(re.findall(r"`[^`\n]+`", text))
        missing = {name for name in names_of_tl(code) if not re.search(rf"\b{re.escape(name)}\b", quoted)}
        assert missing == set(), f"{puzzle.name}: explain above the stub, in backticks, {', '.join(sorted(missing))}"
        needed = [name for name, (written, _) in IDIOMS.items() if re.search(written, code)]
        assert [name for name in needed if not re.search(IDIOMS[name][1], text)] == [], puzzle.name


def test_every_idiom_is_needed_somewhere() -> None:
    everything = "".join(map(solution, LADDER))
    assert [name for name, (written, _) in IDIOMS.items() if not re.search(written, everything)] == []
