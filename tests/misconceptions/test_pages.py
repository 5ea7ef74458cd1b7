"""Pages of wrong kernels: how a diff becomes a kernel, and the error for a page that breaks the format."""

from __future__ import annotations

import pytest

from checker.course import PUZZLES
from checker.misconceptions import pages, read, solution

WORDS = "- **Believed:** a.\n- **Instead:** b.\n- **Gate:** `values`\n"
ADD = "-    tl.store(z_ptr + offs_n, x + y, mask=mask)\n+    tl.store(z_ptr + offs_n, x - y, mask=mask)"
WHOLE = "@triton.jit\ndef vector_add_kernel(...):\n    pid = tl.program_id(0)  # wrong"


def section(code: str = ADD, words: str = WORDS, name: str = "one", language: str = "diff") -> str:
    return f"## {name}\n\n{words}\n```{language}\n{code}\n```\n\n"


@pytest.fixture
def written(tmp_path):
    """Reads a page of vector_add that is written here."""

    def written(*sections: str):
        page = tmp_path / "vector_add.md"
        page.write_text("# A page\n\nwith words above.\n\n" + "".join(sections))
        return read(page, "vector_add")

    return written


def lines_of(wrong) -> list[str]:
    return [wrong.source.source.splitlines()[number - 1].strip() for number in wrong.wrong_lines]


def test_a_diff_changes_its_lines_and_no_other(written):
    (wrong,) = written(section())
    assert wrong.source.source == solution("vector_add").replace("x + y,", "x - y,")
    assert lines_of(wrong) == ["tl.store(z_ptr + offs_n, x - y, mask=mask)"]
    assert (wrong.believed, wrong.instead, wrong.try_, wrong.gates, wrong.noise) == ("a.", "b.", "", ("values",), 0.0)


def test_labels_are_read_as_data(written):
    case = PUZZLES["vector_add"].cases[0].name
    words = f"{WORDS}- **Seen in:** {case}\n- **Try:** c?\n- **Same as:** `two`\n- **Noise:** 0.004\n- **On a GPU:** d.\n".replace(
        "`values`", "`values` or `memory`"
    )
    one, two = written(section(words=words), section(name="two"))
    assert (one.try_, one.gates, one.same_as, one.noise) == ("c?", ("values", "memory"), ("two",), 0.004)
    assert (one.unseen_on_gpu, two.unseen_on_gpu) == ("d.", "")
    assert (one.seen_in, two.seen_in) == (case, "")
    assert (two.name, two.same_as) == ("two", ())


def test_a_hunk_may_only_add_and_a_mark_chooses_the_wrong_lines(written):
    (wrong,) = written(
        section("     pid = tl.program_id(0).to(tl.int64)\n+    pid = 0\n@@\n     mask = offs_n < N  # wrong")
    )
    assert wrong.source.source == solution("vector_add").replace("(tl.int64)\n", "(tl.int64)\n    pid = 0\n")
    assert lines_of(wrong) == ["mask = offs_n < N"]


def test_a_whole_kernel_borrows_imports_and_signature(written):
    (wrong,) = written(section(WHOLE, language="python"))
    assert wrong.source.source.startswith("import triton\nimport triton.language as tl\n\n\n@triton.jit\n")
    assert "BLOCK_N: tl.constexpr" in wrong.source.source
    assert lines_of(wrong) == ["pid = tl.program_id(0)"]


def test_a_diff_may_be_laid_on_another_kernel(written):
    other = section("-    pid = tl.program_id(0)\n+    pid = 0", f"{WORDS}- **Against:** `one`\n", "two", "diff")
    two = written(section(WHOLE, language="python"), other)[1]
    assert "    pid = 0\n" in two.source.source
    assert "tl.store" not in two.source.source


def test_bare_kernels_have_no_docstrings_and_no_region():
    text = solution("vector_add")
    assert '"""' not in text
    assert "your code" not in text
    assert text.startswith("import triton\n")


def test_an_error_names_page_and_heading(written):
    for page, complaint in (
        (section("-    mask = offs_n <= N\n+    mask = None"), "the solution has no such line: mask = offs_n <= N"),
        (section("     # [BLOCK_N]\n+    x = 0"), r"the solution has 2 places for the hunk that begins: # \[BLOCK_N\]"),
        (section("-    mask = offs_n < N\n@@\n-    mask = offs_n < N"), "two hunks want the same line: mask"),
        (section("+    x = 0"), "a hunk needs a line that stays or goes"),
        (section("mask = offs_n < N"), "a line of a diff begins with -, [+] or a space"),
        (section("-    mask = offs_n < N\n+    mask = ("), "not valid Python"),
        (section("-def vector_add_kernel(\n+def another_kernel("), "no function vector_add_kernel"),
        (section("-    mask = offs_n < N"), "no line carries the mistake"),
        (f"## one\n\n{WORDS}", "it needs one kernel"),
        (section(words="- **Instead:** b.\n- **Gate:** `values`\n"), r"no \*\*Believed:"),
        (section(words=WORDS.replace("values", "looks")), "`looks` is no gate"),
        (section(words=WORDS.replace("Instead", "Rather")), r"\*\*Rather:\*\* is none of"),
        (
            section(words=f"{WORDS}- **Try:** a long\n  word.\n"),
            "the words of a label take one line, and this goes on: word.",
        ),
        (section(words=f"{WORDS}- **Same as:** `two`\n"), "same as `two`, which is not on the page"),
        (section(words=f"{WORDS}- **Against:** `two`\n"), "there is no kernel `two`"),
        (section() + section(), "two kernels have this name"),
        (
            section(words=f"{WORDS}- **Seen in:** N = 0\n"),
            "seen in `N = 0`, which is no case: run `python tools/seen_in",
        ),
    ):
        with pytest.raises(pages.PageError, match=f"/vector_add.md, one: .*{complaint}"):
            written(page)
