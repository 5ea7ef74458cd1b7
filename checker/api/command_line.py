"""What `python -m checker` and `python -m classroom` share: how a command ends, and what it prints when it cannot work."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from typer import Option

from checker.verbs.arguments import UnavailableHere, UsageError
from checker.workspace import write_atomically

PASSED, FAILED, USAGE, BROKEN = 0, 1, 2, 3
_INTERRUPTED = 130  # Typer's code for an interrupt before a command begins

DeviceName = Annotated[
    Literal["auto", "cpu", "cuda"], Option("--device", help="auto also uses a GPU if this machine has one")
]
Secret = Annotated[Path | None, Option(metavar="FILE", help="draw everyone's cases from this file's contents")]
NoDiagnosis = Annotated[bool, Option("--no-diagnosis", help="do not look for the misconception behind a failure")]


_Verb = TypeVar("_Verb", bound=Callable[..., int | None])


class App(typer.Typer):
    """A Typer app whose commands return an exit code, or None for 0."""

    def __init__(self, help: str = "", epilog: str = "") -> None:
        super().__init__(help=help, epilog=epilog, add_completion=False, pretty_exceptions_enable=False)

    def verb(self, name: str | None = None, *, group: str | None = None, **options: Any) -> Callable[[_Verb], _Verb]:
        """Register a function as a command, called `name` or like the function, and listed under `group`."""

        def register(function: _Verb) -> _Verb:
            self.command(name, rich_help_panel=group, **options)(_ending_with_an_exit_code(function))
            return function

        return register


def run(app: typer.Typer, program: str, arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Without a command, the help is printed and the code is 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(given or ["--help"], prog_name=program)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            return _stopped()
        return int(end.code or 0) if given else USAGE
    return PASSED


def _ending_with_an_exit_code(function: Callable[..., int | None]) -> Callable[..., None]:
    @functools.wraps(function)
    def command(*arguments: Any, **options: Any) -> None:
        raise typer.Exit(_exit_code(lambda: function(*arguments, **options)))

    return command


def _exit_code(work: Callable[[], int | None]) -> int:
    """Do the work and return its exit code; an error is explained on standard error."""
    try:
        return work() or PASSED
    except UsageError as error:
        complain(str(error))
        return BROKEN if isinstance(error, UnavailableHere) else USAGE
    except (FileNotFoundError, NotADirectoryError) as error:
        complain(f"{error}. Is the path right, seen from {Path.cwd()}?")
        return USAGE
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `… | head`
        sys.stderr.close()
        return FAILED
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        traceback.print_exc()
        print(
            f"\nThe checker itself failed ({type(error).__name__}); no kernel was judged by this. "
            "`python -m checker doctor` looks for what is missing on this machine.",
            file=sys.stderr,
        )
        return BROKEN


def _stopped() -> int:
    print("\nStopped.", file=sys.stderr)
    return BROKEN


def import_torch() -> None:
    """Import torch, if there is one. Until that is done, an interrupt ends the process at once.

    An exception would wait for seconds until torch's libraries are loaded, and be lost if it hit the import of NumPy in them.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # a shell's background job ignores interrupts
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if importlib.util.find_spec("torch") is not None:
            importlib.import_module("torch")
    finally:
        signal.signal(signal.SIGINT, handler)


def complain(message: str) -> None:
    """Print one line about what went wrong."""
    print(f"checker: {message}", file=sys.stderr)


def refuse_unwritable(*targets: str | None) -> None:
    """Raises UsageError for a file that cannot be written, before the work that would fill it begins."""
    for target in targets:
        if target is None or target == "-":
            continue
        path = Path(target)
        if path.is_dir():
            raise UsageError(f"{target} is a folder; the result needs the name of a file")
        if path.exists() and not path.is_file():
            raise UsageError(
                f"{target} is a device or a pipe, which cannot be replaced by a file; - is standard output"
            )
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{target} cannot be written: you may not write to {folder}, or it is not a folder")


@contextlib.contextmanager
def writing(target: str) -> Iterator[None]:
    """Turns an OSError into UnavailableHere: the work was done, and the machine could not keep it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnavailableHere(f"{target} could not be written: {error.strerror or error}") from error


def write(target: str, text: str) -> None:
    """Write text to the file `target`, or to standard output for ``-``. Raises UnavailableHere."""
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be encoded
    with writing(target):
        if target == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            write_atomically(Path(target), text)


def write_json(target: str, content: Any) -> None:
    """Write `content` as JSON, as `write` does."""
    write(target, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
