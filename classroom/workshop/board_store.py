"""What the board keeps: one SQLite file a class, named after when it was opened, in WAL mode. What was acknowledged is on the disk."""

from __future__ import annotations

import csv
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from classroom.grading.gradebook import guarded
from classroom.workshop import WorkshopError
from classroom.workshop.join_code import digest, new_code, new_token
from classroom.workshop.room import Learner
from classroom.workshop.wire import OPEN_FOR, Event, Message

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (id TEXT PRIMARY KEY, name TEXT NOT NULL, own_name INTEGER NOT NULL, token BLOB NOT NULL UNIQUE,
                      joined REAL NOT NULL, muted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE event (who TEXT NOT NULL, uid TEXT NOT NULL, at REAL NOT NULL, received REAL NOT NULL, kind TEXT NOT NULL,
                    puzzle TEXT, status TEXT, gate TEXT, misconception TEXT, attempt INTEGER, hints INTEGER,
                    seconds REAL, device TEXT, PRIMARY KEY (who, uid));
CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, text TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE recipient (who TEXT NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (who, message)) WITHOUT ROWID;
CREATE TABLE claim (who TEXT PRIMARY KEY, by TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
"""
FACTS = ("kind", "puzzle", "status", "gate", "misconception", "attempt", "hints", "seconds", "device")
FORGET_AFTER = 14 * 24 * 3600.0
Stored = tuple[str, Event, float]
"""Who, what, and when by the board's clock."""


class NoClass(WorkshopError):
    """There is no class in this file; the message says what to do."""


class Store:
    """One class. Every change is committed before the method returns; usable from several threads."""

    def __init__(self, path: Path) -> None:
        """Open a class that `create` made. Raises NoClass."""
        if not path.is_file():
            raise NoClass(f"there is no class at {path}")
        self.path = path
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            # FULL: what a learner was told is kept survives a power cut; secure_delete: what is deleted is overwritten
            self._db.executescript("PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;")
            self.meta("board")
        except (sqlite3.DatabaseError, KeyError):
            self._db.close()
            raise NoClass(f"{path} is not the file of a class") from None

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _execute(self, query: str, *values: object) -> list[Any]:
        """Run one statement; the rows that it selects."""
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def meta(self, key: str, default: str | None = None) -> str:
        """Raises KeyError where there is none, nor a `default`."""
        rows = self._execute("SELECT value FROM meta WHERE key = ?", key)
        if not rows and default is None:
            raise KeyError(key)
        return str(rows[0][0] if rows else default)

    def set_meta(self, **values: object) -> None:
        with self._lock, self._db:
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(k, str(v)) for k, v in values.items()])

    def add_learner(self, learner: Learner, own_name: bool, token: str) -> None:
        row = (learner.id, learner.name, own_name, digest(token), learner.joined)
        self._execute("INSERT INTO learner (id, name, own_name, token, joined) VALUES (?, ?, ?, ?, ?)", *row)

    def tokens(self) -> dict[bytes, str]:
        """Whose token has which digest."""
        return {bytes(token): who for token, who in self._execute("SELECT token, id FROM learner")}

    def learners(self) -> list[Learner]:
        rows = self._execute("SELECT id, name, joined, muted FROM learner ORDER BY joined")
        return [Learner(who, name, joined, bool(muted), last=joined) for who, name, joined, muted in rows]

    def mute(self, who: str, on: bool) -> None:
        self._execute("UPDATE learner SET muted = ? WHERE id = ?", on, who)

    def rename(self, who: str, name: str) -> None:
        self._execute("UPDATE learner SET name = ?, own_name = 1 WHERE id = ?", name, who)

    def forget(self, who: str) -> None:
        """Delete everything of one learner's, from the file and from what SQLite keeps beside it."""
        with self._lock:
            with self._db:
                self._db.execute("BEGIN")
                for table, column in (("event", "who"), ("recipient", "who"), ("claim", "who"), ("learner", "id")):
                    self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (who,))
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add_events(self, batch: Sequence[Stored]) -> list[bool]:
        """Keep events, in one commit; for each, whether it is new. One that was sent before is not kept twice."""
        received = time.time()
        with self._lock, self._db:
            self._db.execute("BEGIN")
            return [
                self._db.execute(
                    "INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (who, event.uid, at, received, *(getattr(event, fact) for fact in FACTS)),
                ).rowcount
                == 1
                for who, event, at in batch
            ]

    def events(self) -> list[Stored]:
        rows = self._execute(f"SELECT who, at, uid, {', '.join(FACTS)} FROM event ORDER BY at, rowid")
        return [(who, Event(uid, **dict(zip(FACTS, facts, strict=True))), at) for who, at, uid, *facts in rows]

    def push(self, text: str, about: str, recipients: Iterable[str]) -> int:
        """Keep a message for those who are there now."""
        with self._lock, self._db:
            self._db.execute("BEGIN")
            row = self._db.execute("INSERT INTO message (at, text, about) VALUES (?, ?, ?)", (time.time(), text, about))
            number = int(row.lastrowid or 0)
            self._db.executemany("INSERT INTO recipient VALUES (?, ?)", [(who, number) for who in recipients])
        return number

    def messages(self) -> dict[str, list[Message]]:
        found: dict[str, list[Message]] = {}
        query = "SELECT who, id, text, about FROM recipient JOIN message ON id = message ORDER BY id"
        for who, *facts in self._execute(query):
            found.setdefault(who, []).append(Message(*facts))
        return found

    def claim(self, who: str, by: str | None) -> bool:
        """Note that `by` goes to a learner, None that nobody does; False where somebody else does already."""
        with self._lock:
            if by is None:
                self._db.execute("DELETE FROM claim WHERE who = ?", (who,))
                return True
            row = self._db.execute("INSERT OR IGNORE INTO claim VALUES (?, ?, ?)", (who, by, time.time()))
            return row.rowcount == 1

    def claims(self) -> dict[str, str]:
        return dict(self._execute("SELECT who, by FROM claim"))


def create(path: Path, title: str) -> Store:
    """A new class, readable by its owner only. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA)
        tokens = {role: new_token() for role in ("screen", "helper", "teacher")}
        values = {"board": new_token(), "code": new_code(), "opened": time.time(), "title": title, "door": "1"} | tokens
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(key, str(value)) for key, value in values.items()])
        db.commit()
    return Store(path)


def all_of(folder: Path) -> list[Path]:
    """The files of all classes, the newest first."""
    return sorted(folder.glob("class-*.sqlite"), reverse=True)


def newest(folder: Path) -> Path:
    """Raises NoClass."""
    found = all_of(folder)
    if not found:
        raise NoClass(f"there is no class in {folder}")
    return found[0]


def open_or_new(folder: Path, title: str) -> Store:
    """The class that was opened in the last 12 hours and not closed, so that one goes on after the machine slept; else a new one."""
    with suppress(NoClass):
        store = Store(newest(folder))
        if not store.meta("closed", "") and time.time() - float(store.meta("opened")) < OPEN_FOR:
            return store
        store.close()
    return create(folder / f"class-{datetime.now():%Y%m%d-%H%M%S}.sqlite", title)


def old(folder: Path) -> list[Path]:
    """The classes that nobody needs any more, and whose learners may expect to be forgotten."""
    found = []
    for path in all_of(folder):
        with suppress(NoClass), closing(Store(path)) as store:
            if time.time() - float(store.meta("opened")) > FORGET_AFTER:
                found.append(path)
    return found


def delete(path: Path) -> None:
    """Delete the file of a class and what lies beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.lock"):
        path.with_name(name).unlink(missing_ok=True)


def export(store: Store, target: Path, names: bool = False) -> int:
    """Write a class as .csv or .sqlite, with numbers for learners unless `names`; returns how many events.

    Neither tokens nor ids nor the join code are in it; times count from the beginning. Raises WorkshopError for another ending.
    """
    if target.suffix not in (".csv", ".sqlite"):
        raise WorkshopError(f"an export is a .csv or a .sqlite, and {target.name} is neither")
    learners, events = store.learners(), store.events()
    called = {one.id: one.name if names else f"learner {n}" for n, one in enumerate(learners, 1)}
    opened = float(store.meta("opened"))
    heads = ("learner", "minute", *FACTS)
    rows = [
        (called[who], round((at - opened) / 60, 2), *(getattr(event, fact) for fact in FACTS))
        for who, event, at in events
        if who in called
    ]
    if target.suffix == ".csv":
        with target.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(
                [heads, *([guarded(str(cell)) for cell in row] for row in rows)]
            )
        return len(rows)
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(target)) as db, db:
        db.execute(f"CREATE TABLE events ({', '.join(heads)})")
        db.executemany(f"INSERT INTO events VALUES ({', '.join('?' * len(heads))})", rows)
    return len(rows)
