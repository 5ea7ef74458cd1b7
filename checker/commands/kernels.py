"""Commands on the kernels of one file: check, film, xray, bench."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from checker.commands.codes import BROKEN, FAILED, PASSED
from checker.commands.files import writable, writing
from checker.verbs.naming import UsageError

if TYPE_CHECKING:
    from checker.puzzle import Puzzle
    from checker.submission.kernel import KernelSource


def _kernels(options: argparse.Namespace, *, single: bool) -> list[tuple[Puzzle, KernelSource]]:
    """The kernels of the file that was named. Raises UsageError where there is none, or several and one is needed."""
    from checker.course import LADDER
    from checker.submission.from_path import from_path
    from checker.verbs.naming import puzzle_named

    wanted = [puzzle_named(options.puzzle, options.verb)] if options.puzzle else list(LADDER)
    path = _path(options)
    found = from_path(path, wanted)
    kernels = [(next(p for p in wanted if p.name == f.puzzle), f.source) for f in found if f.source is not None]
    broken = [f for f in found if f.source is None and f.reason != "no_kernel"]
    if not kernels:
        why = broken or found
        told = "; ".join(f"{f.submission}: {f.error}" for f in why[:3]) or "no kernel of this course is in it"
        asked = f" The kernel of {wanted[0].name} is called {wanted[0].kernel}." if options.puzzle else ""
        raise UsageError(f"{path}: {told}.{asked}")
    for f in broken:
        print(f"checker: {f.submission}: {f.error}", file=sys.stderr)
    if single and len(kernels) > 1:
        names = ", ".join(dict.fromkeys(p.name for p, _ in kernels))
        raise UsageError(
            f"{path} holds several kernels; say which: {options.verb} {path} --puzzle NAME, with NAME one of {names}"
        )
    return [(puzzle, source) for puzzle, source in kernels if source is not None]


def _path(options: argparse.Namespace) -> Path:
    from checker import workspace
    from checker.course import KERNELS, PUZZLES
    from checker.verbs.naming import puzzle_named

    if options.file is None:
        if not options.puzzle:
            raise UsageError(
                f"{options.verb} needs a file: python -m checker {options.verb} puzzles/{next(iter(PUZZLES))}.py"
            )
        options.file = options.puzzle
    path = Path(options.file)
    if path.exists():
        return path
    name = options.file if options.file in PUZZLES else KERNELS[options.file].name if options.file in KERNELS else None
    if name is not None:
        return workspace.find().puzzle_file(name)
    if path.parent == Path() and not path.suffix:
        puzzle_named(options.file, options.verb)  # raises with the nearest name
    return path


def check(options: argparse.Namespace) -> int:
    from checker.verbs.showing import check_and_show

    verdicts = [check_and_show(p, s, options.device) for p, s in _kernels(options, single=False)]
    if any(verdict.status == "infra_error" for verdict in verdicts):
        return BROKEN
    return PASSED if all(verdict.passed for verdict in verdicts) else FAILED


def film(options: argparse.Namespace) -> int:
    from checker.verbs.returned import Film
    from checker.verbs.showing import film_of

    sizes = dict(_size(text) for text in options.size)
    writable(options.output)
    ((puzzle, source),) = _kernels(options, single=True)
    made = film_of(puzzle, source, sizes)
    if not isinstance(made, Film):
        from checker.view.terminal import print_card

        print_card(made)
        return BROKEN if made.status == "infra_error" else FAILED
    output = options.output or f"{puzzle.name}.film.html"
    with writing(output):
        target = made.save(output)
    print(f"{target}: open it in a browser. Space plays, the arrow keys step.")
    return PASSED


def _size(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        raise UsageError(f"--size takes NAME=NUMBER, for example --size N=13, not {text!r}") from None


def xray(options: argparse.Namespace) -> int:
    from checker.verbs.showing import xray_and_show

    asked = {"dtype": options.dtype, "num_warps": options.num_warps, "num_stages": options.num_stages}
    wanted = dict(_size(text) for text in options.size) | {name: v for name, v in asked.items() if v is not None}
    ((puzzle, source),) = _kernels(options, single=True)
    _, compiled = xray_and_show(puzzle, source, wanted)
    return PASSED if compiled else FAILED


def bench(options: argparse.Namespace) -> int:
    from checker.verbs.panels import Panel
    from checker.verbs.showing import bench_and_show

    ((puzzle, source),) = _kernels(options, single=True)
    return PASSED if isinstance(bench_and_show(puzzle, source), Panel) else FAILED
