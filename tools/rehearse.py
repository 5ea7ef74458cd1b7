"""Opens what an instructor has open: the slides of a run sheet, the first notebook, and a board with a class that plays itself.

    python tools/rehearse.py [--minutes 180] [options of `python -m checker class rehearse`]

Ctrl-C ends all of it. The class is made up and nothing of it is kept; slides stay in .slides/html.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from classroom.workshop import WorkshopError, deck  # noqa: E402
from classroom.workshop.agenda import agenda, lessons  # noqa: E402

SLIDES = ROOT / ".slides" / "html"


def prepare(minutes: int) -> Path:
    """Make the run sheet for the board, and the slides of its notebooks where they are missing. Returns the run sheet's file."""
    plan = agenda(lessons(ROOT / "notebooks"), minutes)
    names = [lesson.notebook for lesson in plan.lessons]
    if not all((SLIDES / f"{name}.html").is_file() for name in names):
        print("Making the slides. The first time, every notebook is run: some minutes.", flush=True)
        deck.write(names, ROOT, SLIDES)
    file = ROOT / ".slides" / "agenda.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(plan.as_json()), "utf-8")
    return file


def lab() -> list[str]:
    root = ["--allow-root"] if os.geteuid() == 0 else []
    first = sorted((ROOT / "notebooks").glob("*.ipynb"))[0].relative_to(ROOT)
    return [sys.executable, "-m", "jupyterlab", *root, f"--notebook-dir={ROOT}", str(first)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=int, default=180, help="the run sheet (default 180)")
    parser.add_argument("--no-lab", action="store_true", help="do not start JupyterLab")
    options, rest = parser.parse_known_args()
    try:
        sheet = prepare(options.minutes)
    except WorkshopError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Slides: {SLIDES / 'index.html'}", flush=True)
    webbrowser.open((SLIDES / "index.html").as_uri())
    opened = None if options.no_lab else subprocess.Popen(lab(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    board = [sys.executable, "-m", "classroom", "rehearse", "--browser", "--agenda", str(sheet), *rest]
    try:
        return subprocess.run(board, cwd=ROOT, check=False).returncode
    except KeyboardInterrupt:
        return 0
    finally:
        if opened is not None:
            opened.terminate()
            opened.wait(20)


if __name__ == "__main__":
    raise SystemExit(main())
