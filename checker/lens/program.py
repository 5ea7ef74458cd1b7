"""``python -m checker lens``: a whole program, unmodified, with its launches simulated."""

from __future__ import annotations

import contextlib
import runpy
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from checker.api.command_line import BROKEN, FAILED, PASSED, UsageError, complain, write_json
from checker.lens.report import Report
from checker.lens.sarif import sarif
from checker.lens.session import lens, show

_NO_CUDA = ("CUDA", "specified device", "dummy base class", "NVIDIA", "active driver")
"""What torch and Triton say where they need a GPU."""


def look_at(
    program: Sequence[str],
    module: bool,
    options: Mapping[str, Any],
    json_file: str | None,
    sarif_file: str | None,
    films: Path | None,
) -> int:
    """Run the program, show the report, and return the exit status. With ``--json -``, the program prints to standard error."""
    if not module and not Path(program[0]).is_file():
        raise UsageError(f"There is no file {program[0]} in {Path.cwd()}. For a module, write -m {program[0]}")
    own_output = contextlib.redirect_stdout(sys.stderr) if "-" in (json_file, sarif_file) else contextlib.nullcontext()
    with lens(quiet=True, patient=True, film_each=films, **options) as report, own_output:
        ended = _run(program, module)
    show(report.panel())
    if json_file is not None:
        write_json(json_file, report.data())
    if sarif_file is not None:
        write_json(sarif_file, sarif(report))
    report.check_outputs(options["outputs"])
    return _status(report, ended)


def _status(report: Report, ended: bool) -> int:
    if report.findings or any(not stopped.unsupported for stopped in report.stopped):
        return FAILED
    if ended and not report.launches:
        complain("The program launched no Triton kernel, so the lens saw nothing.")
        return BROKEN
    return PASSED if ended and not report.stopped else BROKEN


def _run(program: Sequence[str], module: bool) -> bool:
    """Run the program, and show the error that it ends with. Returns whether it came to a good end."""
    try:
        with _as_main(program, module):
            if module:
                runpy.run_module(program[0], run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(program[0], run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            complain(f"The program ended early: {end.code}.")
        return end.code in (None, 0)
    except KeyboardInterrupt as stop:
        complain(str(stop) or "You interrupted the program.")
        return False
    except Exception as error:
        traceback.print_exception(error.with_traceback(_own(error.__traceback__)))
        if any(words in str(error) for words in _NO_CUDA):
            complain("The program asks for something of CUDA that the lens does not serve: see the lines above.")
        return False
    return True


@contextlib.contextmanager
def _as_main(program: Sequence[str], module: bool) -> Iterator[None]:
    """As if Python had started the program itself."""
    arguments, path = sys.argv, list(sys.path)
    terminated = signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was seen is still reported
    sys.argv = list(program)
    sys.path.insert(0, str(Path.cwd() if module else Path(program[0]).resolve().parent))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, terminated)
        sys.argv, sys.path[:] = arguments, path


def _own(place: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's own first line on."""
    start = place
    while start is not None and (
        "runpy" in start.tb_frame.f_code.co_filename or start.tb_frame.f_code.co_filename == __file__
    ):
        start = start.tb_next
    return start or place
