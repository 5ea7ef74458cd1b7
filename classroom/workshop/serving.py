"""Opening and closing a board: where it listens, how it is reached, and what it prints."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import time
import webbrowser
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from checker.api.command_line import UsageError
from checker.api.room import PORT, NotAllowed, NotReached, locked, post
from classroom.workshop import board_store
from classroom.workshop.belief_films import BeliefFilms
from classroom.workshop.board import Server
from classroom.workshop.board_store import Store
from classroom.workshop.live_class import LiveClass, Role
from classroom.workshop.schedule import Item

PLAIN_HTTP = (
    "The board uses plain http, which is fine on a room's own network and nowhere else. If learners cannot reach it, the network "
    "keeps devices apart, as in hotels and at conferences: use a phone's hotspot, a JupyterHub service, or --public with an https address."
)
CONTINUES = "Ctrl-C stops the board, and the same command continues the class. `python -m classroom close` ends it."


@dataclass(frozen=True)
class Address:
    """Where a board listens, and its `public` address behind a proxy. All addresses end with a slash."""

    host: str
    port: int
    prefix: str = "/"
    public: str = ""

    @property
    def url(self) -> str:
        """The address that learners join."""
        host = lan_address() if self.host == "0.0.0.0" else self.host
        return self.public or f"http://{host}:{self.port}{self.prefix}"

    @property
    def own(self) -> str:
        """The address on this machine."""
        host = "127.0.0.1" if self.host == "0.0.0.0" else self.host
        return f"http://{host}:{self.port}{self.prefix}"


def address(port: int | None, lan: bool, public: str, environment: Mapping[str, str]) -> Address:
    """Where to listen: on this machine only by default, or where JupyterHub expects its service. Raises UsageError."""
    # a terminal in a learner's own server has such variables too, but no JUPYTERHUB_SERVICE_NAME
    service = "JUPYTERHUB_SERVICE_NAME" in environment
    public = public or (environment.get("JUPYTERHUB_PUBLIC_URL", "") if service else "")
    if public:
        parts = urlsplit(public)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise UsageError(f"--public takes an address such as https://board.example.org/class/, not {public!r}")
        public = public.rstrip("/") + "/"
    if service:
        prefix = environment.get("JUPYTERHUB_SERVICE_PREFIX", "/")
        hub = urlsplit(environment.get("JUPYTERHUB_SERVICE_URL", ""))
        if not hub.hostname:
            raise UsageError("JupyterHub gives this service no url: set one in jupyterhub_config.py")
        return Address(hub.hostname, port or hub.port or PORT, prefix.rstrip("/") + "/", public)
    return Address("0.0.0.0" if lan else "127.0.0.1", PORT if port is None else port, public=public)


def lan_address() -> str:
    """This machine's address on the local network; 127.0.0.1 if it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # reserved for documentation: the kernel picks a route and sends nothing
        return str(probe.getsockname()[0])
    return "127.0.0.1"


@dataclass(frozen=True)
class Opening:
    """How to open a class. `play`, if given, acts as a class that plays itself; `browser` opens the two pages."""

    where: Address
    items: Sequence[Item] = ()
    films: BeliefFilms | None = None
    clock: Callable[[], float] = time.time
    play: Callable[[Server], Coroutine[Any, Any, None]] | None = None
    browser: bool = False
    ends: str = CONTINUES


def serve(store: Store, opening: Opening) -> None:
    """Serve a class until Ctrl-C, SIGTERM or `close`. Raises OSError if it cannot listen, UsageError if the class is open already."""
    try:
        with locked(store.path, patience=0.5):
            asyncio.run(_serve(store, opening))
    except TimeoutError:
        raise UsageError(f"this class is open already, at {store.meta('address', 'another process')}") from None


async def _serve(store: Store, opening: Opening) -> None:
    stop, forget, where = asyncio.Event(), False, opening.where

    def closed(and_forget: bool) -> None:
        nonlocal forget
        forget = and_forget
        asyncio.get_running_loop().call_later(0.3, stop.set)  # the answer has to go out first

    live = LiveClass(store, where.url, opening.films, opening.items, clock=opening.clock)
    origins = frozenset({"{0.scheme}://{0.netloc}".format(urlsplit(where.public))} if where.public else ())
    server = Server(live, where.prefix, origins, forwarded=bool(where.public) or where.prefix != "/", on_close=closed)
    http, port = server.listen(where.port, where.host)
    where = replace(where, port=port)
    live.url = where.url
    code = _qr(link_for_learners(live))
    live.qr = code and code.svg_data_uri(border=3)
    store.set_meta(address=where.own)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on Windows, not in a thread
            loop.add_signal_handler(number, stop.set)
    announce(live, where, opening.ends)
    for role in ("screen", "teacher") if opening.browser else ():
        webbrowser.open(link(live, where, role))
    playing = loop.create_task(opening.play(server)) if opening.play else None
    await stop.wait()
    if playing is not None:
        playing.cancel()
    server.hang_up()
    http.stop()
    await asyncio.sleep(0.05)  # the last state has to go out
    live.disk.shutdown(wait=True)
    if live.closed:
        store.set_meta(closed=time.time())
    store.close()
    if forget:
        board_store.delete(store.path)


def close(store: Store, forget: bool) -> None:
    """End a class wherever it is served, and delete it if asked."""
    address = store.meta("address", "")
    if address:
        with contextlib.suppress(NotReached, NotAllowed):
            post(f"{address}teacher/close", {"on": forget}, store.meta("teacher"), patience=5.0)
            for _ in range(50):  # until the board has closed or deleted the file
                time.sleep(0.1)
                with contextlib.suppress(TimeoutError), locked(store.path, patience=0.01):
                    break
    if store.path.is_file():
        store.set_meta(closed=time.time())
    store.close()
    if forget:
        board_store.delete(store.path)


def link(live: LiveClass, where: Address, role: Role) -> str:
    """The page of a role. Browsers send nothing after the # to a server, so the token stays out of logs."""
    own = where.url if role == "helper" else where.own  # the teacher's token stays off the room's network
    return f"{where.public or own}#{role}={live.token_of(role)}"


def link_for_learners(live: LiveClass) -> str:
    """The page that shows a learner what to type."""
    return f"{live.url}#join={live.code}"


def announce(live: LiveClass, where: Address, ends: str) -> None:
    """Print the join code, the links, the QR code, who can reach the board, and how it `ends`."""
    print(f'\n  In a notebook:    from checker import join, guess, done, hand; join("{live.join_line}")')
    print(f"  To show it:       {link_for_learners(live)}")
    print(f"\n  Projector:        {link(live, where, 'screen')}")
    print(f"  Yours alone:      {link(live, where, 'teacher')}")
    print(f"  For helpers:      {link(live, where, 'helper')}\n")
    if (code := _qr(link_for_learners(live))) is None:
        print("For a QR code, install segno (pip install segno).")
    else:
        code.terminal(compact=True)
    if where.host == "0.0.0.0":
        print(PLAIN_HTTP)
    elif not where.public:
        option = (
            "--public with the hub's address" if where.prefix != "/" else "--lan, or --public with a proxy's address"
        )
        print(f"Only this machine reaches the board. To let others in: {option}.")
    print(ends, flush=True)


def _qr(text: str) -> Any:
    try:
        import segno
    except ImportError:
        return None
    return segno.make(text, micro=False)
