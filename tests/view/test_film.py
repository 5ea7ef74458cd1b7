"""The film as a file: complete, small, escaped, and the same picture with and without its script."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from checker.course import PUZZLES
from checker.simulator import simulate
from checker.simulator.trace import Event, Finding, SimulateOptions, TensorInfo, Tile, Trace
from checker.submission.kernel import KernelSource, Piece
from checker.submission.load import load_kernel
from checker.view.film import film_document, film_html
from checker.view.layout import flatten
from checker.view.theme import number, size
from tests.view import traces
from tests.view.unpacking import unpacked

SOFTMAX, ADD = PUZZLES["row_softmax"], PUZZLES["vector_add"]
VOID = {"meta", "input", "br", "img", "path", "rect"}


class Reader(HTMLParser):
    """Collects tags and text, and checks that every tag is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)


def data_of(html: str) -> dict:
    match = re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return unpacked(json.loads(match[1]))


def simulated(name: str, edit: tuple[str, str] = ("", ""), tmp: Path | None = None) -> tuple[Trace, KernelSource, dict]:
    """A real kernel, through the real simulator, at the film's own size."""
    puzzle, source = PUZZLES[name], traces.solution(name)
    assert edit[0] in source.source
    source = replace(source, source=source.source.replace(*edit)) if edit[0] else source
    tensors = puzzle.make(puzzle.film.case)
    for output in puzzle.outputs:
        tensors[output].fill_(torch.nan)
    launch = puzzle.launch(puzzle.film.case, tensors, puzzle.film.case.meta)
    assert tmp is not None
    return simulate(load_kernel(source, tmp), launch, SimulateOptions(events=True, state=True)), source, tensors


@pytest.mark.parametrize("name", ["vector_add", "row_softmax"])
def test_film_of_a_real_kernel_shows_its_events_values_and_traffic(name: str, tmp_path: Path) -> None:
    puzzle = PUZZLES[name]
    trace, source, tensors = simulated(name, tmp=tmp_path)
    html = film_html(trace, puzzle, source, budget=puzzle.budget(puzzle.film.case), values=tensors)
    data = data_of(html)
    assert len(html) < 40_000
    assert len(data["events"]) == len(trace.events)
    assert [e[3] for e in data["events"]] == [e.line for e in trace.events]
    assert sum(e[5] for e in data["events"]) == sum(t.loaded + t.stored for t in trace.traffic.values())
    assert all(total == allowed for _, _, total, allowed, _ in data["traffic"])
    written = puzzle.film.tensors.index(puzzle.outputs[0])
    assert data["cells"][written] == [number(v, 5) for v in tensors[puzzle.outputs[0]].reshape(-1).tolist()]
    assert data["findings"] == []


def test_findings_of_a_real_kernel_are_marked_at_their_moment(tmp_path: Path) -> None:
    trace, source, tensors = simulated("vector_add", (", mask=mask, other=0.0", ""), tmp_path)
    html = film_html(trace, ADD, source, values=tensors)
    marked = [at for at, *_ in data_of(html)["findings"]]
    assert marked
    assert all(trace.events[at].out_of_bounds for at in marked)
    assert 'class="outside-lines"' in html


@pytest.mark.parametrize(
    ("made", "limit"),
    [
        (traces.vector_add(), 40_000),
        (traces.row_softmax(6, 13, 16), 45_000),
        (traces.online(6, 24, 8), 47_000),
        (traces.flash(), 51_000),
        (traces.online(64, 1000, 128), 66_000),
    ],
    ids=["vector", "ragged rows", "online", "four dimensions", "1536 events"],
)
def test_film_is_well_formed_and_small(made: tuple[Trace, dict], limit: int) -> None:
    trace, values = made
    names = tuple(trace.tensors)
    puzzle = replace(SOFTMAX, film=replace(SOFTMAX.film, tensors=names), outputs=names[-1:])
    html = film_html(trace, puzzle, traces.solution("row_softmax"), values=values)
    tags = Reader(html).tags
    assert len(html) < limit
    assert not re.findall(r"""\b(?:src|href)=|url\(|https?://(?!www\.w3\.org/2000/svg)""", html)
    assert not [attrs for _, attrs in tags if "id" in attrs], "two films on one page would share ids"
    assert all(attrs.get("aria-label") for tag, attrs in tags if attrs.get("role") == "img")


def test_long_traces_keep_whole_programs_and_say_what_is_left_out() -> None:
    trace, _ = traces.online(64, 1000, 128)
    html = film_html(trace, SOFTMAX, traces.solution("row_softmax"))
    data = data_of(html)
    per_program = len(trace.events) // 64
    shown = {e[0] for e in data["events"]}
    assert len(data["events"]) == per_program * len(shown)
    assert data["programs"][0] == "0"
    assert data["programs"][-1] == "63"
    assert f"Shown: {len(shown)} programs" in html


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--"


def test_everything_of_the_learners_is_escaped() -> None:
    text = f'"""{HOSTILE}"""\nX = """{HOSTILE}"""  # {HOSTILE}\nload({HOSTILE!r})\n'
    source = KernelSource("row_softmax", HOSTILE, text, (Piece(1, 3, HOSTILE, 1),))
    event = Event(
        0, (0, 0, 0), "load", "x_ptr", 2, HOSTILE, ((HOSTILE, 1),), Tile(((0, 1), (0, 2)), ((0, 1), (0, 2))), 8
    )
    event = replace(event, state={HOSTILE: HOSTILE, "v": [HOSTILE, 1.0]})
    trace = Trace(
        (1, 1, 1), {"x_ptr": TensorInfo((1, 2), (2, 1), HOSTILE)}, [event], [Finding("race", HOSTILE, 2)], {}, {}
    )
    html = film_html(trace, SOFTMAX, source, title=HOSTILE, values={"x_ptr": np.zeros((1, 2))})
    reader = Reader(html)
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in reader.tags]
    assert not [a for _, attrs in reader.tags for a in attrs if a.startswith("on")]
    assert data_of(html)["findings"][0][2] == HOSTILE
    assert HOSTILE in "".join(reader.words)
    page = film_document(html, HOSTILE)
    assert "<title>" + HOSTILE not in page


def test_static_frame_says_all_without_a_script() -> None:
    trace, values = traces.row_softmax()
    html = film_html(
        trace, SOFTMAX, traces.solution("row_softmax"), budget=SOFTMAX.budget(SOFTMAX.film.case), values=values
    )
    html = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
    words = " ".join("".join(Reader(html).words).split())
    for said in (
        "4 programs, 4 loads, 4 stores",
        "x[0, 0:7]",
        "program 0",
        "1 lane masked",
        "112 B of 112 B",
        "Program 3 stores y[3, 0:7]",
    ):
        assert said in words
    assert html.count("<figure>") == 4
    assert html.count("<span class=current>") == 1
    assert html.count('fill="#') > 20, "colours must not depend on the style sheet"


def test_values_of_an_output_appear_at_their_last_store() -> None:
    trace, values = traces.row_softmax(2, 3, 4)
    twice = [replace(e, step=i) for i, e in enumerate([*trace.events, *trace.events[1:2]])]
    html = film_html(replace(trace, events=twice), SOFTMAX, traces.solution("row_softmax"), values=values)
    data = data_of(html)
    stores = [e for e in data["events"] if e[1] == 1]
    assert len(stores) == 3
    first = re.findall(r'<g class="values".*?</g>', html)[1]
    assert ">0." not in first, "nothing is stored at the first moment"


def test_empty_trace_is_said_and_not_drawn() -> None:
    trace = Trace((1, 1, 1), {}, [], [], {}, {})
    html = film_html(trace, SOFTMAX, traces.solution("row_softmax"))
    assert "neither loads nor stores" in html
    assert "<script" not in html


@pytest.mark.parametrize(
    ("tile", "shape", "expected"),
    [
        (Tile(((4, 8),), ((4, 7),)), (7,), (0, (0, 1, 4, 8), (0, 1, 4, 7), None, "[4:7]")),
        (Tile(((1, 2), (1, 2), (8, 16), (0, 4)), None), (2, 3, 12, 4), (4, (8, 16, 0, 4), None, None, "[1, 1, 8:16, 0:4]")),
        (Tile(((0, 2), (0, 3)), ((0, 2), (0, 3)), (0, 1, 5)), (2, 3), (0, (0, 2, 0, 3), (0, 2, 0, 3), ((0, 0, 2), (1, 2, 3)), "[0:2, 0:3] (3 scattered elements)")),
        (Tile((), ()), (), (0, (0, 1, 0, 1), (0, 1, 0, 1), None, "[]")),
    ],
    ids=["masked tail", "four dimensions", "scattered", "no dimension"],
)  # fmt: skip
def test_tiles_are_laid_flat(tile: Tile, shape: tuple[int, ...], expected: tuple) -> None:
    flat = flatten(tile, shape)
    assert (flat.slice, flat.box, flat.active, flat.runs, flat.label) == expected


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [(0.0, 5, "0"), (float("nan"), 5, "NaN"), (float("-inf"), 5, "-∞"), (-1.89234, 5, "-1.89"), (1e-9, 5, "1e-9"),
     (12345678.0, 5, "1.2e7"), (0.22095, 8, "0.220950"), (True, 5, "✓"), (-0.0042, 4, "-4e-3")],
)  # fmt: skip
def test_numbers_are_short_and_honest(value: float, width: int, text: str) -> None:
    assert number(value, width) == text


def test_sizes_are_said_as_people_say_them() -> None:
    assert [size(n) for n in (112, 9_999, 12_300, 256_000, 4_200_000)] == [
        "112 B",
        "9,999 B",
        "12,300 B",
        "256 kB",
        "4.2 MB",
    ]


def test_player_and_styles_are_small() -> None:
    trace, values = traces.row_softmax()
    html = film_html(trace, SOFTMAX, traces.solution("row_softmax"), values=values)
    script, style = (re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL) for tag in ("script", "style"))
    assert script is not None
    assert style is not None
    assert len(script[1]) < 14_000
    assert len(style[1]) < 10_500
