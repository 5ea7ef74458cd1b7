"""A result without names: learners are numbers, in an order that does not follow their names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from checker.api.grading import Person, PuzzleResult, Result, Source, Submission

_COMMENT = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''", re.DOTALL)
_WORD = re.compile(r"[\w.+@-]+")
_PART = re.compile(r"\w+")


def anonymous(result: Result) -> Result:
    """The result without names, ids, addresses and file names, in messages and in the comments of kernels too."""
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
        files=tuple(replace(one, file=_file(one.file)) for one in submission.files),
        unread=tuple(replace(one, file=_file(one.file), message=hide(one.message)) for one in submission.unread),
    )


def _puzzle(puzzle: PuzzleResult, hide: Callable[[str], str]) -> PuzzleResult:
    gates = tuple(replace(gate, message=hide(gate.message), advice=hide(gate.advice)) for gate in puzzle.gates)
    source = puzzle.source
    if source is not None:  # its hash would recognise the kernel
        source = Source(file=_file(source.file), cell=source.cell, line=source.line, text=hide(source.text))
    unreached = tuple(replace(one, condition=hide(one.condition)) for one in puzzle.unreached)
    return replace(puzzle, gates=gates, unreached=unreached, source=source)


def _file(name: str) -> str:
    return f"file.{name.rpartition('.')[2]}" if "." in name else "file"


def _hider(submission: Submission, everyone: frozenset[str]) -> Callable[[str], str]:
    """Removes names from a text: those of the learner and their files anywhere, those of `everyone` in comments.

    Names are whole words in any case. In code, the names of others would hit what only looks like a name, such as ``max``.
    """
    who = submission.learner
    names = {who.id, who.name, who.email, who.email.partition("@")[0], *who.logins}
    names |= {word for word in re.split(r"\W+", who.name) if len(word) > 2}
    files = {one.file for one in submission.files} | {one.file for one in submission.unread}
    files |= {puzzle.source.file for puzzle in submission.puzzles if puzzle.source is not None}
    names |= files | {file.rpartition("/")[2] for file in files}
    longest = sorted((name for name in names if len(name) > 1), key=len, reverse=True)
    own = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest) or r"(?!)", re.IGNORECASE)

    def hide(text: str) -> str:
        return _COMMENT.sub(lambda comment: _hidden(comment[0], everyone), own.sub("…", text))

    return hide


def _words_for(people: Iterable[Person]) -> frozenset[str]:
    """What people are called, casefolded: ids, logins and addresses whole, names word by word."""
    words: set[str] = set()
    for who in people:
        words |= {who.id, who.email, who.email.partition("@")[0], *who.logins}
        words |= set(_PART.findall(who.name))
    return frozenset(word.casefold() for word in words if len(word) > 2)


def _hidden(text: str, names: frozenset[str]) -> str:
    """`text` without the words in `names`."""

    def part(match: re.Match[str]) -> str:
        return "…" if match[0].casefold() in names else match[0]

    def word(match: re.Match[str]) -> str:
        whole = match[0].casefold()
        return "…" if whole in names or whole.rstrip(".") in names else _PART.sub(part, match[0])

    return _WORD.sub(word, text)
