"""The board's web server: routes, who may use which, and the stream of states. `live_class` makes every decision."""

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

from checker.api.room import DARK, LIGHT, MAX_BYTES, TOKEN_HEADER, Guess, Join, NotAllowed, Report, ReportReply, asset
from classroom.workshop.board_store import Stored
from classroom.workshop.live_class import ClassAction, LearnerAction, LiveClass, Push, Removal, Role
from classroom.workshop.room import Learner

T = TypeVar("T")
PACKAGE = "classroom.workshop"
EVERY = 1.0  # the shortest time between two states, in seconds
AT_LEAST_EVERY = (
    10.0  # seconds: ages on the page grow even if nothing happens, and proxies close a stream that is silent for long
)
MAX_VIEWERS = 50
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
    """A class on the web. `origins` are extra origins of its own pages; `forwarded` says whether a proxy is in front."""

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
        """Return once the events are on the disk. Events that arrive meanwhile share the next commit."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((stored, future))
        if not self._writing:
            self._writing = True
            self._spawn(self._write())
        await future

    async def forget(self, learner: Learner) -> None:
        """Delete a learner once the current write is done."""
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
            except Exception as error:  # e.g. a full disk: the notebooks keep their events and send them again
                for _, future in waiting:
                    future.set_exception(error)
            else:
                for _, future in waiting:
                    future.set_result(None)
        self._writing = False

    async def show(self) -> None:
        """Send every viewer the state, each second if something changed and every ten seconds otherwise."""
        while True:
            await asyncio.sleep(EVERY)
            if not self.viewers or not (self.live.changed or abs(self.live.clock() - self._sent) > AT_LEAST_EVERY):
                continue
            self.live.changed, self._sent = False, self.live.clock()
            try:
                states = {role: self.state(role) for role in set(self.viewers.values())}
                for viewer, role in list(self.viewers.items()):
                    viewer.send(states[role])
            except Exception:  # pages that ask for the state still get it
                traceback.print_exc()

    def hang_up(self) -> None:
        """Send every viewer the last state and end the streams."""
        for viewer, role in list(self.viewers.items()):
            viewer.send(self.state(role))
            viewer.on_connection_close()

    def state(self, role: Role) -> bytes:
        return msgspec.json.encode(self.live.view(role))

    def listen(self, port: int, host: str = "127.0.0.1") -> tuple[httpserver.HTTPServer, int]:
        """Serve from the running loop; returns the server and its port. Raises OSError."""
        limits = {"max_body_size": MAX_BYTES, "max_header_size": 16 * 1024, "body_timeout": 10.0}
        server = httpserver.HTTPServer(self.application(), **limits)
        sockets = netutil.bind_sockets(port, host)
        server.add_sockets(sockets)
        self._spawn(self.show())
        return server, int(sockets[0].getsockname()[1])

    def application(self) -> web.Application:
        routes: dict[str, type[Handler]] = {
            "": PageHandler,
            r"(board_page\.(?:js|css))": AssetHandler,
            "ping": PingHandler,
            "join": JoinHandler,
            "events": EventsHandler,
            "guess": GuessHandler,
            "leave": LeaveHandler,
            "state": StateHandler,
            "stream": StreamHandler,
            r"film/(\w{1,80})/(\w{1,80})": FilmHandler,
            "teacher/(claim|helped)": HelperHandler,
            "teacher/(mute|remove|push|door|step|close)": TeacherHandler,
        }
        rules: list[Any] = [(f"{self.prefix}{path}", handler, {"server": self}) for path, handler in routes.items()]
        if self.prefix != "/":
            rules.append((self.prefix.rstrip("/"), web.RedirectHandler, {"url": self.prefix, "permanent": False}))
        return web.Application(rules, log_function=lambda _: None)

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Handler(web.RequestHandler):
    """What all routes share: headers, the origin, tokens, bodies, errors as JSON."""

    policy = "default-src 'none'; frame-ancestors 'none'"
    content_type = "application/json"

    def initialize(self, server: Server) -> None:
        self.server, self.live = server, server.live

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        self.set_header("Content-Security-Policy", self.policy)
        self.set_header("Content-Type", self.content_type)
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
        """The client's address. Behind a proxy, it is the one that the nearest proxy added, which the client cannot forge."""
        forwarded = self.request.headers.get("X-Forwarded-For", "") if self.server.forwarded else ""
        return forwarded.rpartition(",")[2].strip() or self.request.remote_ip or ""

    @property
    def token(self) -> str:
        return str(self.request.headers.get(TOKEN_HEADER, ""))

    def role(self, *allowed: Role) -> Role:
        """The role that the token gives. Raises NotAllowed."""
        role = self.live.role_of(self.token)
        if role is None:
            raise NotAllowed(401, "use the link that `python -m classroom open` printed")
        if role not in allowed:
            raise NotAllowed(403, "this link does not allow that")
        return role

    def body(self, kind: type[T]) -> T:
        """The body, checked against its schema. Raises NotAllowed."""
        try:
            return msgspec.json.decode(self.request.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotAllowed(400, f"the board cannot read this: {error}") from None

    def answer(self, value: Any) -> None:
        self.finish(msgspec.json.encode(value))

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        if not isinstance(value, NotAllowed):
            super().log_exception(typ, value, tb)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        error = kwargs.get("exc_info", (None, None))[1]
        message = self._reason
        self.set_header("Content-Type", "application/json")
        if isinstance(error, NotAllowed):
            message = str(error)
            self.set_status(error.status)
            if error.wait:
                self.set_header("Retry-After", str(round(error.wait)))
        self.answer({"error": message})


class PageHandler(Handler):
    policy = PAGE_POLICY
    content_type = "text/html; charset=utf-8"

    def get(self) -> None:
        self.finish(asset(PACKAGE, "board_page.html"))


class AssetHandler(Handler):
    def get(self, name: str) -> None:
        css = name.endswith("css")
        self.set_header("Content-Type", f"text/{'css' if css else 'javascript'}; charset=utf-8")
        self.finish((colours() if css else "") + asset(PACKAGE, name))


def colours() -> str:
    """The palette of the cards and films, light and dark."""
    light, dark = ("".join(f"--{name}:{value};" for name, value in palette.items()) for palette in (LIGHT, DARK))
    return (
        f":root{{color-scheme:light;{light}}}:root[data-theme=dark]{{color-scheme:dark;{dark}}}"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
    )


class PingHandler(Handler):
    def get(self) -> None:
        self.answer({"board": "tile-by-tile"})


class JoinHandler(Handler):
    def post(self) -> None:
        self.answer(self.live.join(self.body(Join), self.address))


class EventsHandler(Handler):
    async def post(self) -> None:
        learner, report = self.live.learner_of(self.token), self.body(Report)
        stored = self.live.admit(learner, report)
        if stored:
            await self.server.keep(stored)
        self.answer(ReportReply(len(stored), self.live.messages_for(learner, report.seen)))


class GuessHandler(Handler):
    def post(self) -> None:
        self.answer({"question": self.live.guess(self.live.learner_of(self.token), self.body(Guess).text)})


class LeaveHandler(Handler):
    async def post(self) -> None:
        await self.server.forget(self.live.learner_of(self.token))
        self.answer({"left": True})


class StateHandler(Handler):
    def get(self) -> None:
        self.finish(self.server.state(self.role("screen", "helper", "teacher")))


class StreamHandler(Handler):
    """Server-sent events. The page reads them with `fetch`, because an EventSource cannot send the token in a header."""

    content_type = "text/event-stream"

    async def get(self) -> None:
        role = self.role("screen", "helper", "teacher")
        if len(self.server.viewers) >= MAX_VIEWERS:
            raise NotAllowed(503, "too many pages are open", 30)
        self.set_header("X-Accel-Buffering", "no")
        self._gone = asyncio.Event()
        self.server.viewers[self] = role
        self.send(self.server.state(role))
        await self._gone.wait()

    def send(self, state: bytes) -> None:
        """Send a state unless the last one is still on its way."""
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


class FilmHandler(Handler):
    """The film of one of the course's wrong kernels. The browser runs it in a sandbox without an origin of its own."""

    policy = FILM_POLICY
    content_type = "text/html; charset=utf-8"

    def get(self, puzzle: str, name: str) -> None:
        page = self.live.films.page(puzzle, name) if self.live.films is not None else None
        if page is None:
            raise NotAllowed(404, "there is no film of this yet")
        self.finish(page)


class HelperHandler(Handler):
    def post(self, action: str) -> None:
        self.role("helper", "teacher")
        request = self.body(LearnerAction)
        if action == "claim":
            self.live.claim(request)
        else:
            self.live.helped(request.who)
        self.answer({})


class TeacherHandler(Handler):
    async def post(self, action: str) -> None:
        self.role("teacher")
        if action == "push":
            self.answer({"sent": self.live.push(self.body(Push))})
            return
        if action == "mute":
            request = self.body(LearnerAction)
            self.live.mute(request.who, request.on)
        elif action == "remove":
            for learner in [self.live.learner(who) for who in self.body(Removal).who]:
                await self.server.forget(learner)
        elif action == "door":
            self.live.set_door(self.body(ClassAction).on)
        elif action == "step":
            self.live.go_to(self.body(ClassAction).step)
        else:
            forget = self.body(ClassAction).on
            self.live.closed = True
            self.server.hang_up()
            self.server.on_close(forget)
        self.answer({})
