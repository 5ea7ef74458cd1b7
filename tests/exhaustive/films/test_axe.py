"""axe-core finds no serious accessibility problem in films and cards, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checker.films.page import card_film, linked
from checker.view.card import card_html
from tests.films import films
from tests.films.films import flaws_of, serious
from tests.view import verdicts

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


def pages(kind: str, tmp_path: Path) -> str:
    if kind == "cards":
        every = [verdicts.wrong_values(), verdicts.passed(), verdicts.too_much_traffic(), verdicts.compile_error()]
        return "".join(map(card_html, every))
    wrong = films.shoot("online_softmax", films.wrong("online_softmax", "sum_not_rescaled"), tmp_path)
    html = replace(wrong, flaws=flaws_of(wrong)).html
    if kind == "wrong":
        return str(card_film("Watch it fail", html)).replace("<details", "<details open")
    right = films.solved("online_softmax", tmp_path)
    if kind == "linked":
        return linked(html, right.html)
    return films.solved("flash_attention", tmp_path).html


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["cards", "flash", "wrong", "linked"])
def test_axe_finds_nothing_serious(show: Open, axe: str, kind: str, scheme: str, tmp_path: Path) -> None:
    page = show(pages(kind, tmp_path), 1400, color_scheme=scheme)
    if kind != "cards":
        page.locator(".scrub:visible").first.fill("2")
    assert serious(page, axe) == []


def test_axe_finds_pale_text_and_nameless_buttons(show: Open, axe: str) -> None:
    page = show('<p style="color:#ccc;background:#fff">pale</p><button></button>')
    assert {rule for rule, *_ in serious(page, axe)} == {"color-contrast", "button-name"}
