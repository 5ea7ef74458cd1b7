"""A learner in notebook 02: every chunk by itself, what the card makes of it, a hint, the three walks, green."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from checker.misconceptions import bank
from tests.browser.lab import Notebook

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
STEM = "02_chunked_softmax"
SOLUTION = (ROOT / "solutions" / "chunked_softmax.py").read_text()
STUB_CELL = "def chunked_softmax_kernel"
CHECK_CELL = "check(chunked_softmax_kernel)"
HINT_CELL = "hint(chunked_softmax_kernel)"

CHUNK_BY_CHUNK = """\
row = tl.program_id(0).to(tl.int64)
for start_n in range(0, N, BLOCK_N):
offs_n = start_n + tl.arange(0, BLOCK_N)
x = tl.load(x_ptr + row * stride_xm + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
p = tl.exp(x - tl.max(x, axis=0))
tl.store(y_ptr + row * stride_ym + offs_n, p / tl.sum(p, axis=0), mask=offs_n < N)
""".splitlines()  # without indentation: the editor indents after a colon, as it does for a person


def believed() -> str:
    """The first words of what the course says about those who take each chunk for a row."""
    (wrong,) = [m for m in bank("chunked_softmax") if m.name == "chunk_local_max"]
    return " ".join(wrong.believed.split()[:9])


def test_from_chunk_by_chunk_over_a_hint_to_green(notebook: Notebook) -> None:
    notebook.type_below(STUB_CELL, "# your code starts here", CHUNK_BY_CHUNK)
    notebook.run(STUB_CELL)
    card = notebook.run(CHECK_CELL).locator(".tbt-card")
    expect(card).to_have_class("tbt-card bad")
    expect(card.locator(".gates li.bad")).to_contain_text("values")
    expect(card.locator(".gates li.good", has_text="compile")).to_be_visible()
    expect(card).to_contain_text(believed())

    hint = notebook.run(HINT_CELL)
    expect(hint).to_contain_text("Hint 1 of 3: question")
    expect(hint).not_to_contain_text("three times")

    notebook.write(STUB_CELL, SOLUTION)
    notebook.run(STUB_CELL)
    card = notebook.run(CHECK_CELL).locator(".tbt-card")
    expect(card).to_have_class("tbt-card good")
    for gate in ("source", "compile", "values", "memory", "traffic"):
        expect(card.locator(".gates li.good", has_text=gate)).to_be_visible()
    expect(notebook.run(HINT_CELL)).to_contain_text("Why it works")
