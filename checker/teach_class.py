"""``python -m checker class …``: what an instructor types before, during and after a workshop."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from checker.verbs.arguments import UnavailableHere, UsageError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Subcommands = _SubParsersAction[ArgumentParser]

DONE, USAGE, BROKEN = 0, 2, 3


def main(arguments: Sequence[str]) -> int:
    """Run one command; `arguments` begin with its name. Raises UsageError, OSError."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return int(options.run(options))


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m checker class",
        description="Teach a class: run sheets, slides, a folder for a room without network, and a live board.",
        epilog="exit status: 0 done, 2 wrong usage, 3 it could not be done here",
        formatter_class=RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (_add_agenda, _add_slides, _add_pack, _add_size):
        add(commands)
    return parser


# ------------------------------------------------------------------------------------------------------------------ agenda


def _add_agenda(commands: Subcommands) -> None:
    p = commands.add_parser("agenda", help="a run sheet for so many minutes")
    p.set_defaults(run=agenda)
    p.add_argument(
        "--minutes", metavar="N", type=int, required=True, help="how long the workshop is, e.g. 90, 180 or 360"
    )
    p.add_argument(
        "--json", metavar="FILE", help="write the rows to FILE as well, for the board; - for standard output"
    )


def agenda(options: Namespace) -> int:
    from checker.workshop import run_sheets
    from checker.workshop.agenda import agenda as plan
    from checker.workshop.agenda import lessons

    try:
        sheet = plan(lessons(_course() / "notebooks"), options.minutes)
    except ValueError as error:
        raise UsageError(str(error)) from None
    rows = json.dumps(sheet.as_json(), indent=1, ensure_ascii=False) + "\n"
    if options.json == "-":
        print(rows, end="")
        return DONE
    if options.json:
        Path(options.json).write_text(rows, "utf-8")
    _show_markdown(run_sheets.sheet(sheet))
    return DONE


# ------------------------------------------------------------------------------------------------------------------ slides


def _add_slides(commands: Subcommands) -> None:
    p = commands.add_parser("slides", help="slides of the notebooks, with films that play, for a room without network")
    p.set_defaults(run=slides)
    p.add_argument("notebook", nargs="*", metavar="NOTEBOOK", help="e.g. 01_row_softmax (default: all)")
    p.add_argument("--to", metavar="DIR", default=".slides/html", help="the folder to write (default: .slides/html)")


def slides(options: Namespace) -> int:
    from checker.workshop import deck

    try:
        pages = deck.write(options.notebook, _course(), Path(options.to))
    except deck.SlidesError as error:
        raise UnavailableHere(str(error)) from None
    print(
        f"{len(pages)} decks: open {Path(options.to) / 'index.html'} in a browser. S opens your notes in a second window."
    )
    return DONE


# -------------------------------------------------------------------------------------------------------------------- pack


def _add_pack(commands: Subcommands) -> None:
    from checker.workshop.pack import TORCH

    p = commands.add_parser("pack", help="a folder that installs the course in a room without network")
    p.set_defaults(run=pack)
    p.add_argument("folder", metavar="DIR", help="the folder to make")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    p.add_argument("--pythons", metavar="X.Y", nargs="+", default=[here], help=f"Pythons of the room (default: {here})")
    build = "the build of torch: cpu (default), cuda, or none where the machines have torch and Triton"
    p.add_argument("--torch", choices=TORCH, default="cpu", help=build)
    p.add_argument("--slides", metavar="DIR", help="a folder that `class slides` made, to go with it")


def pack(options: Namespace) -> int:
    from checker.workshop.pack import PackError, write

    slides = Path(options.slides) if options.slides else None
    if slides is not None and not (slides / "index.html").is_file():
        raise UsageError(f"{slides} holds no slides; `python -m checker class slides --to {slides}` makes them")
    try:
        packed = write(_course(), Path(options.folder), options.pythons, options.torch, slides)
    except PackError as error:
        raise UnavailableHere(str(error)) from None
    print(
        f"{options.folder}: {packed.wheels} wheels, {packed.size / 1e6:.0f} MB, for Python {', '.join(packed.pythons)}."
    )
    print(f"Copy the folder to the machines; there: sh {Path(options.folder).name}/install.sh")
    return DONE


# -------------------------------------------------------------------------------------------------------------------- size


def _add_size(commands: Subcommands) -> None:
    p = commands.add_parser("size", help="what so many learners need of one server; measures a few checks here")
    p.set_defaults(run=size)
    p.add_argument("learners", metavar="N", type=int, help="learners in the room")
    p.add_argument(
        "--minutes", metavar="N", type=int, default=180, help="the run sheet whose kernels are checked (default 180)"
    )


def size(options: Namespace) -> int:
    from checker.workshop import room_size
    from checker.workshop.agenda import agenda, lessons
    from checker.workshop.simulated import Try

    if options.learners < 1:
        raise UsageError("a room has at least one learner")
    rows = agenda(lessons(_course() / "notebooks"), options.minutes).rows
    tries = [Try(row.puzzles[0]) for row in rows if row.kind == "exercise"]
    print(
        f"Three simulated learners check {', '.join(tried.puzzle for tried in tries)}. This takes a minute.", flush=True
    )
    found = room_size.measure(tries)
    need = room_size.needs(found, options.learners)
    print(
        f"Measured here: a learner's notebook and worker take {found.private:.0f} MB, {found.during:.0f} MB more during a check; "
        f"all learners share {found.shared:.0f} MB.\n"
        f"A check takes {found.processor:.1f} s of a processor; a verdict comes after {found.alone:.1f} s, or after "
        f"{found.together:.1f} s with three checking at once.\n"
        f"{need.learners} learners on one server need {need.memory:.0f} GB of memory and {need.cores} cores.\n"
        f"That is one check every {room_size.PACE:.0f} s for each of them. If all check at the same moment, the last verdict comes "
        f"after about {need.burst:.0f} s."
    )
    return DONE


# ------------------------------------------------------------------------------------------------------------------ shared


def _show_markdown(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


def _course() -> Path:
    """The course that the instructor stands in, or that `checker` was imported from. Raises UnavailableHere where there is none."""
    from checker import workspace

    for root in (workspace.find().root, Path(__file__).resolve().parent.parent):
        if (root / "notebooks").is_dir():
            return root
    raise UnavailableHere("there is no folder notebooks/ here: run this in a copy of the course")
