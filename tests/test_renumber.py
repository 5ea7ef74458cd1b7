"""An author puts a notebook between two others, and every link and mention still leads to the notebook that it meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.renumber import move, places, renumbered

NAMES = {"12_decode": "02_decode", "02_rows": "03_rows"}
TITLES = {"12_decode": "Decode", "02_rows": "Rows and tiles"}


def test_a_notebook_moves_back_or_forth() -> None:
    names = ["00_start", "01_rows", "02_tiles", "03_dots"]
    assert places(names, "03_dots", 1) == {"03_dots": "01_dots", "01_rows": "02_rows", "02_tiles": "03_tiles"}
    assert places(names, "01_rows", 2) == {"02_tiles": "01_tiles", "01_rows": "02_rows"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('notebook="12_decode",', 'notebook="02_decode",'),
        ("[12 · Decode](12_decode.ipynb)", "[2 · Decode](02_decode.ipynb)"),
        ("[2 · Rows\nand tiles](02_rows.ipynb)", "[3 · Rows\nand tiles](03_rows.ipynb)"),
        ("as in notebook 2, now", "as in notebook 3, now"),
        ("Notebook 12 has notebooks 2 and 12", "Notebook 2 has notebooks 3 and 2"),
        ("notes/02.md", "notes/03.md"),
        ("the sum is 2 · 12, as in notebook 7", "the sum is 2 · 12, as in notebook 7"),
    ],
)
def test_mentions_follow(before: str, after: str) -> None:
    assert renumbered(before, NAMES, TITLES) == after


def test_files_move_with_their_text(tmp_path: Path) -> None:
    source = tmp_path / "notebooks" / "src"
    source.mkdir(parents=True)
    for number, name in enumerate(("start", "rows", "tiles")):
        (source / f"{number:02}_{name}.md").write_text(f"# {number} · {name.title()}\n\nAs in notebook 1.\n", "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    move(tmp_path, "02_tiles", 1)
    texts = {path.stem: path.read_text("utf-8") for path in source.iterdir()}
    assert texts["01_tiles"] == "# 1 · Tiles\n\nAs in notebook 2.\n"
    assert texts["02_rows"] == "# 2 · Rows\n\nAs in notebook 2.\n"
    with pytest.raises(SystemExit, match="00_start"):
        move(tmp_path, "05_none", 1)
    move(tmp_path, "01_tiles", 2)
    assert (source / "01_rows.md").read_text("utf-8") == "# 1 · Rows\n\nAs in notebook 1.\n"
