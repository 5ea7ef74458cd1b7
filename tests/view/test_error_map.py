"""The picture of where an output is wrong."""

from __future__ import annotations

import base64
import io
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from checker.view.error_map import (
    FINE,
    LABEL,
    MAX_COLS,
    MAX_ROWS,
    NOT_FINITE,
    UNWRITTEN,
    error_map,
    paint,
)
from tests.view import verdicts

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("shape", [(1,), (5, 37), (2, 2, 6, 8), (512, 4096)], ids=str)
def test_a_map_is_small_and_its_words_have_the_colours_of_the_page(shape: tuple[int, ...]) -> None:
    drawn = error_map(verdicts.mismatch(shape))
    root = ET.fromstring(drawn)
    (image,) = root.iter(f"{SVG}image")
    pixels = Image.open(
        io.BytesIO(base64.b64decode(image.attrib["{http://www.w3.org/1999/xlink}href"].partition("base64,")[2]))
    )
    rows, cols = int(np.prod(shape[:-1], dtype=int)), shape[-1]
    assert pixels.size == (-(-cols // -(-cols // MAX_COLS)), -(-rows // -(-rows // MAX_ROWS)))
    assert len(drawn) <= 30_000
    words = [node for node in root.iter(f"{SVG}text") if (node.text or "").strip()]
    assert {"right", "just wrong"} <= {node.text for node in words}
    fixed = {(node.text or "").strip() for node in words if "fill: var(--" not in node.attrib["style"]}
    # the picture's ground is light in both themes, so words on it keep their colours
    assert {word for word in fixed if not word.isdigit()} <= {"first"}
    assert f"fill: {LABEL}" in drawn
    assert "fill: var(--bg" not in drawn


def test_a_single_wrong_element_of_a_large_output_stays_visible() -> None:
    error = np.zeros((512, 4096))
    error[400, 3001] = 50.0
    picture, step, top = paint(replace(verdicts.mismatch((512, 4096)), error=error, first=(400, 3001), wrong=1))
    wrong = np.argwhere(np.abs(picture - np.array(FINE)).max(axis=2) > 0.01)
    assert wrong.tolist() == [[400 // step[0], 3001 // step[1]]]
    assert top == 50


def test_unwritten_and_not_finite_elements_have_colours_of_their_own() -> None:
    mismatch = verdicts.mismatch((5, 37), nan=True, unwritten=True)
    colours = {tuple(np.round(c, 6)) for c in paint(mismatch)[0].reshape(-1, 3)}
    assert {FINE, UNWRITTEN, NOT_FINITE} <= colours
