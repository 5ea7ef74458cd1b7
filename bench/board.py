"""What the live board carries: a large class that posts, pages that look on, a server that is killed, and what a check pays.

    python bench/board.py [--learners 200] [--rate 50] [--seconds 60] [--viewers 3] [--write]

Prints, and with `--write` keeps in reports/board.{json,md}: the seconds of a post at the median and at the 99th percentile while pages
follow the stream, and how late a page hears of an event; how long all learners at one instant take; what is lost and what is stored
twice when the server is killed under load, again and again, while notebooks keep a spool; and what reporting adds to a `check` with the
board up, down and unreachable. Server and load share the machine, so that tails are partly the load generator's own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import secrets
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tornado.httpclient import AsyncHTTPClient

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from classroom.workshop.wire import Event  # noqa: E402

from checker.course import LADDER  # noqa: E402
from classroom.workshop import reporting  # noqa: E402
from classroom.workshop.join_code import parse  # noqa: E402
from classroom.workshop.rehearsal import mistakes  # noqa: E402

REPORT = ROOT / "reports" / "board"
PUZZLES = [puzzle.name for puzzle in LADDER[:6]]


@dataclass(frozen=True)
class Times:
    """Milliseconds of many posts, and how many failed."""

    count: int
    errors: int
    median: float
    p99: float
    most: float


@dataclass(frozen=True)
class Load:
    """Posts at a rate, with pages open: the posts; how late pages heard of them, in ms; what the server took."""

    posts: Times
    late_median: float
    late_p99: float
    state_kib: float
    server_cpu: float
    server_mib: float


@dataclass(frozen=True)
class Kill:
    """Events made, stored and stored twice over some kills, and the seconds until all were there after the last."""

    kills: int
    made: int
    stored: int
    twice: int
    lost: int
    caught_up: float


@dataclass(frozen=True)
class Cost:
    """Milliseconds of the call that reports a check: at the median, at the 99th percentile and at most of `count`."""

    count: int
    median: float
    p99: float
    most: float


# ---------------------------------------------------------------------------------------------------------------- the server


@dataclass
class Running:
    """A board in a process of its own, over a class that outlives it."""

    folder: Path
    port: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "classroom", "open", "--no-films", "--folder", str(self.folder)]
        command += ["--port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if line.startswith("Ctrl-C"):
                break
        address = re.search(r'join\("([^"]+)"\)', said)
        teacher = re.search(r"#teacher=(\w+)", said)
        assert address is not None, said
        assert teacher is not None, said
        self.address, self.teacher = parse(address[1]), teacher[1]
        self.port = int(self.address.url.rsplit(":", 1)[1].strip("/"))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def used(self) -> tuple[float, float]:
        """Processor seconds so far, and MiB resident."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return (int(fields[11]) + int(fields[12])) / ticks, pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def database(self) -> Path:
        return next(self.folder.glob("class-*.sqlite"))


def an_event() -> dict[str, Any]:
    puzzle = secrets.choice(PUZZLES)
    gate, name = secrets.choice(mistakes(puzzle))
    facts = {"puzzle": puzzle, "status": "failed", "gate": gate, "misconception": name, "device": "cpu"}
    return {"uid": secrets.token_hex(16), "kind": "check", **facts}


# ---------------------------------------------------------------------------------------------------------------- load


async def post(client: AsyncHTTPClient, url: str, body: Any, token: str) -> tuple[float, Any]:
    """Seconds, and the answer; None where there was none."""
    began = time.perf_counter()
    try:
        answer = await client.fetch(
            url, method="POST", body=json.dumps(body), headers={"X-Class-Token": token}, request_timeout=20
        )
        return time.perf_counter() - began, json.loads(answer.body)
    except Exception:
        return time.perf_counter() - began, None


def spread(seconds: Iterable[float]) -> tuple[float, float, float]:
    """Milliseconds: the median, the 99th percentile, the most."""
    ms = [1000 * one for one in seconds]
    cut = statistics.quantiles(ms, n=100)
    return cut[49], cut[98], max(ms)


def times(found: Sequence[tuple[float, Any]]) -> Times:
    taken = [seconds for seconds, answer in found if answer is not None]
    return Times(len(found), len(found) - len(taken), *spread(taken))


async def join_all(board: Running, learners: int) -> tuple[list[str], Times]:
    """All at one instant."""
    client = AsyncHTTPClient(force_instance=True, max_clients=learners)
    body = {"code": board.address.code}
    found = await asyncio.gather(*(post(client, f"{board.address.url}join", body, "") for _ in range(learners)))
    return [answer["token"] for _, answer in found if answer], times(found)


async def load(board: Running, tokens: Sequence[str], rate: float, seconds: float, viewers: int) -> Load:
    client = AsyncHTTPClient(force_instance=True, max_clients=len(tokens))
    late, sizes, accepted = [], [], []

    def viewer() -> Any:
        rest = b""

        def heard(chunk: bytes) -> None:
            nonlocal rest
            *whole, rest = (rest + chunk).split(b"\n\n")
            now = time.perf_counter()
            for part in whole:
                sizes.append(len(part))
                late.extend(now - at for at in accepted)
                accepted.clear()

        headers = {"X-Class-Token": board.teacher, "Accept": "text/event-stream"}
        return client.fetch(
            f"{board.address.url}stream", headers=headers, streaming_callback=heard, request_timeout=seconds + 3
        )

    looking = [asyncio.ensure_future(viewer()) for _ in range(viewers)]
    await asyncio.sleep(1)
    cpu, _ = board.used()
    began, found, waiting = time.perf_counter(), [], []

    async def one(token: str) -> None:
        result = await post(client, f"{board.address.url}events", {"events": [an_event()]}, token)
        if result[1] is not None:
            accepted.append(time.perf_counter())
        found.append(result)

    for n in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + n / rate - time.perf_counter()))
        waiting.append(asyncio.ensure_future(one(tokens[n % len(tokens)])))
    await asyncio.gather(*waiting)
    taken = time.perf_counter() - began
    after, mib = board.used()
    await asyncio.gather(*looking, return_exceptions=True)  # they end by their time limit
    late_median, late_p99, _ = spread(late)
    return Load(times(found), late_median, late_p99, max(sizes) / 1024, (after - cpu) / taken, mib)


# ---------------------------------------------------------------------------------------------------------------- kill -9


def kill_under_load(board: Running, home: Path, learners: int, kills: int, between: float) -> Kill:
    """Learners with a spool each, who go on while the server is killed and started again."""
    boxes = [reporting.Box(home / f"learner-{n}") for n in range(learners)]
    for box in boxes:
        reporting.ask_to_join(box, board.address)
    made: list[str] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            for box in boxes:
                event = an_event()
                box.append(Event(**event))
                made.append(event["uid"])
                if stop.wait(60 / 18 / learners):  # 18 a minute each: below what a learner may send
                    return

    def deliver(mine: Sequence[reporting.Box]) -> None:
        while not stop.is_set():
            for box in mine:
                try:
                    reporting.deliver(box)
                except (OSError, reporting.NotAllowed):
                    stop.wait(0.2)

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
    began = time.perf_counter()
    left = list(boxes)
    while left and time.perf_counter() - began < 120:
        left = [box for box in left if not delivered(box)]
    taken = time.perf_counter() - began
    with sqlite3.connect(board.database) as db:
        stored = [uid for (uid,) in db.execute("SELECT uid FROM event") if uid in set(made)]
    return Kill(kills, len(made), len(stored), len(stored) - len(set(stored)), len(set(made) - set(stored)), taken)


def delivered(box: reporting.Box) -> bool:
    try:
        return not reporting.deliver(box)
    except (OSError, reporting.NotAllowed):
        time.sleep(0.5)
        return False


# ---------------------------------------------------------------------------------------------------------------- a check


def cost(box: reporting.Box, count: int = 300) -> Cost:
    """The call at the end of `check`, with its thread at work."""
    taken = []
    for _ in range(count):
        event = Event(**an_event())
        began = time.perf_counter()
        if box.identity() is not None:
            reporting.report(box, event, stays=True)
            reporting.take_messages(box)
            reporting.overdue(box)
        taken.append(time.perf_counter() - began)
        time.sleep(0.005)
    return Cost(count, *spread(taken))


def costs(board: Running, home: Path) -> dict[str, Cost]:
    found = {"before `join`": cost(reporting.Box(home / "nobody"))}
    up = reporting.Box(home / "up")
    joined = reporting.ask_to_join(up, board.address)
    found["the board is up"] = cost(up)
    for words, url in (
        ("the board is down", "http://127.0.0.1:9/"),
        ("the board's address answers nothing", "http://192.0.2.1:8787/"),
        ("the board's name is unknown", "http://board.invalid:8787/"),
    ):
        box = reporting.Box(home / re.sub(r"\W", "-", words))
        box.folder.mkdir()
        reporting._keep_identity(box, reporting.Identity(url, joined, time.time()))
        found[words] = cost(box)
    return found


# ---------------------------------------------------------------------------------------------------------------- the report


def markdown(facts: dict[str, Any]) -> str:
    joins, load, kill = facts["joins"], facts["load"], facts["kill"]
    posts = load["posts"]
    rows = "\n".join(
        f"| {words} | {c['median']:.2f} | {c['p99']:.2f} | {c['most']:.2f} |" for words, c in facts["cost"].items()
    )
    return f"""# The live board under load

Measured by `python bench/board.py --write` on {facts["machine"]}. Server and load share the machine.

| {facts["learners"]} learners | count | errors | median, ms | p99, ms | most, ms |
|---|--:|--:|--:|--:|--:|
| all join at one instant | {joins["count"]} | {joins["errors"]} | {joins["median"]:.0f} | {joins["p99"]:.0f} | {joins["most"]:.0f} |
| {facts["rate"]:g} posts a second, {facts["viewers"]} pages open | {posts["count"]} | {posts["errors"]} | {posts["median"]:.1f} | {posts["p99"]:.0f} | {posts["most"]:.0f} |

A page hears of an event {load["late_median"]:.0f} ms after it was stored at the median, {load["late_p99"]:.0f} ms at the 99th percentile: the board sends
one state a second at most, of {load["state_kib"]:.0f} KiB. The server takes {load["server_cpu"]:.0%} of a core and {load["server_mib"]:.0f} MiB, most of them torch's.

**`kill -9` under load**, {kill["kills"]} times, with 3 s of outage each: {kill["made"]} events made, {kill["stored"]} stored, {kill["lost"]} lost, {kill["twice"]} twice. All of
them were there {kill["caught_up"]:.1f} s after the learners stopped.

What reporting adds to a `check`, in milliseconds:

| | median | p99 | most of {facts["cost"]["before `join`"]["count"]} |
|---|--:|--:|--:|
{rows}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=200)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--viewers", type=int, default=3)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="keep the figures in reports/")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        board = Running(home / "classes")
        board.start()
        try:
            tokens, joins = asyncio.run(join_all(board, options.learners))
            loaded = asyncio.run(load(board, tokens, options.rate, options.seconds, options.viewers))
            paid = costs(board, home)
            killed = kill_under_load(board, home, min(100, options.learners), options.kills, 5.0)
        finally:
            board.kill()
    facts = {
        "machine": f"{os.cpu_count()} cores of a shared machine, Python {platform.python_version()}",
        **{name: getattr(options, name) for name in ("learners", "rate", "viewers")},
        "joins": asdict(joins),
        "load": asdict(loaded),
        "kill": asdict(killed),
        "cost": {words: asdict(one) for words, one in paid.items()},
    }
    print(markdown(facts))
    if options.write:
        REPORT.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
        REPORT.with_suffix(".md").write_text(markdown(facts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
