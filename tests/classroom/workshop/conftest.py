"""The course, a board on a free port of this machine, and learners who join it over HTTP."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from classroom.workshop import board_store
from classroom.workshop.agenda import lessons
from classroom.workshop.board import Server
from classroom.workshop.live_class import LiveClass, Role
from tests.films.conftest import browser_thread, chrome, pytest_pyfunc_call  # noqa: F401 (a browser in a thread of its own)

ROOT = Path(__file__).resolve().parents[3]
COURSE = lessons(ROOT / "notebooks")


@dataclass
class Board:
    """A running board. `ask` returns the status and the answer, whatever they are."""

    url: str
    live: LiveClass
    server: Server
    stop: Callable[[], None]

    @property
    def address(self) -> str:
        return f"{self.live.code}@{self.url}"

    def ask(self, path: str, body: Any = None, token: str = "", **headers: str) -> tuple[int, Any]:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"X-Class-Token": token, **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def join(self, **more: str) -> dict[str, str]:
        status, joined = self.ask("join", {"code": self.live.code, **more})
        assert status == 200, joined
        return dict(joined)

    def send(self, token: str, *events: dict[str, Any], seen: int = 0) -> tuple[int, Any]:
        return self.ask("events", {"events": list(events), "seen": seen}, token)

    def view(self, role: Role) -> dict[str, Any]:
        status, state = self.ask("state", token=self.live.token_of(role))
        assert status == 200
        return dict(state)

    def teach(self, action: str, body: Any, role: Role = "teacher") -> tuple[int, Any]:
        return self.ask(f"teacher/{action}", body, self.live.token_of(role))


def event(kind: str = "check", **facts: Any) -> dict[str, Any]:
    return {"uid": secrets.token_hex(16), "kind": kind, **facts}


def wrong(misconception: str = "no_max_subtraction", puzzle: str = "row_softmax", **facts: Any) -> dict[str, Any]:
    """A failed check."""
    return event(puzzle=puzzle, status="failed", gate="values", misconception=misconception, **facts)


Start = Callable[..., Board]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a board for the class in a file, which it creates if necessary. Several can run one after another."""
    stops: list[Callable[[], None]] = []

    def started(file: str = "class.sqlite", port: int = 0, **more: Any) -> Board:
        path = tmp_path / file
        store = board_store.Store(path) if path.exists() else board_store.create(path, "A class")
        live = LiveClass(store, "http://127.0.0.1/", **more)
        server, loop = Server(live), asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()

        async def listen() -> tuple[Any, int]:
            return server.listen(port)

        http, number = asyncio.run_coroutine_threadsafe(listen(), loop).result(20)
        live.url = f"http://127.0.0.1:{number}/"

        async def close() -> None:
            http.stop()
            await http.close_all_connections()
            for task in server._tasks:
                task.cancel()

        def stop() -> None:
            if loop.is_closed():
                return
            asyncio.run_coroutine_threadsafe(close(), loop).result(20)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(20)
            loop.close()
            live.disk.shutdown()
            store.close()

        stops.append(stop)
        return Board(live.url, live, server, stop)

    yield started
    for stop in stops:
        stop()


@pytest.fixture
def board(start: Start) -> Board:
    return start()
