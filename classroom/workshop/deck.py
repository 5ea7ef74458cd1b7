"""Slides from the notebooks: the cells that their sources mark, run with the solutions.

A deck opens from a folder or a USB stick without a network. It needs reveal.js and MathJax beside it, which come from npm once, checked
against slides/package-lock.json, and stay in the course's .slides/.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader
from nbformat import NotebookNode

from checker.api.command_line import UnavailableHere
from classroom.workshop.agenda import Lesson, lesson_of, title_of
from classroom.workshop.executed import executed, fill_in

HERE = Path(__file__).resolve().parent / "slides"
WIDGET = "application/vnd.jupyter.widget-view+json"
SHIPPED = {
    "reveal.js/dist/reveal.css": "reveal/reveal.css",
    "reveal.js/dist/reveal.js": "reveal/reveal.js",
    "reveal.js/plugin/notes/notes.js": "reveal/notes.js",
    "reveal.js/LICENSE": "reveal/LICENSE",
    "mathjax/es5/tex-svg-full.js": "mathjax/tex-svg-full.js",
    "mathjax/LICENSE": "mathjax/LICENSE",
}
"""The files that a deck loads: their places in npm's folder and beside the deck."""


def write(names: Sequence[str], root: Path, to: Path) -> list[Path]:
    """Write the decks of the named notebooks, or of all, of the course at `root`; returns their pages.

    Raises UnavailableHere, and nbclient's CellExecutionError if a notebook fails.
    """
    paths = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    if unknown := [name for name in names if name not in paths]:
        raise UnavailableHere(f"there is no notebook {unknown[0]}; there are {', '.join(paths)}")
    _ship(root / ".slides", to)
    pages = []
    for name in names or paths:
        notebook = nbformat.read(paths[name], as_version=4)
        ran = nbformat.from_dict(notebook)
        fill_in(ran, root / "solutions")
        ran = executed(name, ran, root, root / ".site" / "executed")
        page = to / f"{name}.html"
        page.write_text(html(deck(name, notebook, ran)), "utf-8")
        pages.append(page)
    decks = {path.name: _title(path) for path in sorted(to.glob("*.html")) if path.name != "index.html"}
    templates = Environment(loader=FileSystemLoader(HERE), autoescape=True)
    (to / "index.html").write_text(templates.get_template("list.html.j2").render(decks=decks), "utf-8")
    return pages


def deck(name: str, notebook: NotebookNode, ran: NotebookNode) -> NotebookNode:
    """`notebook` as nbconvert needs it: with titles, outputs instead of code, and the empty stub instead of the solution."""
    title = title_of(notebook.cells[0].source)
    lesson = lesson_of(name, notebook.metadata, title)
    pairs = zip(notebook.cells, ran.cells, strict=True)
    body = [made for cell, with_outputs in pairs for made in _on_slide(cell, with_outputs, lesson)]
    cells = [_text(f"# {title}", "slide", "title"), *body]
    if lesson:
        cells.insert(1, _text(lesson.question, "fragment"))
        cells.append(_text(f"## To keep\n\n{lesson.keep}", "slide", "keep"))
    shown = [cell for cell in cells if cell.metadata.slideshow.slide_type != "skip"]
    return nbformat.v4.new_notebook(cells=shown, metadata={"title": title})


def _text(text: str, place: str, look: str = "") -> NotebookNode:
    return nbformat.v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": place}, "look": look})


def _on_slide(cell: NotebookNode, ran: NotebookNode, lesson: Lesson | None) -> Iterator[NotebookNode]:
    """A cell as the projector shows it: as code only if it is a kernel's stub. `ran` is the same cell with its outputs."""
    place = cell.metadata.get("slideshow", {}).get("slide_type", "skip")
    if cell.cell_type != "code":
        yield _text(cell.source, place)
        return
    puzzle = cell.id.removeprefix("stub-")
    if lesson and puzzle in lesson.exercise and place != "skip":
        yield _text(f"**Your turn: `{puzzle}`, {lesson.exercise[puzzle]} minutes.**", place)
        place = "-"
    source = cell.source if cell.id.startswith("stub-") else ""
    yield nbformat.v4.new_code_cell(source, outputs=_outputs(ran), metadata={"slideshow": {"slide_type": place}})


def _outputs(ran: NotebookNode) -> list[NotebookNode]:
    """The outputs without widgets, which need a kernel, and with all printed lines in one block.

    Drops empty lines and the remark that nobody entered a prediction.
    """
    outputs: list[NotebookNode] = []
    for output in ran.outputs:
        if output.output_type == "stream" and outputs and outputs[-1].output_type == "stream":
            outputs[-1].text += output.text
        elif WIDGET not in output.get("data", {}):
            outputs.append(nbformat.from_dict(output))
    for output in outputs:
        if output.output_type == "stream":
            lines = [line.split(" No prediction entered")[0] for line in output.text.splitlines()]
            output.text = "\n".join(line for line in lines if line.strip())
    return outputs


def html(notebook: NotebookNode) -> str:
    """The page of a deck. Raises UnavailableHere without nbconvert."""
    try:
        from nbconvert.exporters import SlidesExporter
    except ImportError as missing:
        raise UnavailableHere("nbconvert is not installed; `pip install nbconvert` installs it") from missing
    exporter = SlidesExporter(template_name=HERE.name, extra_template_basedirs=[str(HERE.parent)])
    page, _ = exporter.from_notebook_node(notebook)
    return str(page)


def _ship(kept: Path, to: Path) -> None:
    """Copy reveal.js, MathJax and our own two files to the decks."""
    modules, lock, wanted = kept / "node_modules", kept / "package-lock.json", HERE / "package-lock.json"
    if not (modules.is_dir() and lock.is_file() and lock.read_bytes() == wanted.read_bytes()):
        _fetch(kept)
    for source, target in SHIPPED.items():
        (to / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / source, to / target)
    for name in ("deck.css", "deck.js"):
        shutil.copyfile(HERE / name, to / name)


def _fetch(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableHere("fetching reveal.js and MathJax, once, needs npm. Debian: sudo apt install npm")
    kept.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, kept / name)
    print("Fetching reveal.js and MathJax.", flush=True)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(kept)]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode:
        (kept / "package-lock.json").unlink()
        raise UnavailableHere(
            f"npm could not fetch reveal.js and MathJax, for which it needs the network once:\n{ran.stderr.strip()}"
        )


def _title(deck_page: Path) -> str:
    return deck_page.read_text("utf-8").split("<title>")[1].split(": slides</title>")[0]
