"""Two of the bank's wrong kernels in one: what somebody writes who makes both mistakes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from itertools import combinations, pairwise, product

from checker.judge.matching_line import alike, words_of
from checker.misconceptions import Misconception, bank, solution
from checker.submission.kernel import KernelSource

MOST_PAIRS = 12
"""A puzzle has hundreds of pairs, and each that is tried takes some 15 ms."""
Pair = tuple[Misconception, Misconception]
Edit = tuple[int, int, tuple[str, ...]]
"""The words of the solution from one index to another, and the words that replace them."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


def likely_pairs(source: KernelSource, among: Collection[Misconception]) -> dict[Misconception, Pair]:
    """The pairs, as kernels, whose wording is most like the learner's, each with another behaviour. One of each pair is `among` these."""
    mine = words_of(source.source)
    possible = [pair for pair in pairs(source.puzzle) if pair[0] in among or pair[1] in among]
    likely: dict[Misconception, Pair] = {}
    for pair in sorted(possible, key=lambda pair: alike(_expected_words(*pair), mine), reverse=True):
        kernel = both(*pair)
        if kernel is not None and not any(kernel.same_behaviour(other) for other in likely):
            likely[kernel] = pair
            if len(likely) == MOST_PAIRS:
                break
    return likely


@cache
def pairs(puzzle: str) -> tuple[Pair, ...]:
    """All pairs of a puzzle's mistakes whose changes of the solution do not contradict each other."""
    return tuple((a, b) for a, b in combinations(bank(puzzle), 2) if _merged(edits(a), edits(b)))


@cache
def both(a: Misconception, b: Misconception) -> Misconception | None:
    """The solution with both mistakes; None if that is not Python. `wrong_lines` are those of neither."""
    words = _words(_lines(solution(a.puzzle)))
    for start, stop, new in reversed(_merged(edits(a), edits(b)) or []):
        words[start:stop] = new
    text = "".join(words)
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    firsts, seconds = (a.name, *a.same_as), (b.name, *b.same_as)
    return replace(
        a,
        name=_name(a.name, b.name),
        same_as=tuple(_name(*names) for names in product(firsts, seconds)),
        source=replace(a.source, source=text),
        noise=max(a.noise, b.noise),
        wrong_lines=(),
    )


def _name(*names: str) -> str:
    return " and ".join(sorted(names))


@cache
def edits(wrong: Misconception) -> tuple[Edit, ...]:
    """What a wrong kernel changes in the solution: in the lines that differ, word by word."""
    old, new = _lines(solution(wrong.puzzle)), _lines(wrong.source.source)
    changed = []
    for i, j, k, m in _differences(old, new):
        start, before, after = len(_words(old[:i])), _words(old[i:j]), _words(new[k:m])
        for a, b, c, d in _differences(before, after):
            changed.append((start + a, start + b, tuple(after[c:d])))
    return tuple(changed)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _words(lines: Sequence[str]) -> list[str]:
    return [word for line in lines for word in _WORD.findall(line)]


def _differences(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    matches = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return ((i, j, k, m) for kind, i, j, k, m in matches if kind != "equal")


def _merged(first: Collection[Edit], second: Collection[Edit]) -> list[Edit] | None:
    """Both changes in order. Where one replaces words around a change of the other, it wins.

    None if they contradict each other, or if one of them leaves nothing of the other.
    """
    every = sorted({*first, *second})
    kept = [edit for edit in every if not any(_around(other, edit) for other in every)]
    if any(later[0] <= earlier[1] for earlier, later in pairwise(kept)):
        return None
    alone = set(kept) - set(second), set(kept) - set(first)
    return kept if all(alone) else None


def _around(outer: Edit, inner: Edit) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer[1] - outer[0] > inner[1] - inner[0]


@cache
def _expected_words(a: Misconception, b: Misconception) -> Counter[str]:
    """The words of the kernel with both mistakes, without writing it down."""
    right = words_of(solution(a.puzzle))
    words = Counter(right)
    for wrong in (a, b):
        words.update(words_of(wrong.source.source))
        words.subtract(right)
    return +words
