"""Notice a kernel whose cell was edited but not run again, because then we would judge something other than the learner sees.

There are two ways to notice. The notebook's file may have been saved since the cell ran, with another text. And JupyterLab marks
edited cells on its page, so a script below the card looks for that mark. If neither is available, we stay silent.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from markupsafe import Markup

from checker.submission.kernel import KernelSource
from checker.submission.notebook import cells, without_magics
from checker.verbs import ipython
from checker.verbs.arguments import UsageError
from checker.view import display

EDITED = "The cell that defines {kernel} was edited after it was run as In [{number}]. Run it (Shift+Enter), then check again."


def refuse_edited(source: KernelSource) -> None:
    """Raises UsageError if the saved notebook has a newer version of the kernel's cell than the one that ran."""
    number, session, file = cell_number(source), ipython.session(), _notebook_file()
    if number is None or session is None or file is None or number not in session.ran:
        return
    try:
        if file.stat().st_mtime <= session.ran[number]:
            return
        saved = [text.text for text in cells(file.read_text("utf-8"), file.name)]
    except (OSError, ValueError):
        return
    written = re.compile(rf"^[ \t]*def[ \t]+{re.escape(source.kernel)}\b", re.MULTILINE)
    defining = [text.strip() for text in saved if written.search(text)]
    as_typed = str(display.shell().history_manager.input_hist_raw[number])
    if defining and without_magics(as_typed).strip() not in defining:
        raise UsageError(EDITED.format(kernel=f"`{source.kernel}`", number=number))


def cell_number(source: KernelSource) -> int | None:
    """n if the kernel comes from the cell In [n]."""
    match = re.fullmatch(r"In\[(\d+)\]", source.origin)
    return int(match[1]) if match else None


def _notebook_file() -> Path | None:
    """The running notebook's file, if Jupyter or VS Code gives its path."""
    variables = getattr(display.shell(), "user_ns", {})
    path = Path(str(variables.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", "")))
    return path if path.suffix == ".ipynb" and path.is_file() else None


_NOTE = Markup("""\
<div class="tbt-edited"><p role="alert" hidden style="padding:8px 12px;border-left:4px solid #b35900"><b>{warning}</b></p>\
<details open><summary hidden>The verdict on the version that ran</summary>{card}</details><script>(() => {{
  const here = document.currentScript;
  const boxes = here ? [here.closest(".tbt-edited")] : document.querySelectorAll(".tbt-edited:not(.looked)");
  for (const box of boxes) {{
    box.classList.add("looked");
    const mine = (cell) => cell.querySelector(".jp-InputPrompt")?.textContent.trim() === "[{number}]:";
    const cell = [...document.querySelectorAll(".jp-CodeCell")].find(mine);
    if (!cell?.classList.contains("jp-mod-dirty")) continue;
    box.querySelector("p").hidden = box.querySelector("summary").hidden = false;
    box.querySelector("details").open = false;
  }}
}})();</script></div>""")
"""The card, folded away below a warning if JupyterLab marks the kernel's cell as edited."""


def with_note(card: display.Output, source: KernelSource) -> display.Output:
    """The card, which warns on a notebook's page if the kernel's cell was edited after it ran."""
    number = cell_number(source)
    if number is None:
        return card
    warning = EDITED.format(kernel=source.kernel, number=number)

    def html() -> str:
        return str(_NOTE.format(warning=warning, card=Markup(card.html()), number=number))  # noqa: S704 (ours)

    return display.Output(html, card.print)
