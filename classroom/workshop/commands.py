"""The commands for teaching a class: before, during and after a workshop."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from checker.api import room
from checker.api.command_line import App, UnavailableHere, UsageError, complain

if TYPE_CHECKING:
    from classroom.workshop.board_store import Store
    from classroom.workshop.schedule import Item
    from classroom.workshop.serving import Opening

GROUP = "Teach a class in one room"


def add_to(app: App) -> None:
    """Register the commands."""
    for command in (agenda, slides, pack, size, rehearse, export, close):
        app.verb(command.__name__, group=GROUP)(command)
    app.verb("open", group=GROUP)(open_class)


Minutes = Annotated[int, Option(metavar="N", help="how long the workshop is, e.g. 90, 180 or 360")]
Port = Annotated[int | None, Option(metavar="N", help="the port (default: 8787)")]
AgendaFile = Annotated[Path | None, Option(metavar="FILE", help="the run sheet, from `agenda --json FILE`")]
Lan = Annotated[bool, Option("--lan", help="let the local network in, instead of this machine only")]
Public = Annotated[str, Option(metavar="URL", help="the address of this board behind a proxy or a hub")]
NoFilms = Annotated[bool, Option("--no-films", help="do not make films of wrong kernels on this machine")]
Folder = Annotated[Path | None, Option(metavar="DIR", help="where classes are kept (default: .tile-by-tile/classes)")]
ClassFile = Annotated[Path | None, Option("--file", metavar="CLASS", help="the class (default: the newest one)")]


def agenda(
    minutes: Minutes,
    to: Annotated[
        str, Option("--json", metavar="FILE", help="write the rows for the board; - for standard output")
    ] = "",
) -> None:
    """Compute a run sheet."""
    from rich.console import Console
    from rich.markdown import Markdown

    from classroom.workshop import run_sheets
    from classroom.workshop.agenda import agenda as plan
    from classroom.workshop.agenda import lessons

    sheet = plan(lessons(_course() / "notebooks"), minutes)
    rows = json.dumps(sheet.as_json(), indent=1, ensure_ascii=False) + "\n"
    if to == "-":
        print(rows, end="")
        return
    if to:
        Path(to).write_text(rows, "utf-8")
    Console().print(Markdown(run_sheets.sheet(sheet)))


def slides(
    notebook: Annotated[list[str] | None, Argument(help="e.g. 01_row_softmax (default: all)")] = None,
    to: Annotated[Path, Option(metavar="DIR", help="the folder to write")] = Path(".slides/html"),
) -> None:
    """Make slides of the notebooks, whose films play without a network."""
    from classroom.workshop import deck

    pages = deck.write(notebook or [], _course(), to)
    print(
        f"{room.count(len(pages), 'deck')}: open {to / 'index.html'} in a browser. S opens your notes in a second window."
    )


def pack(
    folder: Annotated[Path, Argument(metavar="DIR", help="the folder to make")],
    python: Annotated[
        list[str] | None, Option(metavar="X.Y", help="a Python of the room (default: this one); repeat it")
    ] = None,
    torch: Annotated[
        Literal["cpu", "cuda", "none"], Option(help="torch's build; none if the machines have torch and Triton")
    ] = "cpu",
    slides: Annotated[Path | None, Option(metavar="DIR", help="a folder that `slides` made, to add")] = None,
) -> None:
    """Make a folder that installs the course in a room without network."""
    from classroom.workshop.pack import write

    pythons = python or [f"{sys.version_info.major}.{sys.version_info.minor}"]
    if slides is not None and not (slides / "index.html").is_file():
        raise UsageError(f"there are no slides in {slides}; `python -m classroom slides --to {slides}` makes them")
    wheels, size = write(_course(), folder, pythons, torch, slides)
    print(f"{folder}: {wheels} wheels, {size / 1e6:.0f} MB, for Python {', '.join(pythons)}.")
    print(f"Copy the folder to the machines, and run there: sh {folder.name}/install.sh")


def size(learners: Annotated[int, Argument(metavar="N", min=1, help="learners in the room")]) -> None:
    """Say what server a class needs."""
    from classroom.workshop import room_size

    need = room_size.needs(learners)
    print(
        f"{room.count(learners, 'learner')} on one server: {need.memory:.0f} GB of memory and {need.cores} cores.\n"
        f"That is for one check every {room_size.PACE:.0f} s per learner. If all check at the same moment, the last verdict comes after "
        f"about {need.burst:.0f} s."
    )


def open_class(
    title: Annotated[str, Option(metavar="TEXT", help="the name of the class on the board")] = "Tile by Tile",
    agenda: AgendaFile = None,
    port: Port = None,
    lan: Lan = False,
    public: Public = "",
    no_films: NoFilms = False,
    folder: Folder = None,
) -> None:
    """Open the live board, or continue the class that is open."""
    from classroom.workshop import board_store, schedule
    from classroom.workshop.belief_films import BeliefFilms
    from classroom.workshop.serving import Opening, address

    folder = _classes(folder)
    opening = Opening(
        address(port, lan, public, os.environ),
        schedule.read(agenda) if agenda else [],
        None if no_films else BeliefFilms(folder / "films"),
    )
    for path in board_store.old(folder):
        complain(f"{path} is older than two weeks; delete it: python -m classroom close --forget --file {path}")
    store = board_store.open_or_new(folder, title)
    print(f"The class is stored in {store.path}.")
    _serve(store, opening)


def rehearse(
    learners: Annotated[int, Option(metavar="N", min=1, help="made-up learners")] = 12,
    speed: Annotated[
        float,
        Option(metavar="X", min=0.1, help="how many times as fast as a class; 18 plays three hours in ten minutes"),
    ] = 1.0,
    minutes: Minutes = 180,
    seed: Annotated[int, Option(metavar="N", help="for another class")] = 0,
    port: Port = None,
    browser: Annotated[bool, Option(help="open the projector's page and yours")] = True,
    no_films: NoFilms = False,
    folder: Folder = None,
) -> None:
    """Open a board with a class that plays itself, to rehearse alone. Only the films are kept."""
    from classroom.workshop import board_store, rehearsal
    from classroom.workshop.belief_films import BeliefFilms
    from classroom.workshop.serving import Opening, address

    began = time.time()
    opening = Opening(
        address(port, False, "", {}),
        _planned(minutes),
        None if no_films else BeliefFilms(_classes(folder) / "films"),
        clock=lambda: began + (time.time() - began) * speed,
        play=lambda server: rehearsal.play(server, learners, speed, seed),
        browser=browser,
        ends="Ctrl-C ends the rehearsal, and the class is deleted.",
    )
    with tempfile.TemporaryDirectory() as temporary:
        _serve(board_store.create(Path(temporary) / "class-rehearsal.sqlite", "A rehearsal"), opening)


def export(
    target: Annotated[Path, Argument(metavar="FILE", help="a .csv")],
    names: Annotated[bool, Option("--names", help="with names instead of numbers")] = False,
    file: ClassFile = None,
    folder: Folder = None,
) -> None:
    """Write the events of a class as CSV."""
    from classroom.workshop import board_store

    print(f"{target}: {room.count(board_store.export(_store(file, folder), target, names), 'event')}")


def close(
    forget: Annotated[bool, Option("--forget", help="delete everything the board stored")] = False,
    file: ClassFile = None,
    folder: Folder = None,
) -> None:
    """End the class."""
    from classroom.workshop import serving

    store = _store(file, folder)
    serving.close(store, forget)
    print(f"The class is closed {'and deleted' if forget else f'and stored in {store.path}; --forget deletes it'}.")


def _serve(store: Store, opening: Opening) -> None:
    """Serve a class until Ctrl-C or `close`. Raises UsageError."""
    from classroom.workshop import serving

    try:
        serving.serve(store, opening)
    except OSError as error:
        where = f"{opening.where.host}:{opening.where.port}"
        raise UnavailableHere(f"the board cannot listen at {where}: {error.strerror or error}") from None


def _planned(minutes: int) -> list[Item]:
    """The rows of the run sheet for so many minutes. Raises UsageError."""
    from classroom.workshop import schedule
    from classroom.workshop.agenda import agenda, lessons

    return schedule.parse(json.dumps(agenda(lessons(_course() / "notebooks"), minutes).as_json()).encode())


def _classes(folder: Path | None) -> Path:
    return folder or room.find().ours / "classes"


def _store(file: Path | None, folder: Path | None) -> Store:
    """The named class, or the newest one. Raises UsageError."""
    from classroom.workshop.board_store import NoClass, Store, newest

    try:
        return Store(file or newest(_classes(folder)))
    except NoClass as error:
        raise UsageError(f"{error}; `python -m classroom open` opens one") from None


def _course() -> Path:
    """The course in which the instructor works, or else this copy of it. Raises UnavailableHere without notebooks."""
    for root in (room.find().root, Path(__file__).resolve().parents[2]):
        if (root / "notebooks").is_dir():
            return root
    raise UnavailableHere("there is no folder notebooks/ here: run this in a copy of the course")
