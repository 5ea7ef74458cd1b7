"""Gives a notebook another place in the course, and changes every file name, link and mention of the notebooks that move with it.

    python tools/renumber.py 16_windows_and_sinks 8      it becomes 08_windows_and_sinks, and 08 to 15 become 09 to 16

Ranges in prose ("00 to 04") are printed for you to read, because only you know whether the new notebook belongs to them.
Afterwards run `make sync`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = {".j2", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yml", ""}
LEFT_ALONE = (
    "docs/workshop/run-sheets.md",
    "CONTRIBUTING.md",
    "tools/renumber.py",
    "tests/test_renumber.py",
    "tests/example_puzzle/",
    "tests/test_contributing.py",
)
RANGE = re.compile(r"\b\d\d to \d\d\b")
FILES = (("notebooks/src", ".md"), ("notebooks", ".ipynb"))


def places(names: list[str], name: str, place: int) -> dict[str, str]:
    """The new name of each notebook whose name changes, after `name` has moved to `place`.

    >>> places(["00_start", "01_rows", "02_tiles"], "02_tiles", 1)
    {'02_tiles': '01_tiles', '01_rows': '02_rows'}
    """
    order = [other for other in sorted(names) if other != name]
    order.insert(place, name)
    return {old: new for i, old in enumerate(order) if (new := f"{i:02}_{old[3:]}") != old}


def renumbered(text: str, names: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """`text` with new names, ``8 · Title`` and ``notebook 8``; `titles` has the title of each name, without its number."""
    numbers = {int(old[:2]): int(new[:2]) for old, new in names.items()}
    parts = [
        r"(?<![\w/])(?:docs/workshop/)?notes/(?P<note>\d\d)\.md",
        rf"\b(?P<name>{'|'.join(map(re.escape, names))})\b",
    ]
    titled = "|".join(r"\s+".join(map(re.escape, titles[name].split())) for name in names)
    parts += [rf"\b(?P<title>\d{{1,2}})(?=\s·\s+(?:{titled}))", r"(?<=\b[Nn]otebook[ \n])(?P<one>\d{1,2})\b"]
    parts += [r"(?<=\b[Nn]otebooks[ \n])(?P<first>\d{1,2})(?P<word>,?\s(?:and|or|to)\s)(?P<last>\d{1,2})\b"]

    def number(digits: str) -> str:
        return str(numbers.get(int(digits), int(digits))).zfill(len(digits) if digits.startswith("0") else 1)

    def change(match: re.Match[str]) -> str:
        if match["name"]:
            return names[match["name"]]
        if match["note"]:
            return match[0].replace(match["note"], f"{numbers.get(int(match['note']), int(match['note'])):02}")
        if match["first"]:
            return number(match["first"]) + match["word"] + number(match["last"])
        return number(match["title"] or match["one"])

    return re.sub("|".join(parts), change, text)


def title(source: str) -> str:
    """``Decode``, of a source whose heading is ``# 17 · Decode``."""
    heading = re.search(r"^# \d+ · (.+)$", source, re.MULTILINE)
    return heading[1] if heading else ""


def move(root: Path, name: str, place: int) -> dict[str, str]:
    """Rename and rewrite what git tracks in `root`; returns the new names. Raises SystemExit where `name` is no notebook."""
    sources = {path.stem: path for path in (root / "notebooks" / "src").glob("[0-9][0-9]_*.md")}
    if name not in sources or not 0 <= place < len(sources):
        raise SystemExit(f"give a notebook ({', '.join(sorted(sources))}) and its new place, 0 to {len(sources) - 1}")
    names = places(list(sources), name, place)
    titles = {old: title(sources[old].read_text("utf-8")) for old in names}
    for path in tracked(root):
        text = path.read_text("utf-8")
        if (changed := renumbered(text, names, titles)) != text:
            path.write_text(changed, "utf-8")
        for line in changed.splitlines():
            if "otebook" in line and RANGE.search(line):
                print(f"read: {path.relative_to(root)}: {line.strip()[:110]}")
    rename(root, names)
    return names


def rename(root: Path, names: Mapping[str, str]) -> None:
    pairs = [(f"{folder}/{old}{end}", f"{folder}/{new}{end}") for old, new in names.items() for folder, end in FILES]
    pairs += [(f"docs/workshop/notes/{old[:2]}.md", f"docs/workshop/notes/{new[:2]}.md") for old, new in names.items()]
    contents = {new: (root / old).read_bytes() for old, new in pairs if (root / old).is_file()}
    for old, _ in pairs:
        (root / old).unlink(missing_ok=True)
    for path, content in contents.items():
        (root / path).write_bytes(content)


def tracked(root: Path) -> list[Path]:
    """The text files of the course, those of an earlier move too, without examples and what `make sync` makes anew."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout
    paths = [root / path for path in listed.split("\0") if path and not path.startswith(LEFT_ALONE)]
    return [path for path in paths if path.suffix in TEXT and path.is_file()]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", help="a notebook without its ending, such as 16_windows_and_sinks")
    parser.add_argument("place", type=int, help="its new number")
    options = parser.parse_args()
    for old, new in sorted(move(ROOT, options.name, options.place).items()):
        print(f"{old} is {new} now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
