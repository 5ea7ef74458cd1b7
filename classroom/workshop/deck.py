"""Slides from the notebooks: the cells that their sources mark, run with the solutions; reveal.js and MathJax lie beside them.

A deck opens from a folder, from a stick, without a network: it loads nothing from outside. reveal.js and MathJax come from npm, once, with
the hashes in slides/package-lock.json, and are kept in .slides/ of the course.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from classroom.workshop import NotPossibleHere
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
"""What a deck loads, by its place in npm's folder and in the deck's."""


def write(names: Sequence[str], root: Path, to: Path) -> list[Path]:
    """The decks of these notebooks (all, where none is named) of the course at `root`. Returns their pages.

    Raises NotPossibleHere, and nbclient's CellExecutionError where a notebook does not run.
    """
    paths = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    if unknown := [name for name in names if name not in paths]:
        raise NotPossibleHere(f"there is no notebook {unknown[0]}; there are {', '.join(paths)}")
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
    (to / "index.html").write_text(_index(to), "utf-8")
    return pages


def deck(name: str, notebook: NotebookNode, ran: NotebookNode) -> NotebookNode:
    """`notebook` as nbconvert needs it: titles, outputs in the place of code, the empty stub in the place of the solution."""
    title = title_of(notebook.cells[0].source)
    lesson = lesson_of(name, notebook.metadata, title)
    pairs = zip(notebook.cells, ran.cells, strict=True)
    of_notebook = [made for cell, with_outputs in pairs for made in _on_slide(cell, with_outputs, lesson)]
    cells = [_text(f"# {title}", "slide", "title"), *of_notebook]
    if lesson:
        cells.insert(1, _text(lesson.question, "fragment"))
        cells.append(_text(f"## To keep\n\n{lesson.keep}", "slide", "keep"))
    shown = [cell for cell in cells if cell.metadata.slideshow.slide_type != "skip"]
    return nbformat.v4.new_notebook(cells=shown, metadata={"title": title})


def _text(text: str, place: str, look: str = "") -> NotebookNode:
    return nbformat.v4.new_markdown_cell(text, metadata={"slideshow": {"slide_type": place}, "look": look})


def _on_slide(cell: NotebookNode, ran: NotebookNode, lesson: Lesson | None) -> Iterator[NotebookNode]:
    """A cell as a projector shows it. `ran` is the same cell with its outputs; only the stub of a kernel is shown as code."""
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
    """Without widgets, which need a kernel; what was printed as one block, without empty lines and what nobody in a room predicted."""
    outputs: list[NotebookNode] = []
    for output in ran.outputs:
        if output.output_type == "stream" and outputs and outputs[-1].output_type == "stream":
            outputs[-1].text += output.text
        elif WIDGET not in output.get("data", {}):
            outputs.append(nbformat.from_dict(output))
    for output in outputs:
        if output.output_type == "stream":
            lines = [line.split(" You had not written a prediction")[0] for line in output.text.splitlines()]
            output.text = "\n".join(line for line in lines if line.strip())
    return outputs


def html(notebook: NotebookNode) -> str:
    """The page of a deck. Raises NotPossibleHere where nbconvert is missing."""
    try:
        from nbconvert.exporters import SlidesExporter
    except ImportError as missing:
        raise NotPossibleHere("nbconvert is not installed; `pip install nbconvert` installs it") from missing
    exporter = SlidesExporter(template_name=HERE.name, extra_template_basedirs=[str(HERE.parent)])
    page, _ = exporter.from_notebook_node(notebook)
    return str(page)


def _ship(kept: Path, to: Path) -> None:
    """Put reveal.js, MathJax and our own two files into the folder of the decks."""
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
        raise NotPossibleHere("npm is needed once, to fetch reveal.js and MathJax. Debian: sudo apt install npm")
    kept.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, kept / name)
    print("Fetching reveal.js and MathJax.", flush=True)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(kept)]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ran.returncode:
        (kept / "package-lock.json").unlink()
        raise NotPossibleHere(
            f"npm could not fetch reveal.js and MathJax; it needs the network once. It said:\n{ran.stderr.strip()}"
        )


def _index(folder: Path) -> str:
    decks = [path for path in sorted(folder.glob("*.html")) if path.name != "index.html"]
    rows = "".join(f'<li><a href="{path.name}">{escape(_title(path))}</a></li>' for path in decks)
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Slides</title><link rel="stylesheet" href="deck.css">'
    keys = "<p>Arrow keys or space go on, F fills the screen, S opens your notes in a second window, O shows all slides.</p>"
    return f'{head}<body class="list"><h1>Slides</h1>{keys}<ul>{rows}</ul></body></html>\n'


def _title(deck_page: Path) -> str:
    return deck_page.read_text("utf-8").split("<title>")[1].split(": slides</title>")[0]
