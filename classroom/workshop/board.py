"""The board's web server: routes, who may use which, the stream of states. Everything it decides is in `live_class`."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from tornado import httpserver, netutil, web
from tornado.iostream import StreamClosedError

from checker.view.theme import DARK, LIGHT, asset
from classroom.workshop.board_store import Stored
from classroom.workshop.live_class import LiveClass, Role
from classroom.workshop.room import Learner
from classroom.workshop.wire import MOST_BYTES, TOKEN_HEADER, Join, NotAllowed, Push, Report, ReportReply, Switch, Who

T = TypeVar("T")
ROOM = "classroom.workshop"
EVERY = 1.0  # seconds between two states at most
AT_LEAST_EVERY = 10.0  # ages go on although nothing happens; a proxy closes a stream that is silent for long
MOST_VIEWERS = 50
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILM_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass
class Server:
    """A class on the web. `origins` are those of its pages besides the address it is asked at; `forwarded`: behind a proxy."""

    live: LiveClass
    prefix: str = "/"
    origins: frozenset[str] = frozenset()
    forwarded: bool = False
    on_close: Callable[[bool], None] = lambda forget: None
    viewers: dict[StreamHandler, Role] = field(default_factory=dict)
    _waiting: list[tuple[list[Stored], asyncio.Future[None]]] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writing: bool = False
    _sent: float = 0.0

    async def keep(self, stored: list[Stored]) -> None:
        """Store events; returns once they are on the disk. Events that arrive meanwhile share the next commit."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((stored, future))
        if not self._writing:
            self._writing = True
            self._spawn(self._write())
        await future

    async def forget(self, learner: Learner) -> None:
        """Delete a learner, after what is being written."""
        self.live.strike_out(learner)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.live.disk, self.live.store.forget, learner.id)

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            batch = [one for stored, _ in waiting for one in stored if one[0] in self.live.room.learners]
            try:
                new = await loop.run_in_executor(self.live.disk, self.live.store.add_events, batch)
                self.live.apply(batch, new)
            except Exception as error:  # a full disk: the notebooks keep what they have, and send it again
                for _, future in waiting:
                    future.set_exception(error)
            else:
                for _, future in waiting:
                    future.set_result(None)
        self._writing = False

    async def show(self) -> None:
        """Send every viewer the state: each second where something changed, else every ten."""
        while True:
            await asyncio.sleep(EVERY)
            if not self.viewers or not (self.live.changed or abs(self.live.clock() - self._sent) > AT_LEAST_EVERY):
                continue
            self.live.changed, self._sent = False, self.live.clock()
            try:
                states = {role: self.state(role) for role in set(self.viewers.values())}
                for viewer, role in list(self.viewers.items()):
                    viewer.send(states[role])
            except Exception:  # the pages are still served what they ask for
                traceback.print_exc()

    def hang_up(self) -> None:
        """Send every viewer the last state, and end the streams."""
        for viewer, role in list(self.viewers.items()):
            viewer.send(self.state(role))
            viewer.on_connection_close()

    def state(self, role: Role) -> bytes:
        return msgspec.json.encode(self.live.view(role))

    def listen(self, port: int, host: str = "127.0.0.1") -> tuple[httpserver.HTTPServer, int]:
        """Serve from the running loop; returns the server and its port. Raises OSError."""
        server = httpserver.HTTPServer(
            self.application(), max_body_size=MOST_BYTES, max_header_size=16 * 1024, body_timeout=10.0
        )
        sockets = netutil.bind_sockets(port, host)
        server.add_sockets(sockets)
        self._spawn(self.show())
        return server, int(sockets[0].getsockname()[1])

    def application(self) -> web.Application:
        at = {"server": self}
        routes: list[Any] = [
            ("", PageHandler, at),
            (r"(board_page\.(?:js|css))", AssetHandler, at),
            ("ping", PingHandler, at),
            ("join", JoinsHandler, at),
            ("events", EventsHandler, at),
            ("leave", LeaveHandler, at),
            ("state", StateHandler, at),
            ("stream", StreamHandler, at),
            ("qr", QrCodeHandler, at),
            (r"film/(\w{1,80})/(\w{1,80})", FilmPageHandler, at),
            ("teacher/(claim|helped)", HelpingHandler, at),
            ("teacher/(mute|remove|push|door|step|close)", TeachingHandler, at),
        ]
        known: list[Any] = [(f"{self.prefix}{path}", *rest) for path, *rest in routes]
        if self.prefix != "/":
            known.append((self.prefix.rstrip("/"), web.RedirectHandler, {"url": self.prefix, "permanent": False}))
        return web.Application(known, log_function=lambda _: None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


# ----------------------------------------------------------------------------------------------------------- every route


class Handler(web.RequestHandler):
    """What all routes share: headers, the origin, tokens, bodies, errors as JSON."""

    policy = "default-src 'none'; frame-ancestors 'none'"

    def initialize(self, server: Server) -> None:
        self.server, self.live = server, server.live

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Content-Security-Policy", self.policy)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")

    def prepare(self) -> None:
        origin = self.request.headers.get("Origin")
        if origin is not None and origin not in self.server.origins and urlsplit(origin).netloc != self.request.host:
            raise NotAllowed(403, "this page belongs to another server")
        if self.live.closed:
            raise NotAllowed(410, "this class is over")

    @property
    def address(self) -> str:
        """The address of the client. Behind a proxy it is the one that the nearest proxy names, not what the client wrote."""
        forwarded = self.request.headers.get("X-Forwarded-For", "") if self.server.forwarded else ""
        return forwarded.rpartition(",")[2].strip() or self.request.remote_ip or ""

    @property
    def token(self) -> str:
        return str(self.request.headers.get(TOKEN_HEADER, ""))

    def role(self, *allowed: Role) -> Role:
        """The role that the token gives. Raises NotAllowed."""
        role = self.live.role_of(self.token)
        if role is None:
            raise NotAllowed(401, "this needs the link that `class open` printed")
        if role not in allowed:
            raise NotAllowed(403, "this link is not for that")
        return role

    def learner(self) -> Learner:
        return self.live.learner_of(self.token)

    def body(self, kind: type[T]) -> T:
        """The body as what it has to be. Raises NotAllowed."""
        try:
            return msgspec.json.decode(self.request.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotAllowed(400, f"this is not understood: {error}") from None

    def answer(self, value: Any) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode(value))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if not isinstance(value, NotAllowed):
            super().log_exception(typ, value, tb)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        message = self._reason
        if isinstance(error, NotAllowed):
            message = str(error)
            self.set_status(error.status)
            if error.wait:
                self.set_header("Retry-After", str(round(error.wait)))
        self.answer({"error": message})


class PageHandler(Handler):
    policy = PAGE_POLICY

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(asset(ROOM, "board_page.html"))


class AssetHandler(Handler):
    def get(self, name: str) -> None:
        self.set_header("Content-Type", f"text/{'css' if name.endswith('css') else 'javascript'}; charset=utf-8")
        self.finish((colours() if name.endswith("css") else "") + asset(ROOM, name))


def colours() -> str:
    """The palette of the cards and films, for a light and for a dark page."""
    light, dark = ("".join(f"--{name}:{value};" for name, value in palette.items()) for palette in (LIGHT, DARK))
    return (
        f":root{{color-scheme:light;{light}}}:root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
    )


class PingHandler(Handler):
    def get(self) -> None:
        self.answer({"board": "tile-by-tile"})


# ----------------------------------------------------------------------------------------------------------- learners


class JoinsHandler(Handler):
    def post(self) -> None:
        self.answer(self.live.join(self.body(Join), self.address))


class EventsHandler(Handler):
    async def post(self) -> None:
        learner, report = self.learner(), self.body(Report)
        stored = self.live.admit(learner, report)
        if stored:
            await self.server.keep(stored)
        self.answer(ReportReply(len(stored), self.live.messages_for(learner, report.seen)))


class LeaveHandler(Handler):
    async def post(self) -> None:
        await self.server.forget(self.learner())
        self.answer({"left": True})


# ----------------------------------------------------------------------------------------------------------- who looks on


class StateHandler(Handler):
    def get(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(self.server.state(self.role("screen", "helper", "teacher")))


class StreamHandler(Handler):
    """Server-sent events. The page reads them with `fetch`, because an EventSource cannot send the token in a header."""

    async def get(self) -> None:
        role = self.role("screen", "helper", "teacher")
        if len(self.server.viewers) >= MOST_VIEWERS:
            raise NotAllowed(503, "too many pages look on", 30)
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("X-Accel-Buffering", "no")
        self._gone = asyncio.Event()
        self.server.viewers[self] = role
        self.send(self.server.state(role))
        await self._gone.wait()

    def send(self, state: bytes) -> None:
        """Send a state, unless the last one is still on its way."""
        stream = self.request.connection.stream  # type: ignore[union-attr]
        if stream.closed():
            self.on_connection_close()
        elif not stream.writing():
            with contextlib.suppress(StreamClosedError):
                self.write(b"data: " + state + b"\n\n")
                flushed = self.flush()
                flushed.add_done_callback(lambda done: done.exception())

    def on_connection_close(self) -> None:
        self.server.viewers.pop(self, None)
        self._gone.set()


class QrCodeHandler(Handler):
    """The way to the page for learners, as the path of an SVG; null where it cannot be drawn."""

    def get(self) -> None:
        self.role("screen", "helper", "teacher")
        self.answer(self.live.qr)


class FilmPageHandler(Handler):
    """The film of a wrong kernel of the course. It runs in a sandbox of the browser's, without an origin of its own."""

    policy = FILM_POLICY

    def get(self, puzzle: str, name: str) -> None:
        page = self.live.films.page(puzzle, name) if self.live.films is not None else None
        if page is None:
            raise NotAllowed(404, "there is no film of this yet")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(page)


# ----------------------------------------------------------------------------------------------------------- who teaches


class HelpingHandler(Handler):
    def post(self, action: str) -> None:
        self.role("helper", "teacher")
        asked = self.body(Who)
        if action == "claim":
            self.live.claim(asked.who, asked.by, asked.on)
        else:
            self.live.helped(asked.who)
        self.answer({})


class TeachingHandler(Handler):
    async def post(self, action: str) -> None:
        self.role("teacher")
        if action == "push":
            self.answer({"sent": self.live.push(self.body(Push))})
            return
        if action == "mute":
            asked = self.body(Who)
            self.live.mute(asked.who, asked.on)
        elif action == "remove":
            await self.server.forget(self.live.learner(self.body(Who).who))
        elif action == "door":
            self.live.set_door(self.body(Switch).on)
        elif action == "step":
            self.live.go_to(self.body(Switch).step)
        else:
            forget = self.body(Switch).on
            self.live.closed = True
            self.server.hang_up()
            self.server.on_close(forget)
        self.answer({})
