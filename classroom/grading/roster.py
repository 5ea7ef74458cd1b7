"""Who is in the class: your own CSV, or one that a learning platform exports."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from checker.api.grading import Person

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "student_id", "sid", "identifier", "sis user id", "id number", "username", "github_username"),
    "name": ("name", "student", "full name", "student name"),
    "first": ("first name", "first_name", "firstname"),
    "last": ("last name", "last_name", "surname", "lastname"),
    "email": ("email", "email address", "e-mail"),
    "section": ("section", "group", "groups", "sections"),
    "login": (
        "login",
        "sis login id",
        "username",
        "user name",
        "github_username",
        "github",
        "integration id",
        "sis user id",
    ),
}
"""The names of each field, in lower case, the best first."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_ROWS_OF_PLATFORMS = ("points possible", "student, test", "student test")


class RosterError(ValueError):
    """The file cannot be read as a roster; the message says what to do."""


def normal(name: str) -> str:
    """A name as platforms write it into file names: lower-case letters and digits only."""
    return "".join(c for c in name.casefold() if c.isalnum())


class Roster:
    """People by every name that a platform may use for them. A name that two people share matches neither."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(people)
        self._known: dict[str, Person | None] = {}
        for person in self.people:
            for name in dict.fromkeys(normal(name) for name in _names(person)):
                if name:
                    self._known[name] = None if name in self._known else person
        for person in self.people:  # an id wins over somebody else's name
            self._known[normal(person.id)] = person

    def find(self, names: Sequence[str]) -> Person | None:
        """The person whom the first known name belongs to."""
        return next((person for name in names if (person := self._known.get(normal(name)))), None)

    def owner_of_file(self, stem: str) -> Person | None:
        """The person whose name a file's name is, or begins with: ``anna_row_softmax``."""
        parts = re.split(r"([_\-. ]+)", stem)
        tries = ["".join(parts[: n + 1]) for n in range(min(len(parts), 12) - 1, -1, -2)]
        return self.find(tries)


def _names(person: Person) -> Iterable[str]:
    yield from (person.id, person.email, person.email.partition("@")[0], *person.logins, person.name)
    words = person.name.replace(",", " ").split()
    if len(words) > 1:  # Canvas puts the last name first
        yield " ".join([words[-1], *words[:-1]])
        yield " ".join([*words[1:], words[0]])


def read_roster(path: Path) -> Roster:
    """Raises FileNotFoundError, and RosterError for a file without a column of names or ids."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path} is not a CSV in UTF-8: save it as one") from None
    rows = list(csv.reader(io.StringIO(text)))
    if not rows:
        raise RosterError(f"{path} is empty")
    heads = [head.strip().casefold() for head in rows[0]]
    columns = {field: [heads.index(n) for n in names if n in heads] for field, names in COLUMNS.items()}
    if "id" in heads and "student" in heads:  # Canvas: its own number, by which it names files
        columns["id"] = [heads.index("id")]
    if not (columns["id"] or columns["email"] or columns["name"]):
        raise RosterError(f"{path} needs a column called id, email or name; it has {', '.join(rows[0])[:200]}")
    people: dict[str, Person] = {}
    for row in rows[1:]:
        person = _person([*row, *[""] * (len(heads) - len(row))], columns)
        if person is None:
            continue
        if person.id in people:
            raise RosterError(f"{path} lists {person.id} twice")
        people[person.id] = person
    return Roster(people.values())


def _person(row: Sequence[str], columns: Mapping[str, Sequence[int]]) -> Person | None:
    row = [_CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split())) for text in row]

    def cell(field: str) -> str:
        return next((row[at] for at in columns[field] if row[at]), "")

    name = cell("name") or f"{cell('first')} {cell('last')}".strip()
    if not any(row) or any(name.casefold().startswith(other) for other in _ROWS_OF_PLATFORMS):
        return None
    identifier = cell("id") or cell("email") or name
    if not identifier:
        return None
    moodle = re.fullmatch(r"(?:Participant|Teilnehmer/in) ?(\d+)", identifier)
    logins = [row[at] for at in columns["login"] if row[at]]
    return Person(
        id=moodle[1] if moodle else identifier,
        name=name,
        email=cell("email"),
        section=cell("section"),
        logins=tuple(dict.fromkeys(login for login in logins if login != identifier)),
    )
