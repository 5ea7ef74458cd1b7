"""Makes `puzzles/` from `solutions/`, and `notebooks/` from `notebooks/src/`; with ``--check`` only says what is stale.

A puzzle is its solution without the learner's region. A notebook's source is Markdown that jupytext reads; in it

    {{stub row_softmax}}        becomes the puzzle's file: the cell a learner works in. So does the name of a launcher
    {{assumptions row_softmax}} becomes what a kernel for the puzzle may assume, a list
    {{first_cell}}              becomes `notebooks/src/first_cell.py`, with the address that Colab clones the course from
    ![words](figures/x.svg)     becomes the figure itself, so that a notebook is whole wherever it is opened
    <!-- slide -->              and fragment, notes, skip: where on the slides the following lines go, up to the next such line

A source begins with what a workshop needs to know of it, between two lines of `---` (`classroom/workshop/agenda.py`). It becomes metadata
of the notebook, and `docs/workshop/run-sheets.md` is made from it.

The address is committed in `notebooks/src/repository.txt`, so that everybody makes the same notebooks. ``--repository`` sets it.
Without an address the first cell says, in Colab, what to set.

What is made is written down in `tools/generated.json`. A file that differs from what was last made holds somebody's work:
it is never overwritten. With ``--force`` it is, after a copy was kept in `.tile-by-tile/saved/`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from checker.course.launchers import JUDGED
from checker.submission.marked_region import stub, without_docstring
from checker.workspace import keep_copy
from classroom.workshop import agenda, run_sheets

ROOT = Path(__file__).resolve().parent.parent
RECORD = "tools/generated.json"
REPOSITORY = "notebooks/src/repository.txt"
CLONABLE = re.compile(r"https://[\w.-]+(:\d+)?/[\w./~-]+[\w-]")
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
DIRECTIVE = re.compile(r"^\{\{(\w+)(?: (\w+))?\}\}$", re.MULTILINE)
FIGURE = re.compile(r"\]\((figures/[\w-]+\.svg)\)")
RUN_SHEETS = "docs/workshop/run-sheets.md"
MARKER = re.compile(r"^<!-- (slide|fragment|notes|skip) -->\n*", re.MULTILINE)


class SourceError(Exception):
    """A source that nothing can be made from; the message names the file and what to change."""


def address(root: Path) -> str:
    """Where the course can be cloned from, as committed; "" where nobody has said so yet."""
    path = root / REPOSITORY
    return path.read_text("utf-8").strip() if path.exists() else ""


def settle_address(root: Path, wanted: str) -> None:
    """Commit to the address `wanted`, if there is one. Raises SourceError."""
    if wanted and not CLONABLE.fullmatch(wanted):
        raise SourceError(
            f"{wanted} is no address to clone from: it has to begin with https:// and hold no name or password"
        )
    chosen = wanted.removesuffix(".git")
    if chosen not in ("", address(root)):
        (root / REPOSITORY).write_text(chosen + "\n", "utf-8")
        print(f"notebooks opened in Colab clone {chosen} ({REPOSITORY})")


def made(root: Path) -> dict[str, str]:
    """Every generated file, by path relative to `root`. Raises SourceError."""
    solutions = sorted((root / "solutions").glob("*.py"))
    if not solutions:
        raise SourceError(f"{root / 'solutions'} holds no solutions: there is nothing to make puzzles from")
    files = {}
    for path in solutions:
        try:
            files[f"puzzles/{path.name}"] = stub(path.read_text("utf-8"))
        except ValueError as error:
            raise SourceError(f"solutions/{path.name}: {error}") from error
    # a launcher needs kernels beside it, so its stub is only in the notebook, below theirs
    launchers = {
        f"puzzles/{p.name}": stub(p.read_text("utf-8")) for p in (root / "solutions" / "launchers").glob("*.py")
    }
    lessons = []
    for path in sorted((root / "notebooks" / "src").glob("*.md")):
        built = notebook(path, root, {**files, **launchers})
        files[f"notebooks/{path.stem}.ipynb"] = nbformat.writes(built) + "\n"
        lessons.append(agenda.lesson_of(path.stem, built.metadata, agenda.title_of(built.cells[0].source)))
    if known := [lesson for lesson in lessons if lesson]:
        files[RUN_SHEETS] = run_sheets.page(known)
    return files


def notebook(source: Path, root: Path, puzzles: Mapping[str, str]) -> NotebookNode:
    """The notebook of one source: no outputs, the same bytes every time, ids that follow the text of a cell."""
    read = jupytext.reads(source.read_text("utf-8"), fmt="md")
    cells: list[NotebookNode] = []
    seen: dict[str, int] = {}
    metadata: dict[str, Any] = {"kernelspec": dict(KERNELSPEC), "language_info": {"name": "python"}}
    if read.cells[0].cell_type == "raw":
        metadata[agenda.WORKSHOP] = _front_matter(source.name, read.cells.pop(0).source)
    for cell in _placed(read.cells):
        named = DIRECTIVE.findall(cell.source)
        text = FIGURE.sub(lambda m: f"]({_embedded(source, m.group(1))})", cell.source)
        text = DIRECTIVE.sub(lambda m: _insertion(m.group(1), m.group(2), source, root, puzzles), text)
        name = "-".join(filter(None, named[0])) if named else hashlib.sha256(text.encode()).hexdigest()[:10]
        seen[name] = seen.get(name, 0) + 1
        identity = name if seen[name] == 1 else f"{name}-{seen[name]}"
        make = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        cells.append(make(text, id=identity, metadata=cell.metadata))
    result = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(result)
    return result


def _front_matter(source: str, text: str) -> dict[str, Any]:
    """What the lines between `---` say. Raises SourceError where that is no front matter."""
    try:
        facts = yaml.safe_load(text.strip().strip("-"))
        agenda.lesson_of(source, {agenda.WORKSHOP: facts}, source)
    except (yaml.YAMLError, TypeError) as error:
        raise SourceError(f"{source}: the lines before its title say {error}") from error
    return facts


def _placed(cells: Sequence[NotebookNode]) -> Iterator[NotebookNode]:
    """The cells, divided where a marker says what belongs on a slide, each with its place in nbconvert's words."""
    marked = any(cell.cell_type == "markdown" and MARKER.search(cell.source) for cell in cells)
    place = "skip"
    for cell in cells:
        parts = MARKER.split(cell.source) if cell.cell_type == "markdown" else [cell.source]
        for marker, text in zip(["", *parts[1::2]], parts[::2], strict=True):
            place = marker or place
            if text.strip():
                shown = {"slideshow": {"slide_type": place}} if marked else {}
                yield NotebookNode(cell_type=cell.cell_type, source=text.strip("\n"), metadata=shown)
                place = "-" if place in ("slide", "fragment") else place


def _insertion(directive: str, argument: str | None, source: Path, root: Path, puzzles: Mapping[str, str]) -> str:
    if directive == "first_cell":
        return (source.parent / "first_cell.py").read_text("utf-8").replace("{{address}}", address(root)).rstrip("\n")
    if directive == "stub":
        text = puzzles.get(f"puzzles/{argument}.py")
        if text is None:
            raise SourceError(f"{source.name}: {{{{stub {argument}}}}} names no file in solutions/")
        return without_docstring(text).strip("\n")
    if directive == "assumptions":
        if argument not in JUDGED:
            raise SourceError(f"{source.name}: {{{{assumptions {argument}}}}} names no puzzle")
        return "\n".join(f"- **{topic}:**{words}" for topic, words in map(_topic, JUDGED[argument].assumptions))
    raise SourceError(
        f"{source.name}: there is no directive {{{{{directive}}}}}; sync knows stub, assumptions and first_cell"
    )


def _topic(line: str) -> list[str]:
    return line.split(":", 1)


def _embedded(source: Path, figure: str) -> str:
    path = source.parent / figure
    if not path.is_file():
        raise SourceError(f"{source.name}: there is no figure {figure}")
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()


def fingerprint(path: str, text: str) -> str:
    """What makes two files the same work: a notebook's outputs, ids and metadata are not part of it."""
    if path.endswith(".ipynb"):
        try:
            cells = json.loads(text)["cells"]
            text = json.dumps([[cell["cell_type"], "".join(cell["source"])] for cell in cells])
        except (ValueError, KeyError, TypeError):
            pass  # not a notebook any more: its bytes are what it is
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class State:
    """One generated file beside what it should be; each is a fingerprint, or None where the file is missing."""

    path: str
    here: str | None
    recorded: str | None
    wanted: str

    @property
    def stale(self) -> bool:
        """The sources moved on and sync was not run."""
        return self.recorded != self.wanted

    @property
    def edited(self) -> bool:
        """Somebody worked in it since it was made."""
        return self.here is not None and self.here not in (self.recorded, self.wanted)


def read_record(root: Path) -> dict[str, str]:
    path = root / RECORD
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def states(root: Path, files: Mapping[str, str]) -> Iterator[State]:
    record = read_record(root)
    for path, text in files.items():
        file = root / path
        here = fingerprint(path, file.read_text("utf-8")) if file.exists() else None
        yield State(path, here, record.get(path), fingerprint(path, text))


def check(root: Path) -> list[str]:
    """What `make sync` would change or refuse, a sentence each; empty where everything is as it should be."""
    files = made(root)
    problems = []
    for state in states(root, files):
        if state.here is None:
            problems.append(f"{state.path} is missing")
        elif state.edited:
            problems.append(f"{state.path} was edited by hand; such a change belongs in its source")
        elif state.stale or state.here != state.wanted:
            problems.append(f"{state.path} is older than its source")
        elif (root / state.path).read_text("utf-8") != files[state.path]:
            problems.append(f"{state.path} holds outputs or metadata; run make sync")
    return problems + [f"{path} is made from nothing any more" for path in left_over(root, files)]


def left_over(root: Path, files: Mapping[str, str]) -> list[str]:
    present = [*(root / "puzzles").glob("*.py"), *(root / "notebooks").glob("*.ipynb")]
    return sorted({str(path.relative_to(root)) for path in present} - set(files))


def write(root: Path, force: bool) -> list[str]:
    """Bring every generated file up to date; returns the files that were left alone because they were edited."""
    files, record, refused = made(root), read_record(root), []
    for state in list(states(root, files)):
        path = root / state.path
        if state.edited and not force:
            refused.append(state.path)
            continue
        if state.edited:
            copy = keep_copy(root / ".tile-by-tile" / "saved", path.stem, path.read_bytes(), path.suffix)
            print(f"kept a copy: {copy.relative_to(root)}")
        if not path.exists() or path.read_text("utf-8") != files[state.path]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[state.path], "utf-8")
            print(f"made {state.path}")
        record[state.path] = state.wanted
    record = {path: record[path] for path in sorted(record) if path in files}
    if record != read_record(root):
        (root / RECORD).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        print(f"made {RECORD}")
    return refused


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where something is stale")
    parser.add_argument("--force", action="store_true", help="overwrite edited files too, after keeping a copy")
    parser.add_argument("--repository", default="", metavar="URL", help="the https address that Colab clones from")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        if options.check:
            problems = check(options.root)
            for problem in problems:
                print(problem, file=sys.stderr)
            if problems:
                print("`make sync` makes puzzles/, notebooks/ and the run sheets from their sources.", file=sys.stderr)
            return 1 if problems else 0
        settle_address(options.root, options.repository)
        refused = write(options.root, options.force)
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    for path in refused:
        print(f"left alone: {path} was edited since it was made, and sync never overwrites work.", file=sys.stderr)
    if refused:
        print(
            "If the change was meant for the course, make it in solutions/ or notebooks/src/. To have these files made anew, "
            "run tools/sync.py --force: it keeps a copy of each in .tile-by-tile/saved/ first.",
            file=sys.stderr,
        )
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
