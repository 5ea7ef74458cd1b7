from __future__ import annotations

from tools import shipped


def test_the_page_of_shipped_bugs_says_what_the_lens_says():
    assert shipped.PAGE.read_text(encoding="utf-8") == shipped.page(), "run `python tools/shipped.py`"
