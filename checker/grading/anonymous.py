"""A result without anyone's name: learners are numbers, in an order that does not follow their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from msgspec.structs import replace

from checker.grading.records import Chosen, LearnerResult, Person, PuzzleResult, Result


def anonymous(result: Result) -> Result:
    """Names, ids, addresses and file names go, also out of messages and out of the comments of kernels."""
    ordered = sorted(result.learners, key=_place)
    told = tuple(replace(t, file=f"file {n}") for n, t in enumerate(result.told, start=1))
    return replace(result, learners=tuple(_without(n, one) for n, one in enumerate(ordered, start=1)), told=told)


def _place(learner: LearnerResult) -> str:
    return hashlib.sha256("\0".join((learner.person.id, *(f.sha256 for f in learner.files))).encode()).hexdigest()


def _without(n: int, learner: LearnerResult) -> LearnerResult:
    number, hide = f"learner-{n:03d}", _hider(learner)
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


def _hider(learner: LearnerResult) -> Callable[[str], str]:
    """Takes out of a text what the learner, or a file of theirs, is called: names as whole words, whatever their case."""
    who = learner.person
    names = {who.id, who.name, who.email, who.email.partition("@")[0], *who.logins}
    names |= {word for word in re.split(r"\W+", who.name) if len(word) > 2}
    files = {f.file for f in learner.files} | {t.file for t in learner.told}
    files |= {text for p in learner.puzzles if p.chosen for text in (p.chosen.file, p.chosen.place)}
    names |= files | {file.rpartition("/")[2] for file in files}
    longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    if not longest:
        return lambda text: text
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest), re.IGNORECASE)
    return lambda text: pattern.sub("…", text)
