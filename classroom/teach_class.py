"""``python -m checker class …``: what an instructor types before, during and after a workshop."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker import workspace
from checker.verbs.arguments import UnavailableHere, UsageError
from classroom.workshop import NotPossibleHere, WorkshopError

if TYPE_CHECKING:
    from classroom.workshop.board_store import Store
    from classroom.workshop.live_class import LiveClass
    from classroom.workshop.schedule import Item
    from classroom.workshop.serving import Address


def main(arguments: Sequence[str]) -> int:
    """Run one command; `arguments` begin with its name. Raises UsageError, OSError."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        options.run(options)
    except NotPossibleHere as error:
        raise UnavailableHere(str(error)) from None
    except WorkshopError as error:
        raise UsageError(str(error)) from None
    return 0


def _parser() -> ArgumentParser:
    from classroom.workshop.pack import TORCH

    parser = ArgumentParser(
        prog="python -m checker class",
        description="Teach a class: run sheets, slides, a folder for a room without network, and a live board.",
        epilog="exit status: 0 done, 2 wrong usage, 3 it could not be done here",
        formatter_class=RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(run: Callable[[Namespace], None], name: str, summary: str) -> ArgumentParser:
        made = commands.add_parser(name, help=summary)
        made.set_defaults(run=run)
        return made

    p = command(agenda, "agenda", "a run sheet for so many minutes")
    length = "how long the workshop is, e.g. 90, 180 or 360"
    p.add_argument("--minutes", metavar="N", type=int, required=True, help=length)
    rows = "write the rows to FILE as well, for the board; - for standard output"
    p.add_argument("--json", metavar="FILE", help=rows)
    p = command(slides, "slides", "slides of the notebooks, with films that play, for a room without network")
    p.add_argument("notebook", nargs="*", metavar="NOTEBOOK", help="e.g. 01_row_softmax (default: all)")
    p.add_argument("--to", metavar="DIR", default=".slides/html", help="the folder to write (default: .slides/html)")
    p = command(pack, "pack", "a folder that installs the course in a room without network")
    p.add_argument("folder", metavar="DIR", help="the folder to make")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    p.add_argument("--pythons", metavar="X.Y", nargs="+", default=[here], help=f"Pythons of the room (default: {here})")
    build = "the build of torch: cpu (default), cuda, or none where the machines have torch and Triton"
    p.add_argument("--torch", choices=TORCH, default="cpu", help=build)
    p.add_argument("--slides", metavar="DIR", help="a folder that `class slides` made, to go with it")
    p = command(size, "size", "what so many learners need of one server; measures a few checks here")
    p.add_argument("learners", metavar="N", type=int, help="learners in the room")
    sheet = "the run sheet whose kernels are checked (default 180)"
    p.add_argument("--minutes", metavar="N", type=int, default=180, help=sheet)
    p = command(open_class, "open", "open the live board, or go on with the class that is open")
    p.add_argument("--title", metavar="TEXT", default="Tile by Tile", help="what the class is called on the board")
    _add_serving(p)
    _add_folder(p)
    p = command(rehearse, "rehearse", "a board with a class that plays itself, to rehearse alone")
    p.add_argument("--learners", metavar="N", type=int, default=12, help="how many (default 12)")
    speed = "so many times as fast as a class (default 1; with 18, three hours take ten minutes)"
    p.add_argument("--speed", metavar="X", type=float, default=1.0, help=speed)
    p.add_argument("--seed", metavar="N", type=int, default=0, help="another class")
    p.add_argument("--browser", action="store_true", help="open the projector's page and yours")
    _add_serving(p)
    _add_folder(p)
    p = command(export, "export", "write the events of a class as .csv or .sqlite")
    p.add_argument("target", metavar="FILE", help="a .csv or a .sqlite")
    p.add_argument("--names", action="store_true", help="with the names of the board; without it, numbers")
    p.add_argument("--file", metavar="CLASS", help="the class (default: the newest one)")
    _add_folder(p)
    p = command(close_class, "close", "end the class; with --forget, delete all that it kept")
    p.add_argument("--forget", action="store_true", help="delete the file of the class")
    p.add_argument("--file", metavar="CLASS", help="the class (default: the newest one)")
    _add_folder(p)
    return parser


def _add_serving(p: ArgumentParser) -> None:
    p.add_argument("--port", metavar="N", type=int, help="the port (default: 8787)")
    p.add_argument("--agenda", metavar="FILE", help="the run sheet, from `class agenda --json FILE`")
    p.add_argument("--lan", action="store_true", help="let the local network in; without it, this machine only")
    public = "the address by which a proxy or a hub reaches this board; learners join there"
    p.add_argument("--public", metavar="URL", default="", help=public)
    p.add_argument("--no-films", action="store_true", help="make no films of the room's beliefs on this machine")


def _add_folder(p: ArgumentParser) -> None:
    p.add_argument("--folder", metavar="DIR", help="where classes are kept (default: .tile-by-tile/classes)")


def open_class(options: Namespace) -> None:
    from classroom.workshop import board_store

    folder = _folder(options)
    for path in board_store.old(folder):
        told = f"checker: {path} is older than two weeks; forget it: class close --forget --file {path}"
        print(told, file=sys.stderr)
    store = board_store.open_or_new(folder, options.title)
    print(f"The class is kept in {store.path}.")
    _serve(options, store, folder / "films", _items(options))


def _items(options: Namespace) -> list[Item]:
    """The run sheet that was named, empty without one."""
    from classroom.workshop.schedule import read

    return read(Path(options.agenda)) if options.agenda else []


def _serve(options: Namespace, store: Store, films: Path, items: list[Item], **more: Any) -> None:
    """Serve a class until Ctrl-C or `class close`. Raises UnavailableHere."""
    from classroom.workshop import serving
    from classroom.workshop.belief_films import BeliefFilms

    address = serving.address(options.port, options.lan, options.public, os.environ)
    made = None if options.no_films else BeliefFilms(films, film_of_belief)
    try:
        serving.serve(store, address, items, made, **more)
    except OSError as error:
        why = f"the board cannot listen at {address.host}:{address.port}: {error.strerror or error}"
        raise UnavailableHere(why) from None


def rehearse(options: Namespace) -> None:
    """The class is deleted at the end; only the films are kept."""
    import tempfile
    import webbrowser

    from classroom.workshop import board_store, serving
    from classroom.workshop.rehearsal import Rehearsal, plain_sheet

    if options.learners < 1 or options.speed <= 0:
        raise UsageError("a rehearsal needs at least one learner, and a speed above 0")
    items = _items(options) or plain_sheet()
    began = time.time()

    def ready(live: LiveClass, address: Address) -> None:
        serving.announce(live, address, "Ctrl-C ends the rehearsal. Of the class nothing is kept.")
        for role in ("screen", "teacher") if options.browser else ():
            webbrowser.open(serving.link(live, address, role))
        code, _, _ = live.join_line.partition("@")
        class_of = (options.learners, options.speed, options.seed)
        Rehearsal(address.own, code, live.token_of("teacher"), items, *class_of, reached=lambda: live.step).start()

    with tempfile.TemporaryDirectory() as temporary:
        store = board_store.create(Path(temporary) / "class-rehearsal.sqlite", "A rehearsal")
        clock = lambda: began + (time.time() - began) * options.speed  # noqa: E731
        _serve(options, store, _folder(options) / "films", items, ready=ready, clock=clock)


def film_of_belief(puzzle: str, name: str) -> str:
    """The page of a wrong kernel's film at the smallest case that it fails; empty where there is none."""
    from checker.course import PUZZLES
    from checker.films.page import film_document
    from checker.verbs.film import Film, film_of
    from classroom.workshop.belief_films import misconception

    found = misconception(puzzle, name)
    if found is None:
        return ""
    made = film_of(PUZZLES[puzzle], found.source, {}, "failing")
    return film_document(made.html, f"{puzzle}: {name.replace('_', ' ')}") if isinstance(made, Film) else ""


def export(options: Namespace) -> None:
    from classroom.workshop import board_store

    count = board_store.export(_store(options), Path(options.target), options.names)
    print(f"{options.target}: {_count(count, 'event')}")


def close_class(options: Namespace) -> None:
    from classroom.workshop import serving

    store = _store(options)
    serving.close(store, options.forget)
    kept = "and forgotten" if options.forget else f"and kept in {store.path}; --forget deletes it"
    print(f"The class is closed {kept}.")


def _folder(options: Namespace) -> Path:
    return Path(options.folder) if options.folder else workspace.find().ours / "classes"


def _store(options: Namespace) -> Store:
    """The class that was named, or the newest one. Raises UsageError."""
    from classroom.workshop.board_store import NoClass, Store, newest

    try:
        return Store(Path(options.file) if options.file else newest(_folder(options)))
    except NoClass as error:
        raise UsageError(f"{error}; `python -m checker class open` opens one") from None


def agenda(options: Namespace) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    from classroom.workshop import run_sheets
    from classroom.workshop.agenda import agenda as plan
    from classroom.workshop.agenda import lessons

    sheet = plan(lessons(_course() / "notebooks"), options.minutes)
    rows = json.dumps(sheet.as_json(), indent=1, ensure_ascii=False) + "\n"
    if options.json == "-":
        print(rows, end="")
        return
    if options.json:
        Path(options.json).write_text(rows, "utf-8")
    Console().print(Markdown(run_sheets.sheet(sheet)))


def slides(options: Namespace) -> None:
    from classroom.workshop import deck

    pages = deck.write(options.notebook, _course(), Path(options.to))
    index = Path(options.to) / "index.html"
    print(f"{_count(len(pages), 'deck')}: open {index} in a browser. S opens your notes in a second window.")


def pack(options: Namespace) -> None:
    from classroom.workshop.pack import write

    slides = Path(options.slides) if options.slides else None
    if slides is not None and not (slides / "index.html").is_file():
        raise UsageError(f"{slides} holds no slides; `python -m checker class slides --to {slides}` makes them")
    wheels, size = write(_course(), Path(options.folder), options.pythons, options.torch, slides)
    print(f"{options.folder}: {wheels} wheels, {size / 1e6:.0f} MB, for Python {', '.join(options.pythons)}.")
    print(f"Copy the folder to the machines; there: sh {Path(options.folder).name}/install.sh")


def size(options: Namespace) -> None:
    from classroom.workshop import room_size
    from classroom.workshop.agenda import agenda, lessons
    from classroom.workshop.simulated import Try

    if options.learners < 1:
        raise UsageError("a room has at least one learner")
    rows = agenda(lessons(_course() / "notebooks"), options.minutes).rows
    puzzles = [row.puzzles[0] for row in rows if row.kind == "exercise"]
    print(f"Three simulated learners check {', '.join(puzzles)}. This takes a minute.", flush=True)
    found = room_size.measure([Try(puzzle) for puzzle in puzzles])
    need = room_size.needs(found, options.learners)
    print(
        f"Measured here: a learner's notebook and worker take {found.private:.0f} MB, {found.during:.0f} MB more during a check; "
        f"all learners share {found.shared:.0f} MB.\n"
        f"A check takes {found.processor:.1f} s of a processor; a verdict comes after {found.alone:.1f} s, or after "
        f"{found.together:.1f} s with three checking at once.\n"
        f"{options.learners} learners on one server need {need.memory:.0f} GB of memory and {need.cores} cores.\n"
        f"That is one check every {room_size.PACE:.0f} s for each of them. If all check at the same moment, the last verdict comes "
        f"after about {need.burst:.0f} s."
    )


def _count(n: int, one: str) -> str:
    return f"{n} {one}{'' if n == 1 else 's'}"


def _course() -> Path:
    """The course that the instructor stands in, or that `checker` was imported from. Raises UnavailableHere where there is none."""
    for root in (workspace.find().root, Path(__file__).resolve().parent.parent):
        if (root / "notebooks").is_dir():
            return root
    raise UnavailableHere("there is no folder notebooks/ here: run this in a copy of the course")
