"""Takes the picture in the README: the film of a solution, at a moment worth seeing, as Chromium shows it.

python tools/film_picture.py [PUZZLE] [MOMENT]      writes docs/film.png
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.browser import find_browser  # noqa: E402

PICTURE = ROOT / "docs" / "film.png"


def photograph(page_file: Path, moment: int, browser_path: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.locator("input.scrub").fill(str(moment))
        page.evaluate("document.activeElement.blur()")
        page.locator(".tbt-film").screenshot(path=PICTURE)
        browser.close()


def main(puzzle: str = "row_softmax", moment: str = "5") -> int:
    browser = find_browser()
    if browser is None:
        print("There is no Chromium here to take the picture with. Debian: sudo apt install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.html"
        command = [sys.executable, "-m", "checker", "film", f"solutions/{puzzle}.py", "-o", str(film)]
        subprocess.run(command, cwd=ROOT, check=True)
        photograph(film, int(moment), browser)
    print(f"wrote {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
