"""``python -m checker class …``: what an instructor types before, during and after a workshop."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
        description="Teach a class: a live board for the room.",
        epilog="exit status: 0 done, 2 wrong usage, 3 it could not be done here",
        formatter_class=RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in ():
        add(commands)
    return parser
