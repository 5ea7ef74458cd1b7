"""A real JupyterHub runs the board as a service, and lets nobody teach who may not."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from checker.verbs import board_client
from checker.verbs.board_wire import Event, JoinAddress
from classroom.workshop.board_store import Store, newest
from tests.classroom.workshop.conftest import ROOT
from tools.companions import find_hub

CONFIG = """
c = get_config()
c.JupyterHub.bind_url = "http://127.0.0.1:{public}/base/"
c.JupyterHub.hub_port = {hub}
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.db_url = "sqlite:///{home}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{home}/secret"
c.ConfigurableHTTPProxy.command = ["{proxy}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api}"
c.ConfigurableHTTPProxy.pid_file = "{home}/proxy.pid"
c.JupyterHub.services = [{{
    "name": "board",
    "url": "http://127.0.0.1:{service}",
    "cwd": "{root}",
    "command": [
        "{python}", "-m", "classroom", "open", "--no-films", "--folder", "{home}/classes",
        "--public", "http://127.0.0.1:{public}/base/services/board/",
    ],
}}]
"""


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The board's public address, and the folder of its classes."""
    found = find_hub()
    if found is None:
        pytest.skip("the board is not tested as a service of JupyterHub, which tools/companions.py fetches")
    public, port, api, service = free_ports(4)
    facts = {"public": public, "hub": port, "api": api, "service": service, "home": tmp_path, "root": ROOT}
    config = tmp_path / "jupyterhub_config.py"
    config.write_text(CONFIG.format(**facts, proxy=found.proxy, python=sys.executable))
    log = tmp_path / "hub.log"
    with log.open("w") as output:
        process = subprocess.Popen([found.hub, "-f", config], cwd=tmp_path, stdout=output, stderr=output)
    address = f"http://127.0.0.1:{public}/base/services/board/"
    try:
        wait_for(f"{address}ping", process, log)
        yield address, tmp_path / "classes"
    finally:
        process.terminate()
        process.wait(60)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as answer:
            if json.load(answer) == {"board": "tile-by-tile"}:
                return
        time.sleep(0.3)
    pytest.fail(f"no board behind the hub:\n{log.read_text()[-3000:]}")


def test_the_board_is_a_service_of_a_hub(hub: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = hub
    store = Store(newest(folder))
    box = board_client.Box(tmp_path / "learner")
    board_client.join(box, JoinAddress(store.meta("code"), address))
    box.append(Event("a" * 32, "hand"))
    while board_client.deliver(box):
        pass

    def ask(path: str, role: str, body: bytes | None = None, **headers: str) -> int:
        request = urllib.request.Request(address + path, body, {"X-Class-Token": store.meta(role), **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    headers = {"X-Class-Token": store.meta("teacher"), "Accept": "text/event-stream"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}stream", headers=headers), timeout=20) as stream:
        first = json.loads(stream.readline().removeprefix(b"data: "))
        assert [one["hand"] for one in first["learners"]] == [True]
        assert first["join"] == f"{store.meta('code')}@{address.rstrip('/')}"
        stream.readline()
        box.append(Event("b" * 32, "done"))
        while board_client.deliver(box):
            pass
        second = json.loads(stream.readline().removeprefix(b"data: "))
        assert [one["done"] for one in second["learners"]] == [True], "the proxy must not hold the stream back"

    page = address.rstrip("/")
    assert urllib.request.urlopen(page, timeout=20).url == address, "also without its slash"
    host = address.split("/base")[0]
    assert ask("teacher/door", "teacher", b'{"on": true}', Origin=host) == 200
    assert ask("teacher/door", "teacher", b'{"on": true}', Origin="https://evil.example") == 403
    assert ask("teacher/door", "screen", b'{"on": true}') == 403
    forged = [ask("join", "screen", b'{"code": "x"}', **{"X-Forwarded-For": f"10.0.0.{n}"}) for n in range(11)]
    assert forged == [403] * 10 + [429], "the proxy says who is asking, not the client"
    store.close()
