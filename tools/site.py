"""Builds the site: every notebook run with the solutions filled in, every film playing, the wrong kernels. Nothing loads from outside.

    python tools/site.py [NOTEBOOK …]      writes .site/html; with names, of those notebooks only
    python tools/pyodide.py                before it, once: fetches Python for the browser, without which the site has no live cells

Sphinx makes the pages (MyST-NB reads the notebooks, the theme is Furo; docs/site/conf.py). The course does not need it, so it is kept in
.site/venv and fetched on the first run. Notebooks that have run are kept in .site/executed until they or `checker/` change.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from markupsafe import Markup
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.course import LADDER, PUZZLES  # noqa: E402
from checker.puzzle import Puzzle  # noqa: E402
from classroom.workshop.executed import executed, fill_in  # noqa: E402
from tools import sync  # noqa: E402

FOLDER = ROOT / ".site"
HTML = FOLDER / "html"
KEPT = FOLDER / "executed"
CONFIG = ROOT / "docs" / "site"
PAGES = (
    "docs/mutants.md",
    "tools/mutants/README.md",
    "docs/language.md",
    "docs/lens.md",
    "docs/shipped.md",
    "docs/engines.md",
    "checker/misconceptions/*.md",
)
"""What is shown besides the notebooks. Pages keep their places in the repository, so the links between them hold."""
LINKED = ("puzzles/*.py", "solutions/*.py", "docs/shipped/*.py")
"""Files that pages link to; a click downloads them."""
FRONT = LADDER[3].name
"""The puzzle whose film plays on the front page: the first that keeps a state."""
LIVE = tuple(puzzle.name for puzzle in LADDER[:2])
"""The puzzles that readers can solve in the page itself, which `checker.live` serves: the first two."""
PYODIDE = FOLDER / "pyodide"
WIDGET = "application/vnd.jupyter.widget-view+json"
FIGURE = re.compile(r"data:image/svg\+xml;base64,([\w+/=]+)")
STAGE = re.compile(r'<svg class="stage".*?</svg>', re.DOTALL)

NOT_FETCHED = """
The generator of the site could not be installed; what pip said stands above. It needs the network once (or a proxy: export
https_proxy=http://...). Then run `make site` again: notebooks that have run are kept."""


class SiteError(Exception):
    """The site cannot be built; the message says why."""


# ---- notebooks ---------------------------------------------------------------------------------------------------------


def solved(root: Path = ROOT) -> dict[str, NotebookNode]:
    """Every notebook by name, as `make sync` makes it, with the course's solution in each cell that a learner would fill."""
    found = {}
    for path, text in sync.made(root).items():
        if path.endswith(".ipynb"):
            notebook = found[Path(path).stem] = nbformat.reads(text, as_version=4)
            fill_in(notebook, root / "solutions")
    return found


def still(notebook: NotebookNode) -> NotebookNode:
    """The notebook as a page: set-up folded, links of cards to pages, no widgets (they need a kernel, and scripts from elsewhere)."""
    for cell in notebook.cells:
        if cell.id == "first_cell":
            cell.metadata["tags"] = ["hide-input"]
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if WIDGET not in output.get("data", {})]
            for output in cell.outputs:
                if html := output.get("data", {}).get("text/html"):
                    output.data["text/html"] = re.sub(r'href="(\w+)\.ipynb"', r'href="\1.html"', html)
    notebook.metadata.pop("widgets", None)
    return notebook


def with_figures_in(folder: Path, notebook: NotebookNode) -> NotebookNode:
    """The notebook with its embedded figures written to `folder`/figures: MyST shows no SVG from a data address."""

    def written(match: re.Match[str]) -> str:
        svg = base64.b64decode(match.group(1))
        path = folder / "figures" / f"{hashlib.sha256(svg).hexdigest()[:12]}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(svg)
        return f"figures/{path.name}"

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = FIGURE.sub(written, cell.source)
    return notebook


# ---- the front page ----------------------------------------------------------------------------------------------------


def film_of(puzzle: Puzzle, notebook: NotebookNode) -> str:
    """The film below the cell ``film(kernel)``. Raises SiteError where the notebook shows none."""
    for cell in notebook.cells:
        if cell.source.strip() == f"film({puzzle.kernel})":
            for output in cell.outputs:
                html = output.get("data", {}).get("text/html", "")
                if STAGE.search(html):
                    return str(html)
    raise SiteError(f"{puzzle.notebook} shows no film of {puzzle.name}")


def thumbnail(puzzle: Puzzle, film: str) -> Markup:
    """The first frame of a film, which leads to its notebook."""
    stage = STAGE.search(film)
    assert stage is not None, "film_of returns films only"
    link = Markup('<a href="notebooks/{}.html"><span class="tbt-film">{}</span><span>{}</span></a>')
    return link.format(puzzle.notebook, Markup(stage.group()), puzzle.title)  # noqa: S704 (made by `film_html`)


def front_page(films: dict[str, str]) -> str:
    """docs/site/index.md with a film, the thumbnails and the list of wrong kernels put in. `films`: HTML by puzzle, in the order of the course."""
    shown = FRONT if FRONT in films else next(iter(films))
    thumbnails = Markup("\n").join(thumbnail(PUZZLES[name], film) for name, film in films.items())
    wrong = "\n".join(f"{puzzle.title} <checker/misconceptions/{puzzle.name}>" for puzzle in LADDER)
    text = (CONFIG / "index.md").read_text("utf-8").replace("{{wrong kernels}}", wrong)
    return text.replace("{{film}}", _one_block(films[shown])).replace("{{thumbnails}}", _one_block(thumbnails))


def _one_block(html: str) -> str:
    """HTML without empty lines: in Markdown an empty line ends a block of HTML."""
    return re.sub(r"\n\s*\n", "\n", html)


# ---- live cells --------------------------------------------------------------------------------------------------------

CELL = Markup("""<section class="live" data-puzzle="{name}">
<h2>{title}</h2>
<textarea spellcheck="false" autocapitalize="off" aria-label="The kernel of {title}">{text}</textarea>
<div class="bar"><button class="check">Check</button> <button class="reset">Start over</button> <span role="status"></span></div>
<div class="card"></div>
<div class="film"><p>A film of the course's solution, until you check yours:</p>{film}</div>
</section>""")
STILL = Markup("""<section>
<h2>{title}</h2>
<p>This copy of the site was built without Python for the browser (tools/pyodide.py), so it only plays the film.</p>
{film}
</section>""")


def live_page(films: dict[str, str], live: bool) -> str:
    """docs/site/live.md with a cell for each of `LIVE`; without `live`, with its film alone. `films`: HTML by puzzle."""
    cells = []
    for name in LIVE:
        stub = (ROOT / "puzzles" / f"{name}.py").read_text("utf-8")
        text = Markup("&#10;").join(stub.rstrip().split("\n"))  # no empty line, which would end the block of HTML
        film = Markup(films[name])  # noqa: S704 (made by `film_html`)
        cells.append((CELL if live else STILL).format(name=name, title=PUZZLES[name].title, text=text, film=film))
    return (CONFIG / "live.md").read_text("utf-8").replace("{{cells}}", _one_block(Markup("\n").join(cells)))


def write_live_files(folder: Path, pyodide: Path) -> None:
    """What the worker of a live cell loads: Pyodide's core and packages, the checker with its solutions, bytecode, and a list of all that.

    `folder` is beside live_start.py. Raises SiteError if the solutions do not pass there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    packages = []
    for path in sorted(pyodide.iterdir()):
        shutil.copyfile(path, folder / path.name)
        packages += [path.name] if path.suffix == ".whl" else []
    with zipfile.ZipFile(folder / "course.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted([*(ROOT / "checker").rglob("*"), *(ROOT / "solutions").glob("*.py")]):
            others = path.parent.name == "misconceptions" and path.suffix == ".md" and path.stem not in LIVE
            if path.is_file() and path.parent.name != "__pycache__" and not others:
                archive.write(path, path.relative_to(ROOT))
    (folder / "files.json").write_text(json.dumps({"packages": packages}), "utf-8")
    command = ["node", str(ROOT / "tools" / "compile_live.mjs"), str(folder), *LIVE]
    if shutil.which("node") is None:
        raise SiteError(
            "Node.js is not installed. Live cells need it: it compiles what they load. Install it, or remove .site/pyodide."
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SiteError(f"The live cells do not work:\n{(done.stdout + done.stderr)[-3000:]}")


# ---- nothing from outside ----------------------------------------------------------------------------------------------

LOADS = dict.fromkeys(("script", "img", "iframe", "embed", "source", "audio", "video"), "src")
LOADS |= {"object": "data", "image": "href", "use": "href", "link": "href"}
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "manifest"}
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects what a page loads from another host, and the pages beside it that it leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name.removeprefix("xlink:"): value or "" for name, value in attrs}
        if tag == "a" and not re.match(r"\w+:|//|#|$", address := named.get("href", "")):
            self.links.add(re.sub(r"[?#].*", "", address))
        if tag == "link" and not FETCHED & set(named.get("rel", "").lower().split()):
            return
        address = named.get(LOADS.get(tag, ""), "")
        self.loaded += [address] if re.match(r"(https?:)?//", address, re.IGNORECASE) else []


def read_page(text: str) -> _Page:
    """A page (or a style sheet): what it loads by itself from other hosts, and where its links lead on this one."""
    page = _Page()
    page.feed(text)
    page.loaded += IN_STYLES.findall(text)
    return page


def flaws(folder: Path) -> Iterator[str]:
    """What is wrong with a built site, a sentence each: loads from outside, links that lead nowhere, paths of this machine."""
    for path in sorted([*folder.rglob("*.html"), *folder.rglob("*.css")]):
        text, name = path.read_text("utf-8"), path.relative_to(folder)
        page = read_page(text)
        yield from (f"{name} loads {address}" for address in page.loaded)
        yield from (f"{name} leads to {link}" for link in sorted(page.links) if not (path.parent / link).exists())
        if place := next((place for place in (str(ROOT), tempfile.gettempdir()) if f"{place}/" in text), ""):
            yield f"{name} names {place}"


# ---- the site ----------------------------------------------------------------------------------------------------------


def generator() -> Path:
    """The Python of .site/venv, in which Sphinx is installed, now if it was not. Raises SiteError."""
    python, stamp = FOLDER / "venv" / "bin" / "python", FOLDER / "venv" / "installed"
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]["site"]
    if not stamp.exists() or stamp.read_text("utf-8") != "\n".join(wanted):
        print("Installing Sphinx in .site/venv, about 250 MB, once.", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER / "venv")], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *wanted]
        if subprocess.run(pip, check=False).returncode:
            raise SiteError(NOT_FETCHED)
        stamp.write_text("\n".join(wanted), "utf-8")
    return python


def write_sources(folder: Path, notebooks: dict[str, NotebookNode]) -> None:
    """All that Sphinx reads: executed notebooks, pages, the files that they link to, the front page. Raises SiteError."""
    shutil.rmtree(folder, ignore_errors=True)
    for path in (path for pattern in (*PAGES, *LINKED) for path in ROOT.glob(pattern)):
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (folder / "notebooks").mkdir()
    for name, notebook in notebooks.items():
        nbformat.write(with_figures_in(folder / "notebooks", still(notebook)), folder / "notebooks" / f"{name}.ipynb")
    films = {
        puzzle.name: film_of(puzzle, notebooks[puzzle.notebook]) for puzzle in LADDER if puzzle.notebook in notebooks
    }
    (folder / "index.md").write_text(front_page(films), "utf-8")
    if set(films).issuperset(LIVE):
        (folder / "live.md").write_text(live_page(films, PYODIDE.is_dir()), "utf-8")


def build(names: Sequence[str]) -> None:
    """Build .site/html, with the notebooks of these `names`, or with all. Raises SiteError."""
    notebooks = solved()
    if unknown := set(names) - set(notebooks):
        raise SiteError(f"There is no notebook {', '.join(sorted(unknown))}. There are {', '.join(notebooks)}.")
    python = generator()
    write_sources(FOLDER / "source", {name: executed(name, notebooks[name], ROOT, KEPT) for name in names or notebooks})
    shutil.rmtree(HTML, ignore_errors=True)
    options = ["--quiet", "-c", str(CONFIG), "-d", str(FOLDER / "doctrees")]
    options += [] if names else ["--fail-on-warning"]  # some links of a part lead out of it
    command = [str(python), "-m", "sphinx", *options, str(FOLDER / "source"), str(HTML)]
    if subprocess.run(command, check=False).returncode:
        raise SiteError("Sphinx did not build the site; what it said stands above.")
    if PYODIDE.is_dir():
        write_live_files(HTML / "_static" / "live", PYODIDE)
    if found := list(flaws(HTML)):
        raise SiteError("The site is not as it should be:\n  " + "\n  ".join(found))


def main(names: Sequence[str]) -> int:
    try:
        build(names)
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The site is built: open {(HTML / 'index.html').relative_to(ROOT)} in a browser.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
