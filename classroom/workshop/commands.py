"""The commands of a workshop."""

from __future__ import annotations

import typer

from checker.api.command_line import App
from classroom import teach_class

GROUP = "Teach a class"
COMMANDS = {
    "agenda": "a run sheet for so many minutes",
    "slides": "slides of the notebooks",
    "pack": "a folder that installs the course in a room without network",
    "size": "what so many learners need of one server",
    "open": "open the live board, or go on with the class that is open",
    "rehearse": "a board with a class that plays itself",
    "export": "write the events of a class as .csv or .sqlite",
    "close": "end the class",
}


def add_to(app: App) -> None:
    """Register every command of `COMMANDS`."""
    for name, summary in COMMANDS.items():
        _add(app, name, summary)


def _add(app: App, name: str, summary: str) -> None:
    as_given = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}

    @app.verb(name, group=GROUP, help=summary, context_settings=as_given)
    def command(context: typer.Context) -> int:
        return teach_class.main([name, *context.args])
