"""The verdict card, on a page and in a terminal."""

from __future__ import annotations

import base64
import io
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from checker.judge.verdict import Diagnosis, GateResult, Verdict
from checker.view.card import card_html, prose
from checker.view.error_map import FINE, LABEL, MAX_COLS, MAX_ROWS, NOT_FINITE, UNWRITTEN, error_map, paint
from checker.view.terminal import card_text, print_card
from checker.view.wording import excerpt, window
from tests.view import verdicts
from tests.view.test_film import HOSTILE, Reader

EVERY = verdicts.every()
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", EVERY)
def test_card_is_well_formed_small_and_without_scripts(name: str) -> None:
    html = card_html(EVERY[name])
    tags = Reader(html).tags
    assert len(html) < 45_000
    assert "script" not in [tag for tag, _ in tags]
    assert all(
        str(attrs.get("src", "data:image/png;base64,")).startswith("data:image/png;base64,") for _, attrs in tags
    )
    assert all(attrs.get("alt") for tag, attrs in tags if tag == "img")
    assert all(attrs.get("aria-label") for tag, attrs in tags if tag == "figure")


@pytest.mark.parametrize("name", EVERY)
def test_terminal_card_says_the_same_in_eighty_columns(name: str) -> None:
    verdict = EVERY[name]
    text = card_text(verdict, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    flat = " ".join(text.replace("▸", " ").split())
    page = " ".join(
        "".join(Reader(re.sub(r"<style.*?</style>", "", card_html(verdict), flags=re.DOTALL)).words).split()
    )
    failure = verdict.failure
    if failure is not None and verdict.status != "not_attempted":
        assert " ".join(failure.message.split()) in flat
        assert failure.message.replace("`", "") in page
    for gate in verdict.gates:
        assert verdict.status == "not_attempted" or gate.gate in flat


def test_wrong_values_are_shown_with_place_writer_and_line() -> None:
    html = card_html(verdicts.wrong_values())
    assert "the first is y[2, 0]. Program 2 stored it on line 27." in html
    assert html.count('class="wrong first"') == 1
    assert "Smallest failing shape:</b> M = 1, N = 3, BLOCK_N = 4" in html
    assert "<b>Believed:</b>" in html
    assert "<b>Instead:</b>" in html
    assert "masked lanes zero" in html


def test_the_card_is_brief_where_the_gate_said_it_already() -> None:
    verdict = verdicts.wrong_values(shape=(1, 3))
    gate = verdict.gates[2]
    assert gate.mismatch is not None
    assert "<figure" not in card_html(verdict), "the tables show every element"
    first = ", ".join(map(str, gate.mismatch.first))
    told = replace(gate, message=f"y[{first}] is 0.5, but should be 1. Program 0 stored it, at line 27.")
    assert card_html(replace(verdict, gates=(told,))).count("stored it") == 1
    assert card_text(replace(verdict, gates=(told,))).count("stored it") == 1


def test_what_two_lines_have_in_common_is_said_once() -> None:
    verdict = verdicts.memory_fault()
    gate = next(g for g in verdict.gates if g.gate == "memory")
    said = "3 lanes of program 0 read outside x."
    twice = tuple(replace(gate.findings[0], message=said, line=line) for line in (22, 31))
    told = replace(gate, findings=(gate.findings[0], *twice), detail=f"{said}\n{said}\nand a detail")
    verdict = replace(verdict, gates=tuple(told if g is gate else g for g in verdict.gates))
    html = card_html(verdict)
    assert html.count(said) == 1
    assert "and a detail" in html


def test_the_cause_is_marked_where_it_is_shown_already_and_else_shown_by_itself() -> None:
    verdict = verdicts.too_much_traffic()
    gate = next(g for g in verdict.gates if g.gate == "traffic")
    assert gate.line is not None
    for apart, marked in ((1, 1), (5, 2)):
        told = Diagnosis("x_is_read_again", "it is free.", "it is not.", line=gate.line + apart)
        html = card_html(replace(verdict, diagnosis=told))
        assert html.count('<pre aria-label="Line') == marked
        assert html.count('class="ln here"') == 2
        assert card_text(replace(verdict, diagnosis=told)).count("▸") == 2


def test_nothing_is_said_twice() -> None:
    verdict = verdicts.memory_fault()
    gate = next(g for g in verdict.gates if g.gate == "memory")
    told = replace(gate, message="Program 4 reads 27 lanes outside x. It happens in 2 of 3 cases.", case=verdicts.CASE)
    verdict = replace(verdict, gates=tuple(told if g is gate else g for g in verdict.gates))
    assert "Program 4 reads 27 elements past the end" not in card_html(verdict), "the message tells the first finding"
    assert "Programs 1 and 2 both store" in card_html(verdict)
    assert "Seen with M = 5" in card_html(verdict)
    assert "Seen with" not in card_html(replace(verdict, smallest=verdicts.CASE)), "the smallest is the same case"
    assert " s</span>" in card_html(verdict)
    assert " s</span>" not in card_html(replace(EVERY["not_attempted"], seconds=0.01)), "nothing was run"


def test_a_green_card_says_what_was_not_done() -> None:
    quiet = replace(verdicts.passed(), gates=verdicts.passed().gates[:5])
    assert "It was not run on a GPU" in card_html(quiet)
    assert "It was not run on a GPU" in " ".join(card_text(quiet).split())
    html = card_html(verdicts.passed())
    assert "not run: gpu" in html


def test_the_card_of_an_infrastructure_failure_does_not_blame_the_learner() -> None:
    html = card_html(EVERY["infra_error"])
    assert "says nothing about your kernel" in html
    assert "0 of 2" not in html


def test_everything_of_the_learners_is_escaped() -> None:
    gate = GateResult("compile", "compile_error", HOSTILE, line=1, detail=HOSTILE, advice=HOSTILE)
    verdict = Verdict(
        "row_softmax", HOSTILE, "compile_error", "cpu", 1.0, 0, 2, (gate,), source=HOSTILE + "\n" + HOSTILE
    )
    reader = Reader(card_html(verdict))
    assert {"script", "img"}.isdisjoint(tag for tag, _ in reader.tags)
    assert "".join(reader.words).count(HOSTILE) >= 4
    assert "[" not in card_text(replace(verdict, gates=(replace(gate, message="plain"),)))[:40]


def test_markup_of_the_terminal_library_is_not_obeyed() -> None:
    verdict = verdicts.simple("runtime_error", "[bold]not bold[/bold] [/x]")
    assert "[bold]not bold[/bold] [/x]" in card_text(verdict)


def test_print_card_is_plain_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_card(verdicts.wrong_values())
    out = capsys.readouterr().out
    assert "gives wrong numbers" in out
    assert "\x1b" not in out
    colours = io.StringIO()
    print_card(verdicts.wrong_values(), Console(file=colours, force_terminal=True, color_system="standard"))
    assert "\x1b" in colours.getvalue()


def test_code_in_a_sentence_is_paired_backquote_by_backquote() -> None:
    assert prose("`a` needs what is a very long part of the sentence here, and `b` not") == (
        '<code class="whole">a</code> needs what is a very long part of the sentence here, and <code class="whole">b</code> not'
    )


def test_excerpt_uses_the_learners_own_numbers() -> None:
    verdict = replace(EVERY["timeout"], source="a\nb\nc\n", first_line=40)
    assert [(row.number, row.text, row.here) for row in excerpt(verdict, 41)] == [
        (40, "a", False),
        (41, "b", True),
        (42, "c", False),
    ]
    assert excerpt(verdict, 39) == excerpt(verdict, 43) == excerpt(verdict, None) == []


@pytest.mark.parametrize("shape", [(97,), (5, 37), (2, 3, 6, 8)], ids=str)
def test_window_holds_the_first_wrong_element(shape: tuple[int, ...]) -> None:
    mismatch = verdicts.mismatch(shape)
    view = window(mismatch, most=3)
    r, c = view.first
    assert view.wrong[r][c]
    assert (view.rows[r], view.cols[c]) == (0 if len(shape) == 1 else mismatch.first[-2], mismatch.first[-1])
    assert view.expected[r][c] != view.got[r][c]
    assert max(len(view.rows), len(view.cols)) <= 3


@pytest.mark.parametrize("shape", [(1,), (97,), (5, 37), (2, 2, 6, 8), (64, 1000), (512, 4096)], ids=str)
def test_error_map_is_a_small_picture_in_the_colours_of_the_page(shape: tuple[int, ...]) -> None:
    drawn = error_map(verdicts.mismatch(shape))
    root = ET.fromstring(drawn)
    (image,) = root.iter(f"{SVG}image")
    pixels = Image.open(io.BytesIO(base64.b64decode(image.attrib["href"].partition("base64,")[2])))
    rows, cols = int(np.prod(shape[:-1], dtype=int)), shape[-1]
    assert pixels.size == (-(-cols // -(-cols // MAX_COLS)), -(-rows // -(-rows // MAX_ROWS)))
    assert len(drawn) <= 30_000
    words = [node for node in root.iter(f"{SVG}text") if (node.text or "").strip()]
    assert {"right", "just wrong"} <= {node.text for node in words}
    fixed = {node.text.strip() for node in words if "fill: var(--" not in node.attrib["style"]}
    # what stands on the picture, whose ground is light in both themes, keeps its colours
    assert {word for word in fixed if not word.isdigit()} <= {"first"}
    assert f"fill: {LABEL}" in drawn
    assert "fill: var(--bg" not in drawn


def test_numbers_in_the_picture_are_spoken_of_only_where_there_are_some() -> None:
    assert "Numbers in the picture" in card_html(EVERY["nan"])
    assert "Numbers in the picture" not in card_html(EVERY["large"])


def test_a_single_wrong_element_of_a_large_output_stays_visible() -> None:
    mismatch = verdicts.mismatch((512, 4096))
    error = np.zeros((512, 4096))
    error[400, 3001] = 50.0
    picture, step, top = paint(replace(mismatch, error=error, first=(400, 3001), wrong=1))
    wrong = np.argwhere(np.abs(picture - np.array(FINE)).max(axis=2) > 0.01)
    assert wrong.tolist() == [[400 // step[0], 3001 // step[1]]]
    assert top == 50


def test_unwritten_and_not_finite_elements_have_colours_of_their_own() -> None:
    mismatch = verdicts.mismatch((5, 37), nan=True, unwritten=True)
    colours = {tuple(np.round(c, 6)) for c in paint(mismatch)[0].reshape(-1, 3)}
    assert {FINE, UNWRITTEN, NOT_FINITE} <= colours
