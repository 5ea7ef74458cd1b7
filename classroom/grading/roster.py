"""Who is in the class: your own CSV, or one that a learning platform exports; and which of them a name belongs to.

A name belongs to a person as it is written, or else by likeness if it is the only one that is like that person. Nothing is guessed.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.api.grading import Person
from classroom.grading.tables import TableError, guarded, read_table

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "student_id", "sid", "identifier", "sis user id", "id number", "username", "github_username"),
    "name": ("name", "student", "full name", "student name"),
    "first": ("first name", "first_name", "firstname"),
    "last": ("last name", "last_name", "surname", "lastname"),
    "email": ("email", "email address", "e-mail"),
    "section": ("section", "group", "groups", "sections"),
    "login": (
        *("login", "sis login id", "username", "user name", "github_username", "github", "integration id"),
        *("sis user id", "id number"),
    ),
}
"""The names of each field, in lower case, the best first."""
_PARTICIPANT = re.compile(r"(?:Participant|Teilnehmer[/*:]in|Participante) ?(\d+)")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_TEST_STUDENTS = ("student, test", "student test", "test student")


def normal(name: str) -> str:
    """A name as platforms write it into file names: lower-case letters and digits only."""
    return "".join(c for c in _written(name).casefold() if c.isalnum())


def _written(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip())


@dataclass(frozen=True)
class Match:
    """Whom a name belongs to, if anybody. Where that is in doubt, `candidates` are the ids of the people it may mean."""

    person: Person | None = None
    by_likeness: bool = False
    candidates: tuple[str, ...] = ()


class Roster:
    """People by every name that a platform may use for them. `platform` is the one whose ids they have, if any."""

    def __init__(self, people: Iterable[Person], platform: str = "") -> None:
        self.people, self.platform = tuple(people), platform
        self._ids = {_written(person.id): person for person in self.people}
        self._exact = _index(self.people, _written)
        self._alike = _index(self.people, normal)

    def match(
        self,
        owners: Iterable[tuple[str, ...]],
        *,
        platform: str = "",
        files: bool = False,
        settled: Mapping[str, str] | None = None,
    ) -> dict[tuple[str, ...], Match]:
        """Whom each owner's names belong to, the best name first. Two owners are never alike the same person.

        An id of the roster's own `platform` is somebody else's, however alike the names are, if it is not on the roster.
        In names of `files` a person's name may be followed by more: ``anna_final``. `settled` gives the ids of owners by
        the cells with their best names, empty for nobody. Raises TableError for an id that is not on the roster.
        """
        settled = settled or {}
        if unknown := sorted({*settled.values()} - {*self._ids, ""}):
            raise TableError(f"nobody on the roster has the id {', '.join(unknown)}")
        own = bool(self.platform) and self.platform == platform
        matches, alike = dict[tuple[str, ...], Match](), dict[tuple[str, ...], tuple[Person, ...]]()
        for names in dict.fromkeys(owners):
            found = self._named(names, own)
            if (cell := guarded(names[0]).strip()) in settled:
                matches[names] = Match(self._ids.get(settled[cell]))
            elif len(found) == 1:
                matches[names] = Match(found[0])
            else:
                alike[names] = found or self._like(names, files)
        sure_ones = (match.person for match in matches.values() if match.person is not None)
        claims = Counter(person.id for person in [*sure_ones, *itertools.chain(*alike.values())])
        for names, people in alike.items():
            sure = len(people) == 1 and claims[people[0].id] == 1 and not own
            matches[names] = (
                Match(people[0], by_likeness=True) if sure else Match(candidates=tuple(person.id for person in people))
            )
        return matches

    def _named(self, names: Sequence[str], own: bool) -> tuple[Person, ...]:
        """The people whom all names are written like, or, where the names disagree, each of them. Only `own` ids decide alone."""
        written = [_written(name) for name in names]
        if own and written[0] in self._ids:
            return (self._ids[written[0]],)
        found = [self._exact[name] for name in written if name in self._exact]
        everyone = tuple({person.id: person for some in found for person in some}.values())
        return tuple(person for person in everyone if all(person in some for some in found)) or everyone

    def _like(self, names: Sequence[str], files: bool) -> tuple[Person, ...]:
        for name in map(normal, names):
            if name and name in self._alike:
                return self._alike[name]
        parts = re.split(r"([_\-. ]+)", names[0]) if files else []
        starts = ("".join(parts[:n]) for n in range(min(len(parts), 12) - 2, 0, -2))
        return next((found for start in starts if (found := self._alike.get(normal(start)))), ())


def _index(people: Iterable[Person], key: Callable[[str], str]) -> dict[str, tuple[Person, ...]]:
    found: dict[str, dict[str, Person]] = defaultdict(dict)
    for person in people:
        for name in _names(person):
            found[key(name)][person.id] = person
    return {name: tuple(some.values()) for name, some in found.items() if name}


def _names(person: Person) -> Iterable[str]:
    yield from (person.id, person.email, person.email.partition("@")[0], *person.logins, person.name)
    words = person.name.replace(",", " ").split()
    if len(words) > 1:  # Canvas puts the last name first
        yield " ".join([words[-1], *words[:-1]])
        yield " ".join([*words[1:], words[0]])


# ------------------------------------------------------------------------------------------------------------------- tables


def read_roster(path: Path) -> Roster:
    """Raises FileNotFoundError, and TableError for a file without a column of names or ids."""
    table = read_table(path)
    heads = table.heads
    columns = {field: [heads.index(n) for n in names if n in heads] for field, names in COLUMNS.items()}
    platform = ""
    if "id" in heads and "student" in heads:  # Canvas: its own number, by which it names files
        columns["id"], platform = [heads.index("id")], "canvas"
    if not (columns["id"] or columns["email"] or columns["name"]):
        raise TableError(f"{path} needs a column called id, email or name; it has {', '.join(table.rows[0])[:200]}")
    people: dict[str, Person] = {}
    for row in table.rows[1:]:
        person = _person([*row, *[""] * (len(heads) - len(row))], columns)
        if person is None:
            continue
        if _written(person.id) in people:
            raise TableError(f"{path} lists {person.id} twice")
        people[_written(person.id)] = person
        if _PARTICIPANT.fullmatch(row[columns["id"][0]].strip() if columns["id"] else ""):
            platform = "moodle"
    return Roster(people.values(), platform)


def read_matches(path: Path) -> dict[str, str]:
    """Who handed in under which name, as the file ``unmatched.csv`` of a run has it once its column `id` is filled in."""
    table = read_table(path)
    name, identifier = table.column("handed_in"), table.column("id")
    if name is None or identifier is None:
        raise TableError(f"{path} needs the columns handed_in and id")
    wide = [[*row, *[""] * len(table.heads)] for row in table.rows[1:]]
    return {row[name].strip(): row[identifier].strip() for row in wide if row[name].strip()}


def participant(identifier: str) -> str:
    """Moodle's number of a participant, by which it names folders; anything else as it is."""
    found = _PARTICIPANT.fullmatch(identifier.strip())
    return found[1] if found else identifier


def _person(row: Sequence[str], columns: Mapping[str, Sequence[int]]) -> Person | None:
    row = [_CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split())) for text in row]

    def cell(field: str) -> str:
        return next((row[at] for at in columns[field] if row[at]), "")

    name = cell("name") or f"{cell('first')} {cell('last')}".strip()
    identifier = cell("id") or cell("email")
    points = name.casefold().startswith("points possible") and not identifier  # Canvas's row of what columns are worth
    identifier = identifier or name
    if points or not identifier or name.casefold() in _TEST_STUDENTS:
        return None
    logins = [row[at] for at in columns["login"] if row[at]]
    return Person(
        id=participant(identifier),
        name=name,
        email=cell("email"),
        section=cell("section"),
        logins=tuple(dict.fromkeys(login for login in logins if login != identifier)),
    )
