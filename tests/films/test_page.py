"""The film as a file is complete, small, escaped, and readable without its script."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checker.course import PUZZLES
from checker.films.page import film_document, film_html
from checker.simulator.trace import Event, Finding, TensorInfo, Tile, Trace
from checker.submission.kernel import KernelSource, Piece
from checker.view.formats import number, size
from tests.films import films
from tests.view.pages import HOSTILE, Page

SOFTMAX = PUZZLES["row_softmax"]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> films.Shot:
    """64 programs, which load 1024 chunks and store 512."""
    sizes, meta = {"M": 64, "N": 1000}, {"BLOCK_N": 128}
    tmp = tmp_path_factory.mktemp("long")
    return films.shoot("online_softmax", films.solution("online_softmax"), tmp, sizes=sizes, meta=meta)


def data_of(html: str) -> dict:
    match = re.search(r'class="data">(.*?)</script>', html)
    assert match is not None
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


def test_findings_of_a_real_kernel_are_marked_at_their_step(tmp_path: Path) -> None:
    shot = films.shoot("vector_add", films.edited("vector_add", (", mask=mask, other=0.0", "")), tmp_path)
    marked = [at for at, *_ in data_of(shot.html)["notes"]]
    assert marked
    assert all(shot.trace.events[at].out_of_bounds for at in marked)


def test_long_films_keep_whole_programs_and_report_what_is_left_out(long: films.Shot) -> None:
    data = data_of(long.html)
    assert len(long.html) < 250_000
    per_program = len(long.trace.events) // 64
    shown = {step[0] for step in data["steps"]}
    assert len(data["steps"]) == per_program * len(shown)
    assert data["programs"][0] == "0"
    assert data["programs"][-1] == "63"
    assert f"Shown: {len(shown)} programs" in long.html


def test_a_learners_text_is_escaped() -> None:
    text = f'"""{HOSTILE}"""\nX = """{HOSTILE}"""  # {HOSTILE}\nload({HOSTILE!r})\n'
    source = KernelSource("row_softmax", HOSTILE, text, (Piece(1, 3, HOSTILE, 1),))
    event = Event(
        0, (0, 0, 0), "load", "x_ptr", 2, HOSTILE, ((HOSTILE, 1),), Tile(((0, 1), (0, 2)), ((0, 1), (0, 2))), 8
    )
    event = replace(event, state={HOSTILE: HOSTILE, "v": [HOSTILE, 1.0]})
    trace = Trace(
        (1, 1, 1),
        {"x_ptr": TensorInfo((1, 2), (2, 1), HOSTILE)},
        [event],
        [Finding("race", 2, tensor="x_ptr", elements=((0, 0),))],
        {},
        {},
    )
    html = film_html(trace, SOFTMAX, source, title=HOSTILE, values={"x_ptr": np.zeros((1, 2))})
    page = Page(html)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in page.tags]
    assert not [a for _, attrs in page.tags for a in attrs if a.startswith("on")]
    assert HOSTILE in page.text
    assert "<title>" + HOSTILE not in film_document(html, HOSTILE)


def test_the_first_frame_is_readable_without_a_script(tmp_path: Path) -> None:
    html = re.sub(r"<(script|style).*?</\1>", "", films.solved("row_softmax", tmp_path).html, flags=re.DOTALL)
    words = " ".join(Page(html).text.split())
    for text in (
        "4 programs, 4 loads, 4 stores",
        "x[0, 0:7]",
        "program 0",
        "1 lane masked, holding -∞",
        "112 B of 112 B",
    ):
        assert text in words
    assert 'class="says"' in html
    assert html.count('<span class="current">') == 1


def test_an_empty_trace_gets_a_message_instead_of_a_film() -> None:
    trace = Trace((1, 1, 1), {}, [], [], {}, {})
    html = film_html(trace, SOFTMAX, films.solution("row_softmax"))
    assert "neither loads nor stores" in html
    assert "<script" not in html


def test_numbers_are_short_and_rounded_correctly() -> None:
    for value, width, text in (
        (0.0, 5, "0"),
        (float("nan"), 5, "NaN"),
        (float("-inf"), 5, "-∞"),
        (-1.89234, 5, "-1.89"),
        (1e-9, 5, "1e-9"),
        (12345678.0, 5, "1.2e7"),
        (0.22095, 8, "0.220950"),
        (True, 5, "✓"),
        (-0.0042, 4, "-4e-3"),
        (-0.3367, 4, "-0.3"),
        (-0.25, 4, "-0.2"),
        (-0.0243, 4, "-0.02"),
    ):
        assert number(value, width) == text
    for amount, text in ((112, "112 B"), (12_300, "12,300 B"), (256_000, "256 kB"), (4_200_000, "4.2 MB")):
        assert size(amount) == text
