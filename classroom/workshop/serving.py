"""Where a board listens, how it is reached, and what `class open` prints."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from checker import workspace
from classroom.workshop import WorkshopError, board_store
from classroom.workshop.belief_films import BeliefFilms
from classroom.workshop.board import Server
from classroom.workshop.board_store import Store
from classroom.workshop.join_code import PORT
from classroom.workshop.live_class import LiveClass
from classroom.workshop.reporting import NotReached, post
from classroom.workshop.schedule import Item
from classroom.workshop.wire import NotAllowed

ISOLATION = (
    "If learners cannot reach it, their network keeps devices apart, as those of hotels and conferences do: use a hotspot, "
    "a JupyterHub service, or --public with an https address."
)


@dataclass(frozen=True)
class Address:
    """Where a board listens, and `public`, by which it is reached where a proxy stands before it. Both addresses end with a slash."""

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
        """The address for this machine itself."""
        host = "127.0.0.1" if self.host == "0.0.0.0" else self.host
        return f"http://{host}:{self.port}{self.prefix}"


def address(port: int | None, lan: bool, public: str, environment: Mapping[str, str]) -> Address:
    """Where to listen: on this machine only unless told, or where JupyterHub wants its service. Raises WorkshopError."""
    # a terminal in a learner's own server has such variables too, and no JUPYTERHUB_SERVICE_NAME
    service = "JUPYTERHUB_SERVICE_NAME" in environment
    public = public or (environment.get("JUPYTERHUB_PUBLIC_URL", "") if service else "")
    if public:
        parts = urlsplit(public)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise WorkshopError(f"--public takes an address such as https://board.example.org/class/, not {public!r}")
        public = public.rstrip("/") + "/"
    if service:
        prefix = environment.get("JUPYTERHUB_SERVICE_PREFIX", "/")
        hub = urlsplit(environment.get("JUPYTERHUB_SERVICE_URL", ""))
        if not hub.hostname:
            raise WorkshopError("JupyterHub gives this service no url: set one in jupyterhub_config.py")
        return Address(hub.hostname, port or hub.port or PORT, prefix.rstrip("/") + "/", public)
    return Address("0.0.0.0" if lan else "127.0.0.1", PORT if port is None else port, public=public)


def lan_address() -> str:
    """This machine's address in the local network, as others see it; 127.0.0.1 where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # an address for documentation: nothing is sent, the kernel only picks a route
        return str(probe.getsockname()[0])
    return "127.0.0.1"


def serve(
    store: Store,
    where: Address,
    items: Sequence[Item],
    films: BeliefFilms | None,
    ready: Callable[[LiveClass, Address], None] | None = None,
    clock: Callable[[], float] = time.time,
) -> None:
    """Serve a class until Ctrl-C, SIGTERM or `class close`. Raises OSError where it cannot listen, and WorkshopError where it is open."""
    try:
        with workspace.locked(store.path, patience=0.5):
            live = LiveClass(store, where.url, films, items, clock=clock)
            asyncio.run(_serve(live, where, ready or announce))
    except TimeoutError:
        raise WorkshopError(f"this class is open already, at {store.meta('address', 'another process')}") from None


async def _serve(live: LiveClass, where: Address, ready: Callable[[LiveClass, Address], None]) -> None:
    stop, forget = asyncio.Event(), False

    def closed(and_forget: bool) -> None:
        nonlocal forget
        forget = and_forget
        asyncio.get_running_loop().call_later(0.3, stop.set)  # the answer goes out first

    store = live.store
    origins = frozenset({"{0.scheme}://{0.netloc}".format(urlsplit(where.public))} if where.public else ())
    server = Server(live, where.prefix, origins, forwarded=bool(where.public) or where.prefix != "/", on_close=closed)
    http, port = server.listen(where.port, where.host)
    where = replace(where, port=port)
    live.url, live.qr = where.url, qr_path(page_for_learners(live, where))
    store.set_meta(address=where.own)
    live.want_films()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # not on Windows, not in a thread
            loop.add_signal_handler(number, stop.set)
    ready(live, where)
    await stop.wait()
    server.hang_up()
    http.stop()
    await asyncio.sleep(0.05)  # what was said last goes out
    live.disk.shutdown(wait=True)
    if live.closed:
        store.set_meta(closed=time.time())
    store.close()
    if forget:
        board_store.delete(store.path)


def close(store: Store, forget: bool) -> None:
    """End a class, wherever it is served, and delete it if asked."""
    address = store.meta("address", "")
    if address:
        with contextlib.suppress(NotReached, NotAllowed):
            post(f"{address}teacher/close", {"on": forget}, store.meta("teacher"), patience=5.0)
            for _ in range(50):  # it deletes or closes the file itself
                time.sleep(0.1)
                try:
                    with workspace.locked(store.path, patience=0.01):
                        break
                except TimeoutError:
                    continue
    if store.path.is_file():
        store.set_meta(closed=time.time())
    store.close()
    if forget:
        board_store.delete(store.path)


# --------------------------------------------------------------------------------------------------------- what is printed


def link(live: LiveClass, where: Address, role: Any) -> str:
    """The page of a role. The token stands behind the #, which a browser sends to nobody."""
    own = where.url if role == "helper" else where.own  # the teacher's token stays off the room's network
    return f"{where.public or own}#{role}={live.token_of(role)}"


def page_for_learners(live: LiveClass, where: Address) -> str:
    """The page that shows a learner what to type."""
    return f"{where.url}#join={live.join_line.partition('@')[0]}"


GOES_ON = "Ctrl-C stops the board; the same command goes on with the class. `class close` ends it."


def announce(live: LiveClass, where: Address, ends: str = GOES_ON) -> None:
    """Print the join code, the links, the QR code, what there is to know about this network, and how it `ends`."""
    print(f'\n  In a notebook:    from checker import join, done, hand; join("{live.join_line}")')
    print(f"  To show it:       {page_for_learners(live, where)}")
    print(f"\n  Projector:        {link(live, where, 'screen')}")
    print(f"  Yours alone:      {link(live, where, 'teacher')}")
    print(f"  For helpers:      {link(live, where, 'helper')}\n")
    if (code := _qr(page_for_learners(live, where))) is None:
        print("There is no QR code: it needs segno (pip install segno).")
    else:
        code.terminal(compact=True)
    if where.host == "0.0.0.0":
        print(f"This is plain http: right for a room's own network, and for nothing else. {ISOLATION}")
        threading.Thread(target=_try_from_outside, args=(where,), daemon=True).start()
    elif not where.public:
        hub = where.prefix != "/"
        other = "--public with the hub's address" if hub else "--lan, or --public with the address of a proxy"
        print(f"Only this machine reaches it. Others: {other}.")
    print(ends, flush=True)


def _try_from_outside(where: Address) -> None:
    import urllib.request

    try:
        urllib.request.urlopen(f"{where.url}ping", timeout=3).close()
    except OSError as error:
        print(f"This machine does not reach itself at {where.url} ({error}): a firewall? {ISOLATION}", flush=True)


def _qr(text: str) -> Any:
    try:
        import segno
    except ImportError:
        return None
    return segno.make(text, micro=False)


def qr_path(text: str) -> dict[str, Any] | None:
    """A QR code as the path of an SVG, a rectangle for each run of dark squares of one by one; None without segno."""
    code = _qr(text)
    if code is None:
        return None
    rows = [bytes(row) for row in code.matrix]
    path = "".join(
        f"M{run.start()} {y}h{run.end() - run.start()}v1H{run.start()}z"
        for y, row in enumerate(rows)
        for run in re.finditer(b"\x01+", row)
    )
    return {"size": len(rows), "path": path}
