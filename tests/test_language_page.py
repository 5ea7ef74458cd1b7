from __future__ import annotations

from tools import language


def test_the_page_of_tl_is_up_to_date():
    assert language.PAGE.read_text(encoding="utf-8") == language.page(), "run `python tools/language.py`"
