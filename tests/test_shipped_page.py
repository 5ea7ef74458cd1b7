from __future__ import annotations

from tools import shipped


def test_the_page_of_shipped_bugs_says_what_the_lens_says_about_the_wrong_lines():
    assert shipped.PAGE.read_text(encoding="utf-8") == shipped.page(), "run `python tools/shipped.py`"
    for path in shipped.KERNELS.glob("*.py"):
        bug = shipped.bug(path)
        wrong = [n for n, line in enumerate(bug.text.splitlines(), 1) if line.endswith("# wrong")]
        assert wrong, f"{bug.name} marks no line as wrong"
        first = next(iter(bug.report.findings), None)
        assert first is None or first.line in (None, *wrong), bug.name
