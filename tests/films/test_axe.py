"""Everyone can read films and cards: axe-core finds nothing serious in them, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.films.films import serious

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


def test_what_cannot_be_read_is_found(show: Open, axe: str) -> None:
    page = show('<p style="color:#ccc;background:#fff">pale</p><button></button>')
    assert {rule for rule, *_ in serious(page, axe)} == {"color-contrast", "button-name"}
