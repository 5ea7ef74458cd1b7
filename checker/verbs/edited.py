"""Was the cell of a kernel edited after it was last run? Then what is judged is not what the learner sees.

Two ways to know. The notebook's file, where it was saved after the cell had run and holds another text. And the page itself: JupyterLab
marks such a cell, and the script below a card looks for that mark. Neither is there everywhere; then nothing is said.
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
    """Raises UsageError where the saved notebook holds a newer text of the kernel's cell than the one that was run."""
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
    """n, for a kernel of the cell In [n]."""
    found = re.fullmatch(r"In\[(\d+)\]", source.origin)
    return int(found[1]) if found else None


def _notebook_file() -> Path | None:
    """The running notebook's file, where Jupyter or VS Code says which it is."""
    shell = display.shell()
    named = getattr(shell, "user_ns", {}).get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", "")
    path = Path(str(named))
    return path if path.suffix == ".ipynb" and path.is_file() else None


_NOTE = Markup("""\
<div class="tbt-edited"><p role="alert" hidden style="padding:8px 12px;border-left:4px solid #b35900"><b>{warning}</b></p>\
<details open><summary hidden>The verdict on the cell as it was run</summary>{card}</details><script>(() => {{
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
"""The card, folded away below a sentence where JupyterLab shows the kernel's cell as edited and not run."""


def with_note(card: display.Output, source: KernelSource) -> display.Output:
    """The card of a kernel; on the page of a notebook it notices that its cell was edited and not run."""
    number = cell_number(source)
    if number is None:
        return card
    warning = EDITED.format(kernel=source.kernel, number=number)

    def html() -> str:
        return str(_NOTE.format(warning=warning, card=Markup(card.html()), number=number))  # noqa: S704 (ours)

    return display.Output(html, card.print)
