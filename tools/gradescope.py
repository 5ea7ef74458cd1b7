"""Makes the zip that Gradescope takes as an autograder: `make gradescope PUZZLES="row_softmax chunked_softmax"`.

Gradescope's image is Ubuntu 22.04 with Python 3.10, so `setup.sh` installs Python 3.11 and sets the course up in it, without CUDA.
`run_autograder` grades one submission. The zip holds the grader as git knows it, and no submission and no secret but the one given.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import PUZZLES  # noqa: E402

SHIPPED = (
    "checker",
    "classroom",
    "solutions",
    "tools/setup_venv.py",
    "pyproject.toml",
    "constraints.txt",
    "LICENSE",
    "LICENSE-TEXT",
    "README.md",
)
"""What grading needs: the wrong kernels are written as differences from the solutions."""

SETUP = """#!/usr/bin/env bash
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive TORCH=cpu
apt-get update
apt-get install -y --no-install-recommends python3.11 python3.11-venv python3.11-dev gcc
cd /autograder/source/course
python3.11 tools/setup_venv.py
"""

RUN = """#!/usr/bin/env bash
# AUTOGRADER is where the platform keeps its folders; tests set it.
root=${{AUTOGRADER:-/autograder}}
cd "$root/source/course" || exit 3
export OMP_NUM_THREADS=1
mkdir -p "$root/results"
exec "${{PYTHON:-.venv/bin/python}}" -m classroom one "$root/submission" {puzzles} {secret}\\
  --gradescope "$root/results/results.json"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("puzzles", nargs="+", metavar="PUZZLE", help="the puzzles of the assignment")
    parser.add_argument(
        "--secret", metavar="FILE", help="draw the cases from what is in this file; it goes into the zip"
    )
    parser.add_argument("-o", "--output", default="gradescope.zip", help="the zip to write (default: gradescope.zip)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.puzzles if name not in PUZZLES]
    if unknown:
        parser.error(f"there is no puzzle called {', '.join(unknown)}; there are {', '.join(PUZZLES)}")
    write(Path(options.output), options.puzzles, Path(options.secret).read_bytes() if options.secret else None)
    print(f"{options.output}: upload it as the autograder of a programming assignment")
    return 0


def write(target: Path, puzzles: Sequence[str], secret: bytes | None) -> None:
    """Write the zip. Raises OSError."""
    chosen = " ".join(f"--puzzle {name}" for name in puzzles)
    run = RUN.format(puzzles=chosen, secret="--secret ../secret " if secret is not None else "")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("setup.sh", SETUP), ("run_autograder", run)):
            script = zipfile.ZipInfo(name)
            script.external_attr = 0o755 << 16
            archive.writestr(script, text)
        if secret is not None:
            archive.writestr("secret", secret)
        for name in tracked():
            archive.write(ROOT / name, f"course/{name}")


def tracked() -> list[str]:
    """The files of `SHIPPED` that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *SHIPPED], cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


if __name__ == "__main__":
    sys.exit(main())
