"""The board's memory: one SQLite file per class, in WAL mode. An acknowledged event is on the disk."""

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

from checker.api.command_line import UsageError
from checker.api.room import OPEN_FOR, Event, Message
from classroom.grading.tables import guarded
from classroom.workshop.join_code import digest, new_code, new_token
from classroom.workshop.room import Learner

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE learner (id TEXT PRIMARY KEY, name TEXT NOT NULL, token BLOB NOT NULL UNIQUE, joined REAL NOT NULL,
                      muted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE event (who TEXT NOT NULL, uid TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
                    puzzle TEXT, status TEXT, gate TEXT, misconception TEXT, attempt INTEGER, hints INTEGER,
                    seconds REAL, device TEXT, PRIMARY KEY (who, uid));
CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE recipient (who TEXT NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (who, message)) WITHOUT ROWID;
CREATE TABLE claim (who TEXT PRIMARY KEY, by TEXT NOT NULL) WITHOUT ROWID;
"""
FACTS = ("kind", "puzzle", "status", "gate", "misconception", "attempt", "hints", "seconds", "device")
FORGET_AFTER = 14 * 24 * 3600.0
Stored = tuple[str, Event, float]
"""A learner's id, an event, and when it happened by the board's clock."""


class NoClass(UsageError):
    """The file holds no class."""


class Store:
    """One class. Every change is committed before its method returns. Methods may be called from several threads."""

    def __init__(self, path: Path) -> None:
        """Open a class that `create` made. Raises NoClass."""
        if not path.is_file():
            raise NoClass(f"there is no class at {path}")
        self.path = path
        self._lock = threading.Lock()
        self._writer, self._reader = (
            sqlite3.connect(path, check_same_thread=False, isolation_level=None) for _ in range(2)
        )
        try:
            # FULL: an acknowledged event survives a power cut; secure_delete: SQLite overwrites what it deletes
            self._writer.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;")
            self.meta("title")
        except (sqlite3.DatabaseError, KeyError):
            self.close()
            raise NoClass(f"{path} is not the file of a class") from None

    def close(self) -> None:
        with self._lock:
            self._reader.close()
            self._writer.close()

    def _select(self, query: str, *values: object) -> list[Any]:
        """Rows; never waits for a write."""
        return self._reader.execute(query, values).fetchall()

    def _change(self, query: str, *values: object) -> int:
        """Run a statement; returns how many rows it changed."""
        with self._lock:
            return self._writer.execute(query, values).rowcount

    def meta(self, key: str, default: str | None = None) -> str:
        """Raises KeyError if the class has no such fact and there is no `default`."""
        rows = self._select("SELECT value FROM meta WHERE key = ?", key)
        if not rows and default is None:
            raise KeyError(key)
        return str(rows[0][0] if rows else default)

    def set_meta(self, **values: object) -> None:
        with self._lock, self._writer:
            self._writer.execute("BEGIN")
            rows = [(key, str(value)) for key, value in values.items()]
            self._writer.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def add_learner(self, learner: Learner, token: str) -> None:
        row = (learner.id, learner.name, digest(token), learner.joined)
        self._change("INSERT INTO learner (id, name, token, joined) VALUES (?, ?, ?, ?)", *row)

    def who(self, token: str) -> str:
        """The id of the learner with a token, "" if nobody has it."""
        rows = self._select("SELECT id FROM learner WHERE token = ?", digest(token))
        return str(rows[0][0]) if rows else ""

    def learners(self) -> list[Learner]:
        rows = self._select("SELECT id, name, joined, muted FROM learner ORDER BY joined")
        return [Learner(who, name, joined, bool(muted), last=joined) for who, name, joined, muted in rows]

    def update_learner(self, learner: Learner) -> None:
        self._change("UPDATE learner SET name = ?, muted = ? WHERE id = ?", learner.name, learner.muted, learner.id)

    def forget(self, who: str) -> None:
        """Delete everything about a learner, also from the files that SQLite keeps beside this one."""
        with self._lock:
            with self._writer:
                self._writer.execute("BEGIN")
                for table, column in (("event", "who"), ("recipient", "who"), ("claim", "who"), ("learner", "id")):
                    self._writer.execute(f"DELETE FROM {table} WHERE {column} = ?", (who,))
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def add_events(self, batch: Sequence[Stored]) -> list[bool]:
        """Store events in one commit; returns which are new."""
        insert = f"INSERT OR IGNORE INTO event VALUES ({', '.join('?' * (3 + len(FACTS)))})"
        rows = [(who, event.uid, at, *(getattr(event, fact) for fact in FACTS)) for who, event, at in batch]
        with self._lock, self._writer:
            self._writer.execute("BEGIN")
            return [self._writer.execute(insert, row).rowcount == 1 for row in rows]

    def events(self) -> list[Stored]:
        rows = self._select(f"SELECT who, at, uid, {', '.join(FACTS)} FROM event ORDER BY at, rowid")
        return [(who, Event(uid, **dict(zip(FACTS, facts, strict=True))), at) for who, at, uid, *facts in rows]

    def add_message(self, text: str, about: str, recipients: Iterable[str]) -> None:
        with self._lock, self._writer:
            self._writer.execute("BEGIN")
            row = self._writer.execute("INSERT INTO message (text, about) VALUES (?, ?)", (text, about))
            pairs = [(who, row.lastrowid) for who in recipients]
            self._writer.executemany("INSERT INTO recipient VALUES (?, ?)", pairs)

    def messages(self, who: str, seen: int, most: int) -> list[Message]:
        """The oldest messages to a learner after the one with the number `seen`."""
        query = "SELECT id, text, about FROM recipient JOIN message ON id = message WHERE who = ? AND id > ? ORDER BY id LIMIT ?"
        return [Message(*row) for row in self._select(query, who, seen, most)]

    def claim(self, who: str, by: str) -> bool:
        """Note that the helper `by` goes to a learner; False if somebody else does already."""
        return self._change("INSERT OR IGNORE INTO claim VALUES (?, ?)", who, by) == 1

    def release(self, who: str) -> None:
        self._change("DELETE FROM claim WHERE who = ?", who)

    def claims(self) -> dict[str, str]:
        return dict(self._select("SELECT who, by FROM claim"))


def create(path: Path, title: str) -> Store:
    """A new class, readable by its owner only. Raises FileExistsError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(path)) as db:
        db.executescript(SCHEMA)
        tokens = {role: new_token() for role in ("screen", "helper", "teacher")}
        values = {"code": new_code(), "opened": time.time(), "title": title, "door": 1} | tokens
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(key, str(value)) for key, value in values.items()])
        db.commit()
    return Store(path)


def all_of(folder: Path) -> list[Path]:
    """The files of all classes, newest first."""
    return sorted(folder.glob("class-*.sqlite"), reverse=True)


def newest(folder: Path) -> Path:
    """Raises NoClass."""
    if paths := all_of(folder):
        return paths[0]
    raise NoClass(f"there is no class in {folder}")


def open_or_new(folder: Path, title: str) -> Store:
    """The newest class if it is less than 12 hours old and not closed, so that a restarted board continues; else a new one."""
    with suppress(NoClass):
        store = Store(newest(folder))
        if not store.meta("closed", "") and time.time() - float(store.meta("opened")) < OPEN_FOR:
            return store
        store.close()
    return create(folder / f"class-{datetime.now():%Y%m%d-%H%M%S}.sqlite", title)


def old(folder: Path) -> list[Path]:
    """The classes of more than two weeks ago, whose learners may expect to be forgotten."""
    paths = []
    for path in all_of(folder):
        with suppress(NoClass), closing(Store(path)) as store:
            if time.time() - float(store.meta("opened")) > FORGET_AFTER:
                paths.append(path)
    return paths


def delete(path: Path) -> None:
    """Delete the file of a class and those that SQLite and the lock keep beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.lock"):
        path.with_name(name).unlink(missing_ok=True)


def export(store: Store, target: Path, names: bool = False) -> int:
    """Write the events of a class as CSV, with learners numbered unless `names`; returns how many there are.

    It holds no token, id or join code, and minutes count from the beginning of the class.
    """
    learners, opened = store.learners(), float(store.meta("opened"))
    labels = {one.id: one.name if names else f"learner {n}" for n, one in enumerate(learners, 1)}
    rows = [
        (labels[who], round((at - opened) / 60, 2), *(getattr(event, fact) for fact in FACTS))
        for who, event, at in store.events()
        if who in labels
    ]
    with target.open("w", newline="", encoding="utf-8") as file:
        lines = [("learner", "minute", *FACTS), *([guarded(str(cell)) for cell in row] for row in rows)]
        csv.writer(file, lineterminator="\n").writerows(lines)
    return len(rows)
