"""The learner's region of a kernel file: the lines between the two marker comments."""

from __future__ import annotations

import re

START, END = "# your code starts here", "# your code ends here"


def region(text: str) -> str:
    """The lines between the markers. Raises ValueError if there is no such region."""
    lines = text.splitlines(keepends=True)
    start, end = _bounds(lines)
    return "".join(lines[start + 1 : end])


def stub(text: str) -> str:
    """`text` without the lines between the markers. Raises ValueError if there is no such region."""
    lines = text.splitlines(keepends=True)
    start, end = _bounds(lines)
    return "".join(lines[: start + 1] + lines[end:])


def without_docstring(module: str) -> str:
    """A puzzle's file without its docstring, which repeats the notebook's title, and without kernels that it imports from others."""
    return re.sub(
        r'\A""".*?"""\n+|^from solutions\.\w+ import \w+_kernel\n', "", module, flags=re.DOTALL | re.MULTILINE
    )


def _bounds(lines: list[str]) -> tuple[int, int]:
    start = next((i for i, line in enumerate(lines) if line.strip().startswith(START)), None)
    end = next((i for i, line in enumerate(lines) if line.strip().startswith(END)), None)
    if start is None or end is None or end < start:
        raise ValueError(f"the file has no region between “{START}” and “{END}”")
    return start, end
