"""Whose file is it? How Canvas, Moodle, nbgrader, Gradescope, GitHub Classroom, Classroom 50 and plain folders say so.

Formats as read in Canvas's content_zipper.rb, Moodle's mod_assign downloader, nbgrader's folders, Gradescope's exports and
Classroom 50's reponame.go (November 2026).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

import yaml

Kind = Literal["file", "text", "link"]


@dataclass(frozen=True)
class Place:
    """Where a file belongs. `names` are what the learner may be known by, the best first; the last one is good for reading.

    `returned_as` is the name under which the platform takes feedback back. `times` and `late` are as the platform says.
    """

    names: tuple[str, ...]
    file: str
    returned_as: str
    attempt: int = 1
    late: bool = False
    kind: Kind = "file"
    time: str | None = None


@dataclass(frozen=True)
class Layout:
    """`place` gives the learners that a file belongs to, by its name: none where the layout cannot say."""

    name: str
    place: Callable[[str], tuple[Place, ...]]
    assignments: frozenset[str] = field(default_factory=frozenset)


_CANVAS = re.compile(
    r"(?P<name>[^\W_]+)(?P<late>_LATE)?_(?P<user>[0-9A-Za-z]+)_(?:(?P<attachment>\d+)_(?P<file>.+)|(?P<kind>text|link)\.html)"
)
_MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<file>.*)")
_MOODLE_ID = re.compile(r"_\d+_assignsubmission_(file|onlinetext)")
_RESUBMITTED = re.compile(r"(?P<stem>.+)-(?P<count>\d{1,2})(?P<suffix>\.\w+)?$")
GRADESCOPE = re.compile(r"(assignment_\d+_export/)?submission_metadata\.yml")
"""The metadata of a whole export. Any deeper is a file of a learner's."""
TIMESTAMP = "timestamp.txt"


def layout_of(names: Sequence[str], root: str = "", gradescope: str = "", puzzles: Sequence[str] = ()) -> Layout:
    """The layout of the files called `names`, relative to a folder or zip called `root`.

    `gradescope` is the text of the export's metadata, where there is one. What matches no platform is a plain folder.
    """
    tops = sorted({name.split("/")[0] for name in names})
    if gradescope:
        return _gradescope(gradescope)
    if tops and _most(tops, _canvas_name):
        return Layout("canvas", _canvas)
    if tops and _most(tops, _MOODLE.fullmatch):
        return Layout("moodle", _moodle)
    parts = [PurePosixPath(name).parts for name in names]
    if root == "submitted" or "submitted" in tops:
        return _nbgrader(parts, 0 if root == "submitted" else 1)
    stamped = {p[0] for p in parts if len(p) == 3 and p[-1] == TIMESTAMP}
    if tops and _most(tops, stamped.__contains__):
        return _nbgrader(parts, 0)
    folders = sorted({p[0] for p in parts if len(p) > 1})
    prefix = _repository_prefix(folders, tops, root, parts)
    if prefix:
        return Layout("github", lambda name: _github(name, prefix))
    return Layout("plain", lambda name: _plain(name, puzzles))


def _most(names: Sequence[str], matches: Callable[[str], object]) -> bool:
    """Whether more than half of the names match. Platforms export nothing else, but people may add a file."""
    return sum(1 for name in names if matches(name)) * 2 > len(names)


def _canvas_name(name: str) -> re.Match[str] | None:
    found = _CANVAS.fullmatch(name)
    return found if found and (found["user"].isdigit() or found["name"] == "anon") else None


def _canvas(name: str) -> tuple[Place, ...]:
    top, _, rest = name.partition("/")
    found = _canvas_name(top)
    if found is None:
        return ()
    user = f"anon_{found['user']}" if found["name"] == "anon" else found["user"]
    file, attempt = (found["file"] or top, 1) if rest else _resubmitted(found["file"] or top)
    kind: Kind = found["kind"] or "file"  # type: ignore[assignment]
    inner = f"{file}/{rest}" if rest else file
    late = found["late"] is not None
    returned = f"{found['name']}{found['late'] or ''}_{found['user']}_{found['attachment'] or 'text'}_"
    return (Place((user, found["name"]), inner, returned, attempt, late, kind),)


def _resubmitted(file: str) -> tuple[str, int]:
    """Canvas adds ``-1`` to what is handed in a second time."""
    found = _RESUBMITTED.fullmatch(file)
    return (f"{found['stem']}{found['suffix'] or ''}", int(found["count"]) + 1) if found else (file, 1)


def _moodle(name: str) -> tuple[Place, ...]:
    top, _, rest = name.partition("/")
    found = _MOODLE.fullmatch(top)
    if found is None or (rest and found["file"]) or (not rest and len(_MOODLE_ID.findall(top)) > 1):
        return ()  # people choose their names and those of their files, and may write an id into them
    kind: Kind = "text" if found["kind"] == "onlinetext" else "file"
    file = rest or found["file"] or top
    returned = f"{found['name']}_{found['id']}_assignsubmission_file"
    return (Place((found["id"], found["name"]), file, returned, kind=kind),)


def _nbgrader(parts: Sequence[tuple[str, ...]], skip: int) -> Layout:
    assignments = frozenset(p[skip + 1] for p in parts if len(p) > skip + 2)

    def place(name: str) -> tuple[Place, ...]:
        p = PurePosixPath(name).parts
        if len(p) <= skip + 1 or (skip and p[0] != "submitted"):
            return ()
        file = "/".join(p[skip + 1 :])
        return (Place((p[skip],), file, p[skip]),)

    return Layout("nbgrader", place, assignments)


def _gradescope(text: str) -> Layout:
    submissions = gradescope_submitters(text)

    def place(name: str) -> tuple[Place, ...]:
        *folders, file = PurePosixPath(name).parts
        at = next((i for i, folder in enumerate(folders) if folder in submissions), None)
        if at is None:
            return ()
        time, submitters = submissions[folders[at]]
        inner = "/".join([*folders[at + 1 :], file])
        return tuple(Place(names, inner, folders[at], time=time) for names in submitters)

    return Layout("gradescope", place)


def gradescope_submitters(text: str) -> Mapping[str, tuple[str | None, list[tuple[str, ...]]]]:
    """By folder: when it was handed in, and the names of each submitter (sid, email, name)."""
    try:
        export = yaml.load(text, Loader=yaml.BaseLoader)  # every value is text
    except yaml.YAMLError:
        return {}
    submissions = {}
    handed = Counter(person.get(":name") for about in export.values() for person in about.get(":submitters") or ())
    for folder, about in export.items():
        names = []
        for person in about.get(":submitters") or [{}]:
            known = tuple(filter(None, map(person.get, (":sid", ":email", ":name"))))
            alone = len(known) > 1 or handed[person.get(":name")] == 1  # two people may be called the same
            names.append(known if known and alone else (folder, *known))
        submissions[folder] = (about.get(":created_at"), names)
    return submissions


def _repository_prefix(folders: Sequence[str], tops: Sequence[str], root: str, parts: Sequence[tuple[str, ...]]) -> str:
    """What the names of cloned repositories begin with: ``assignment-`` or ``classroom-assignment-``. Empty where they are none."""
    if root.endswith("-submissions"):
        prefix = f"{root.removesuffix('-submissions')}-"
        if folders and all(folder.startswith(prefix) for folder in folders):
            return prefix
    cloned = {
        p[0] for p in parts if len(p) > 1 and p[1] in (".git", ".github", ".classroom50.yml", ".classroom50.yaml")
    }
    if len(folders) < 2 or not set(folders) <= cloned or len(folders) != len(tops):
        return ""
    common = os.path.commonprefix(list(folders))  # noqa: RUF071 (characters are meant)
    return common[: common.rfind("-") + 1]


def _github(name: str, prefix: str) -> tuple[Place, ...]:
    top, _, rest = name.partition("/")
    if not top.startswith(prefix) or not rest:
        return ()
    user = top.removeprefix(prefix)
    return (Place((user,), rest, user),)


def _plain(name: str, puzzles: Sequence[str]) -> tuple[Place, ...]:
    """A folder is a learner, and so is a file: by its name without the puzzle's, so that ``anna_row_softmax.py`` is Anna's."""
    top, _, rest = name.partition("/")
    path = PurePosixPath(top)
    stem = (
        top
        if rest
        else top.removesuffix("".join(path.suffixes[-2:]) if path.suffixes[-2:-1] == [".tar"] else path.suffix)
    )
    for puzzle in sorted(puzzles, key=len, reverse=True):
        short = re.sub(rf"[_\-. ]{re.escape(puzzle)}(_kernel)?$", "", stem)
        if short and short != stem:
            stem = short
            break
    return (Place((stem,), rest or top, stem),)
