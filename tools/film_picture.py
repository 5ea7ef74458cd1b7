"""Makes the moving picture in the README: the film of a solution, step by step, as Chromium shows it.

python tools/film_picture.py [PUZZLE] [STEPS]      writes docs/film.svg
"""

from __future__ import annotations

import base64
import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.browser import find_browser  # noqa: E402

PICTURE = ROOT / "docs" / "film.svg"
SECONDS = 1.2
"""How long each step is shown."""
COLOURS = 48


def frames(page_file: Path, steps: int, browser_path: str) -> list[Image.Image]:
    """The film after each of its first steps."""
    taken = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900}, color_scheme="light")
        page.goto(page_file.as_uri())
        for moment in range(steps):
            page.locator("input.scrub").fill(str(moment))
            page.evaluate("document.activeElement.blur()")
            taken.append(Image.open(io.BytesIO(page.locator(".tbt-film").screenshot())).convert("RGB"))
        browser.close()
    return taken


def moving(pictures: list[Image.Image]) -> str:
    """One SVG that shows the pictures in turn; the first alone to readers who want nothing to move."""
    width, height = pictures[0].width, max(picture.height for picture in pictures)
    share = 100 / len(pictures)
    shown = []
    for number, picture in enumerate(pictures):
        file = io.BytesIO()
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        data = base64.b64encode(file.getvalue()).decode()
        late = f' class="later" style="animation-delay:{number * SECONDS:.1f}s"' if number else ""
        size = f'width="{picture.width}" height="{picture.height}"'
        shown.append(f'<image{late} {size} href="data:image/png;base64,{data}"/>')
    style = (
        f".later{{opacity:0;animation:show {len(pictures) * SECONDS:.1f}s step-end infinite}}"
        f"@keyframes show{{0%{{opacity:1}}{share:.3f}%{{opacity:0}}}}"
        "@media(prefers-reduced-motion:reduce){.later{animation:none}}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><style>{style}</style>'
    return head + "".join(shown) + "</svg>\n"


def main(puzzle: str = "row_softmax", steps: str = "8") -> int:
    browser = find_browser()
    if browser is None:
        print("There is no Chromium here to take the picture with. Debian: sudo apt install chromium", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        film = Path(folder) / "film.html"
        command = [sys.executable, "-m", "checker", "film", f"solutions/{puzzle}.py", "-o", str(film)]
        subprocess.run(command, cwd=ROOT, check=True)
        PICTURE.write_text(moving(frames(film, int(steps), browser)), "utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
