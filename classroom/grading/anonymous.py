"""A result without names: learners are numbers, in an order that does not follow their names."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from checker.api.grading import Person, PuzzleResult, Result, Source, Submission

_PART = re.compile(r"[^\W_]+")


def anonymous(result: Result) -> Result:
    """The result without names, ids, addresses and file names, in messages too, and without the text of kernels."""
    ordered = sorted(result.submissions, key=_place)
    everyone = _words_for(submission.learner for submission in result.submissions)
    unread = tuple(replace(one, file=f"file {n}") for n, one in enumerate(result.unread, start=1))
    submissions = tuple(_without_names(n, one, everyone) for n, one in enumerate(ordered, start=1))
    return replace(result, submissions=submissions, unread=unread)


def _place(submission: Submission) -> str:
    return hashlib.sha256(
        "\0".join((submission.learner.id, *(f.sha256 for f in submission.files))).encode()
    ).hexdigest()


def _without_names(n: int, submission: Submission, everyone: frozenset[str]) -> Submission:
    number, hide = f"learner-{n:03d}", _hider(submission, everyone)
    return replace(
        submission,
        learner=Person(id=number),
        returned_as=number,
        matched="",
        candidates=(),
        puzzles=tuple(_puzzle(one, hide) for one in submission.puzzles),
        files=tuple(replace(one, file=_file(one.file), sha256="") for one in submission.files),
        unread=tuple(replace(one, file=_file(one.file), message=hide(one.message)) for one in submission.unread),
    )


def _puzzle(puzzle: PuzzleResult, hide: Callable[[str], str]) -> PuzzleResult:
    gates = tuple(replace(gate, message=hide(gate.message), advice=hide(gate.advice)) for gate in puzzle.gates)
    source = puzzle.source
    if source is not None:  # its text may name anybody, and its hash would recognise it
        source = Source(file=_file(source.file), cell=source.cell, line=source.line)
    unreached = tuple(replace(one, condition=hide(one.condition)) for one in puzzle.unreached)
    return replace(puzzle, gates=gates, unreached=unreached, source=source, verdict="")  # the key is a hash of it, too


def _file(name: str) -> str:
    suffix = name.rpartition(".")[2].lower()
    return f"file.{suffix}" if suffix in ("py", "ipynb", "zip") else "file"


def _hider(submission: Submission, everyone: frozenset[str]) -> Callable[[str], str]:
    """Removes names from a text: those of the learner and their files wherever they stand, those of `everyone` as parts of words.

    Now and then that hits what only looks like a name, such as ``max``.
    """
    who = submission.learner
    names = {who.id, who.name, who.email, *who.logins, submission.matched, *_PART.findall(who.name)}
    files = [one.file for one in submission.files] + [one.file for one in submission.unread]
    files += [puzzle.source.file for puzzle in submission.puzzles if puzzle.source is not None]
    names |= {part for file in files for part in (file, *file.split("/"))}
    longest = sorted(filter(_telling, names), key=len, reverse=True)
    own = re.compile("|".join([r"\S+@\S+", *map(re.escape, longest)]), re.IGNORECASE)

    def part(match: re.Match[str]) -> str:
        return "…" if match[0].casefold().strip("0123456789") in everyone else match[0]

    return lambda text: _PART.sub(part, own.sub("…", text))


def _telling(word: str) -> bool:
    """Whether a word is long enough to tell whose name it is. In Chinese a name has two letters."""
    return len(word) > (2 if word.isascii() else 1)


def _words_for(people: Iterable[Person]) -> frozenset[str]:
    """The words in what people are called, each and all of them together, casefolded."""
    names = (name for who in people for name in (who.id, who.email.partition("@")[0], *who.logins, who.name))
    words = [[word.casefold() for word in _PART.findall(name)] for name in names]
    joined = ("".join(order) for some in words for order in (some, some[::-1]))
    return frozenset(filter(_telling, itertools.chain(*words, joined)))
