"""``python -m checker``: the verbs for a shell, and the grader.

Exit codes: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checker.commands import folder, grading, kernels
from checker.commands.codes import BROKEN, FAILED, USAGE
from checker.verbs.naming import Unavailable, UsageError

DEVICES = ("auto", "cpu", "cuda")

_CODES = "exit status: 0 all passed, 1 some did not, 2 wrong usage or nothing found, 3 the checker itself could not do its work"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse ends with 2 for wrong usage and with 0 for --help
        return int(stop.code or 0)
    if options.verb is None:
        parser.print_help()
        return USAGE
    try:
        return int(options.run(options))
    except Unavailable as missing:
        _complain(str(missing))
        return BROKEN
    except UsageError as misuse:
        return _complain(str(misuse))
    except (FileNotFoundError, NotADirectoryError) as error:
        return _complain(f"{error}. Is the path right, seen from {Path.cwd()}?")
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `… | head`
        sys.stderr.close()
        return FAILED
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return BROKEN
    except Exception as error:
        traceback.print_exc()
        print(
            f"\nThe checker itself failed ({type(error).__name__}); no kernel was judged by this. "
            "`python -m checker doctor` looks for what is missing on this machine.",
            file=sys.stderr,
        )
        return BROKEN


def _complain(message: str) -> int:
    print(f"checker: {message}", file=sys.stderr)
    return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m checker",
        description="Check, film and grade the Triton kernels of Tile by Tile.",
        epilog=f"{_CODES}\n\nstart with:  python -m checker doctor\nthen:        python -m checker check puzzles/vector_add.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")

    def verb(name: str, run: Any, summary: str, *examples: str) -> argparse.ArgumentParser:
        shown = "".join(f"\n  python -m checker {example}" for example in examples)
        made = verbs.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            epilog=f"examples:{shown}\n\n{_CODES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run)
        return made

    p = verb(
        "check",
        kernels.check,
        "judge the kernels in a file and say what is wrong",
        "check puzzles/row_softmax.py",
        "check row_softmax",
    )
    _file(p)
    _device(p)
    p = verb(
        "film",
        kernels.film,
        "film a kernel walking over its tensors",
        "film puzzles/row_softmax.py -o film.html --size N=13",
    )
    _file(p)
    p.add_argument("-o", "--output", metavar="HTML", help="the page to write (default: <puzzle>.film.html)")
    _sizes(p)
    p = verb(
        "xray",
        kernels.xray,
        "show what the compiler makes of a kernel on each GPU of the course",
        "xray puzzles/row_softmax.py",
        "xray puzzles/row_softmax.py --dtype float16 --size BLOCK_N=2048 --num-warps 8",
    )
    _file(p)
    _sizes(p)
    p.add_argument("--dtype", metavar="DTYPE", help="float32, float16 or bfloat16")
    p.add_argument("--num-warps", metavar="N", type=int, help="warps per program: 1, 2, 4, 8, 16 or 32")
    p.add_argument("--num-stages", metavar="N", type=int, help="stages of pipelined loops: 1 to 8")
    p = verb("bench", kernels.bench, "time a kernel on this machine's GPU", "bench puzzles/row_softmax.py")
    _file(p)
    p = verb("hint", folder.hint, "show the next hint of a puzzle", "hint row_softmax", "hint row_softmax --level 1")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name")
    p.add_argument("--level", metavar="LEVEL", help="1 (question), 2 (idea) or 3 (skeleton); default: the next one")
    verb("progress", folder.progress, "show what is solved and what comes next", "progress")
    p = verb("reset", folder.reset, "put a puzzle's empty stub back, after saving your version", "reset row_softmax")
    p.add_argument("puzzle", nargs="?", metavar="PUZZLE", help="the puzzle's name")
    p = verb(
        "doctor", folder.doctor, "show what works on this machine and the commands that mend what does not", "doctor"
    )
    p.add_argument("--json", metavar="FILE", help="also write the findings as JSON to FILE, or - for standard output")
    _grade_parser(verb)
    p = verb(
        "mutants",
        grading.mutants,
        "judge the wrong kernels of the course: the kill table",
        "mutants",
        "mutants --puzzle row_softmax --json -",
        "mutants --puzzle row_softmax --show no_mask",
    )
    _puzzles(p)
    _device(p)
    p.add_argument("--json", metavar="FILE", help="write the table as mutants/v1 to FILE, or - for standard output")
    p.add_argument("--markdown", metavar="FILE", help="write the table as a page")
    p.add_argument("--show", metavar="NAME", help="judge nothing, print this wrong kernel whole")
    p = verb("puzzles", grading.list_puzzles, "list the puzzles", "puzzles", "puzzles --json -")
    p.add_argument("--json", metavar="FILE", help="write the list as puzzles/v1 to FILE, or - for standard output")
    return parser


def _grade_parser(verb: Any) -> None:
    p = verb(
        "grade",
        grading.grade,
        "grade submissions: .py, .ipynb, .zip, or folders of them",
        "grade solutions/",
        "grade submissions/ --puzzle row_softmax --json results.json",
        "grade alice.ipynb --json -",
    )
    p.add_argument(
        "paths", nargs="*", metavar="PATH", help="a file is one submission, and so is each thing in a folder"
    )
    _puzzles(p)
    _device(p)
    p.add_argument("--json", metavar="FILE", help="write the result as result/v1 to FILE, or - for standard output")
    p.add_argument("--jobs", metavar="N", type=int, default=1, help="submissions graded at a time (default 1)")
    p.add_argument(
        "--no-diagnosis", action="store_true", help="do not look for the misconception behind a failure (faster)"
    )


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a .py, .ipynb or .zip, or a puzzle's name for puzzles/NAME.py"
    )
    parser.add_argument("--puzzle", metavar="NAME", help="which puzzle, where the file holds several")


def _sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size", metavar="NAME=NUMBER", action="append", default=[], help="another size, e.g. N=13; may be repeated"
    )


def _puzzles(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--puzzle", metavar="NAME", action="append", default=[], help="only this puzzle; may be repeated"
    )


def _device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device", choices=DEVICES, default="auto", help="auto (default) also uses a GPU where there is one"
    )
