"""A result without anyone's name: learners are numbers, in an order that does not follow their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from classroom.grading.records import Chosen, LearnerResult, Person, PuzzleResult, Result


def anonymous(result: Result) -> Result:
    """Names, ids, addresses and file names go, also out of messages and out of the comments of kernels."""
    ordered = sorted(result.learners, key=_place)
    everyone = _words_for(learner.person for learner in result.learners)
    told = tuple(replace(t, file=f"file {n}") for n, t in enumerate(result.told, start=1))
    learners = tuple(_without(n, one, everyone) for n, one in enumerate(ordered, start=1))
    return replace(result, learners=learners, told=told)


def _place(learner: LearnerResult) -> str:
    return hashlib.sha256("\0".join((learner.person.id, *(f.sha256 for f in learner.files))).encode()).hexdigest()


def _without(n: int, learner: LearnerResult, everyone: frozenset[str]) -> LearnerResult:
    number, hide = f"learner-{n:03d}", _hider(learner, everyone)
    told = tuple(replace(t, file=_file(t.file), message=hide(t.message)) for t in learner.told)
    return replace(
        learner,
        person=Person(id=number),
        returned_as=number,
        puzzles=tuple(_puzzle(p, hide) for p in learner.puzzles),
        files=tuple(replace(f, file=_file(f.file)) for f in learner.files),
        told=told,
    )


def _puzzle(puzzle: PuzzleResult, hide: Callable[[str], str]) -> PuzzleResult:
    gates = tuple(
        replace(g, message=hide(g.message), advice=hide(g.advice), detail=hide(g.detail)) for g in puzzle.gates
    )
    return replace(
        puzzle,
        chosen=_chosen(puzzle.chosen) if puzzle.chosen is not None else None,
        gates=gates,
        message=hide(puzzle.message),
        source=replace(puzzle.source, text=hide(puzzle.source.text)) if puzzle.source is not None else None,
    )


def _chosen(chosen: Chosen) -> Chosen:
    cell = re.search(r", cell \d+$", chosen.place)
    return replace(chosen, file=_file(chosen.file), place=_file(chosen.file) + (cell[0] if cell else ""))


def _file(name: str) -> str:
    return f"file.{name.rpartition('.')[2]}" if "." in name else "file"


def _hider(learner: LearnerResult, everyone: frozenset[str]) -> Callable[[str], str]:
    """Takes names out of a text: the learner's and those of their files anywhere, `everyone`'s in comments.

    Names are whole words, whatever their case. In code, others' names would hit what only looks like a name, such as ``max``.
    """
    who = learner.person
    names = {who.id, who.name, who.email, who.email.partition("@")[0], *who.logins}
    names |= {word for word in re.split(r"\W+", who.name) if len(word) > 2}
    files = {f.file for f in learner.files} | {t.file for t in learner.told}
    files |= {text for p in learner.puzzles if p.chosen for text in (p.chosen.file, p.chosen.place)}
    names |= files | {file.rpartition("/")[2] for file in files}
    longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    own = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest) or r"(?!)", re.IGNORECASE)

    def hide(text: str) -> str:
        return _COMMENT.sub(lambda found: _hidden(found[0], everyone), own.sub("…", text))

    return hide


_COMMENT = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)
_WORD = re.compile(r"[\w.+@-]+")
_PART = re.compile(r"\w+")


def _words_for(people: Iterable[Person]) -> frozenset[str]:
    """What people are called, in small letters, word by word: ids, logins and addresses whole, names in their parts."""
    words: set[str] = set()
    for who in people:
        words |= {who.id, who.email, who.email.partition("@")[0], *who.logins}
        words |= set(_PART.findall(who.name))
    return frozenset(word.casefold() for word in words if len(word) > 2)


def _hidden(text: str, known: frozenset[str]) -> str:
    """`text` without the words that are `known`."""

    def part(found: re.Match[str]) -> str:
        return "…" if found[0].casefold() in known else found[0]

    def word(found: re.Match[str]) -> str:
        whole = found[0].casefold()
        return "…" if whole in known or whole.rstrip(".") in known else _PART.sub(part, found[0])

    return _WORD.sub(word, text)
