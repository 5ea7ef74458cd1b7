"""How much the live board can carry, whether it loses events, and what reporting adds to a check.

    python -m bench.board --learners 200 --rate 50 --seconds 60 --write

It measures posts while pages follow the stream, and how late a page hears of an event; all learners joining at one instant; events lost or
stored twice when the server is killed again and again under load; and the cost of the report at the end of a check with the board up, down
and unreachable. Server and load share the machine, so long tails are partly the load generator's own. `--write` keeps the figures in
reports/board.{json,md}.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import secrets
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import typer
from tornado.httpclient import AsyncHTTPClient

from checker.course import LADDER
from checker.verbs import board_client
from checker.verbs.board_client import Box, Membership
from checker.verbs.board_wire import Event, NotAllowed, parse
from classroom.workshop.rehearsal import mistakes

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "reports" / "board"
PUZZLES = [puzzle.name for puzzle in LADDER[:6]]
Answered = tuple[float, Any]
"""The seconds of a post and its answer, None if it failed."""


@dataclass
class Board:
    """A board in a process of its own, for a class that outlives it."""

    folder: Path
    port: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "classroom", "open", "--no-films", "--folder", str(self.folder)]
        command += ["--port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        printed = ""
        for line in self.process.stdout or ():
            printed += line
            if line.startswith("Ctrl-C"):
                break
        address, teacher = re.search(r'join\("([^"]+)"\)', printed), re.search(r"#teacher=(\w+)", printed)
        assert address is not None, printed
        assert teacher is not None, printed
        self.address, self.teacher = parse(address[1]), teacher[1]
        self.port = int(self.address.url.rsplit(":", 1)[1].strip("/"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stored(self) -> list[str]:
        with sqlite3.connect(next(self.folder.glob("class-*.sqlite"))) as db:
            return [uid for (uid,) in db.execute("SELECT uid FROM event")]


def an_event() -> dict[str, Any]:
    puzzle = secrets.choice(PUZZLES)
    gate, name = secrets.choice(mistakes(puzzle))
    facts = {"puzzle": puzzle, "status": "failed", "gate": gate, "misconception": name, "device": "cpu"}
    return {"uid": secrets.token_hex(16), "kind": "check", **facts}


def spread(seconds: Iterable[float]) -> dict[str, float]:
    """Milliseconds."""
    ms = [1000 * one for one in seconds]
    cuts = statistics.quantiles(ms, n=100)
    return {"median": cuts[49], "p99": cuts[98], "most": max(ms)}


def times(answers: Sequence[Answered]) -> dict[str, float]:
    good = [seconds for seconds, answer in answers if answer is not None]
    return {"count": len(answers), "errors": len(answers) - len(good), **spread(good)}


async def post(client: AsyncHTTPClient, url: str, body: Any, token: str) -> Answered:
    began, headers = time.perf_counter(), {"X-Class-Token": token}
    try:
        answer = await client.fetch(url, method="POST", body=json.dumps(body), headers=headers, request_timeout=20)
        return time.perf_counter() - began, json.loads(answer.body)
    except Exception:
        return time.perf_counter() - began, None


async def join_at_once(board: Board, learners: int) -> list[Answered]:
    client = AsyncHTTPClient(force_instance=True, max_clients=learners)
    body = {"code": board.address.code}
    return await asyncio.gather(*(post(client, f"{board.address.url}join", body, "") for _ in range(learners)))


async def load(board: Board, tokens: Sequence[str], rate: float, seconds: float, viewers: int) -> dict[str, Any]:
    """Posts at a rate with pages open: the posts, how late pages hear of them in ms, and what the server uses."""
    client = AsyncHTTPClient(force_instance=True, max_clients=len(tokens) + viewers)
    late: list[float] = []
    sizes: list[int] = []
    accepted: list[float] = []
    answers: list[Answered] = []

    def view() -> Any:
        rest = b""

        def receive(chunk: bytes) -> None:
            nonlocal rest
            *states, rest = (rest + chunk).split(b"\n\n")
            for state in states:
                sizes.append(len(state))
                late.extend(time.perf_counter() - at for at in accepted)
                accepted.clear()

        headers = {"X-Class-Token": board.teacher, "Accept": "text/event-stream"}
        options = {"headers": headers, "streaming_callback": receive, "request_timeout": seconds + 3}
        return client.fetch(f"{board.address.url}stream", **options)

    async def send(token: str) -> None:
        answers.append(await post(client, f"{board.address.url}events", {"events": [an_event()]}, token))
        if answers[-1][1] is not None:
            accepted.append(time.perf_counter())

    viewing = [asyncio.ensure_future(view()) for _ in range(viewers)]
    await asyncio.sleep(1)
    server = psutil.Process(board.process.pid)
    began, used, sending = time.perf_counter(), sum(server.cpu_times()[:2]), []
    for n in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + n / rate - time.perf_counter()))
        sending.append(asyncio.ensure_future(send(tokens[n % len(tokens)])))
    await asyncio.gather(*sending)
    cpu = (sum(server.cpu_times()[:2]) - used) / (time.perf_counter() - began)
    mib = server.memory_info().rss / 2**20
    await asyncio.gather(*viewing, return_exceptions=True)  # they end by their time limit
    return {"posts": times(answers), "late": spread(late), "state_kib": max(sizes) / 1024, "cpu": cpu, "mib": mib}


def kill_under_load(board: Board, home: Path, learners: int, kills: int, between: float = 5.0) -> dict[str, float]:
    """Learners report from their notebooks while the server is killed and started again."""
    boxes = [Box(home / f"learner-{n}") for n in range(learners)]
    for box in boxes:
        board_client.join(box, board.address)
    made: list[str] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            for box in boxes:
                event = an_event()
                box.append(Event(**event))
                made.append(event["uid"])
                if stop.wait(60 / 18 / learners):  # 18 per minute each, below the board's limit
                    return

    def deliver(mine: Sequence[Box]) -> None:
        while not stop.is_set():
            for box in mine:
                is_delivered(box)

    threads = [threading.Thread(target=work)]
    threads += [threading.Thread(target=deliver, args=(boxes[n::8],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        time.sleep(between)
        board.kill()
        time.sleep(3)
        board.start()
    time.sleep(between)
    stop.set()
    for thread in threads:
        thread.join()
    began, left = time.perf_counter(), boxes
    while left and time.perf_counter() - began < 120:
        left = [box for box in left if not is_delivered(box)]
    caught_up = time.perf_counter() - began
    stored = [uid for uid in board.stored() if uid in set(made)]
    twice, lost = len(stored) - len(set(stored)), len(set(made) - set(stored))
    return {
        "kills": kills,
        "made": len(made),
        "stored": len(stored),
        "twice": twice,
        "lost": lost,
        "caught_up": caught_up,
    }


def is_delivered(box: Box) -> bool:
    try:
        return not board_client.deliver(box)
    except (OSError, NotAllowed):
        time.sleep(0.3)
        return False


def cost(box: Box, count: int = 300) -> dict[str, float]:
    """The report at the end of `check`, in milliseconds, while its thread is at work."""
    seconds = []
    for _ in range(count):
        event, began = Event(**an_event()), time.perf_counter()
        if box.membership() is not None:
            board_client.report(box, event, stays=True)
            box.take_messages()
            box.overdue()
        seconds.append(time.perf_counter() - began)
        time.sleep(0.005)
    return spread(seconds)


def costs(board: Board, home: Path) -> dict[str, dict[str, float]]:
    up = Box(home / "up")
    joined = board_client.join(up, board.address)
    found = {"before `join`": cost(Box(home / "nobody")), "the board is up": cost(up)}
    for n, (words, url) in enumerate(
        {
            "the board is down": "http://127.0.0.1:9/",
            "the address does not answer": "http://192.0.2.1:8787/",
            "the name is unknown": "http://board.invalid:8787/",
        }.items()
    ):
        box = Box(home / f"away-{n}")
        box.write(Membership(url, joined, time.time()))
        found[words] = cost(box)
    return found


def page(facts: dict[str, Any]) -> str:
    load, kill = facts["load"], facts["kill"]
    posts = (
        ("all join at one instant", facts["joins"]),
        (f"{facts['rate']:g} posts per second, {facts['viewers']} pages open", load["posts"]),
    )
    post_rows = "\n".join(
        f"| {words} | {t['count']} | {t['errors']} | {t['median']:.1f} | {t['p99']:.0f} | {t['most']:.0f} |"
        for words, t in posts
    )
    cost_rows = "\n".join(
        f"| {words} | {c['median']:.2f} | {c['p99']:.2f} | {c['most']:.2f} |" for words, c in facts["cost"].items()
    )
    return f"""# The live board under load

Measured by `python -m bench.board --write` on {facts["machine"]}. Server and load share the machine.

| {facts["learners"]} learners | count | errors | median, ms | p99, ms | most, ms |
|---|--:|--:|--:|--:|--:|
{post_rows}

A page hears of a stored event after {load["late"]["median"]:.0f} ms in the median and {load["late"]["p99"]:.0f} ms at the 99th percentile, because the board sends at
most one state per second, of {load["state_kib"]:.0f} KiB here. The server uses {load["cpu"]:.0%} of a core and {load["mib"]:.0f} MiB, most of which is torch.

**`kill -9` under load**, {kill["kills"]} times, with 3 s of outage each: {kill["made"]} events made, {kill["stored"]} stored, {kill["lost"]} lost, {kill["twice"]} stored twice. All
had arrived {kill["caught_up"]:.1f} s after the learners stopped.

What reporting adds to a `check`, in milliseconds:

| | median | p99 | most |
|---|--:|--:|--:|
{cost_rows}
"""


def main(
    learners: int = 200,
    rate: float = 50.0,
    seconds: float = 60.0,
    viewers: int = 3,
    kills: int = 3,
    write: bool = False,
) -> None:
    facts: dict[str, Any] = {"machine": f"{os.cpu_count()} cores, Python {platform.python_version()}"}
    facts |= {"learners": learners, "rate": rate, "viewers": viewers}
    with tempfile.TemporaryDirectory() as temporary:
        board = Board(Path(temporary) / "classes")
        board.start()
        try:
            joined = asyncio.run(join_at_once(board, learners))
            tokens = [answer["token"] for _, answer in joined if answer]
            facts["joins"] = times(joined)
            facts["load"] = asyncio.run(load(board, tokens, rate, seconds, viewers))
            facts["cost"] = costs(board, Path(temporary))
            facts["kill"] = kill_under_load(board, Path(temporary), min(100, learners), kills)
        finally:
            board.kill()
    print(page(facts))
    if write:
        REPORT.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(page(facts))


if __name__ == "__main__":
    typer.run(main)
