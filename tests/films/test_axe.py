"""Everyone can read films and cards: axe-core finds nothing serious in them, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


def serious(page: Any, axe: str) -> list[tuple[str, str, str]]:
    """What axe-core calls serious or critical: the rule, where, and why."""
    page.evaluate(axe)
    found = page.evaluate("() => axe.run(document.body, { resultTypes: ['violations'] }).then((r) => r.violations)")
    bad = (v for v in found if v["impact"] in ("serious", "critical"))
    return [(v["id"], v["nodes"][0]["html"][:160], v["nodes"][0]["failureSummary"]) for v in bad]


def test_what_cannot_be_read_is_found(show: Open, axe: str) -> None:
    page = show('<p style="color:#ccc;background:#fff">pale</p><button></button>')
    assert {rule for rule, *_ in serious(page, axe)} == {"color-contrast", "button-name"}
