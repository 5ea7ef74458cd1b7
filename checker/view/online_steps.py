"""A row of scores with a slider for each, and the running maximum and sum of an online softmax after every chunk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from checker.view.theme import style_element

LOWEST, HIGHEST = -5, 10
HEADS = ("chunk", "m before", "m", "factor", "l before · factor", "new terms", "l")
_STYLE = """
.tbt-online{max-width:640px;padding:8px 10px;border-radius:8px;background:var(--bg);color:var(--ink);font:13px system-ui,sans-serif}
.tbt-online .scores{display:flex;flex-wrap:wrap;gap:4px 14px;margin-bottom:8px}
.tbt-online label{display:flex;flex-direction:column;width:84px}
.tbt-online label.first{margin-left:10px}
.tbt-online input{width:84px;accent-color:var(--load)}
.tbt-online table{border-collapse:collapse;width:100%;margin:0}
.tbt-online th,.tbt-online td{padding:3px 8px;text-align:right;border-bottom:1px solid var(--line);background:none;color:inherit}
.tbt-online tr.rises td{font-weight:600;color:var(--store)}
.tbt-online p{margin:6px 0 0;color:var(--soft)}
"""
_SCRIPT = """
(() => {
const here = document.currentScript;
const figures = here ? [here.closest(".tbt-online")] : document.querySelectorAll(".tbt-online:not(.live)");

function start(root) {
root.classList.add("live");
const inputs = [...root.querySelectorAll("input")];
const width = +root.dataset.chunk, say = (x) => x === -Infinity ? "−∞" : x.toFixed(3).replace("-", "−").replace(/\\.?0+$/, "");
function show() {
  let m = -Infinity, l = 0;
  root.querySelectorAll("tbody tr").forEach((row, i) => {
    const x = inputs.slice(i * width, (i + 1) * width).map((input) => +input.value), top = Math.max(m, ...x);
    const factor = Math.exp(m - top), terms = x.reduce((sum, s) => sum + Math.exp(s - top), 0), sum = l * factor + terms;
    row.className = top > m && i ? "rises" : "";
    [x.join(", "), m, top, factor, l * factor, terms, sum].forEach((value, j) => {
      row.cells[j].textContent = j ? say(value) : value.replaceAll("-", "−");
    });
    [m, l] = [top, sum];
  });
  inputs.forEach((input) => (input.previousElementSibling.textContent = input.value.replace("-", "−")));
}
root.addEventListener("input", show);
}

for (const figure of figures) start(figure);
})();
"""


@dataclass(frozen=True)
class OnlineSteps:
    """The figure in a notebook; in a terminal, its table."""

    scores: tuple[int, ...]
    chunk: int

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A line for each chunk, in the order of HEADS."""
        m, l = -math.inf, 0.0
        for start in range(0, len(self.scores), self.chunk):
            chunk = self.scores[start : start + self.chunk]
            top = max(m, *chunk)
            factor, terms = math.exp(m - top), sum(math.exp(x - top) for x in chunk)
            numbers = (m, top, factor, l * factor, terms, l * factor + terms)
            yield ", ".join(map(str, chunk)).replace("-", "−"), *map(_say, numbers)
            m, l = top, numbers[-1]

    def __repr__(self) -> str:
        return "\n".join("   ".join(row) for row in (HEADS, *self.rows()))

    def _repr_html_(self) -> str:
        heads = Markup("").join(Markup("<th>{}</th>").format(head) for head in HEADS)
        body = Markup("").join(
            Markup("<tr{}>{}</tr>").format(
                Markup(' class="rises"') if i and row[1] != row[2] else "",
                Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row),
            )
            for i, row in enumerate(self.rows())
        )
        sliders = Markup("").join(
            Markup(
                '<label{}><span>{}</span><input type="range" min="{}" max="{}" value="{}" aria-label="score {}"></label>'
            ).format(Markup(' class="first"') if i % self.chunk == 0 else "", x, LOWEST, HIGHEST, x, i)
            for i, x in enumerate(self.scores)
        )
        return Markup(
            '<div class="tbt-online" data-chunk="{}" data-lm-suppress-shortcuts="true">{}<div class="scores">{}</div>'
            "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
            "<p>A coloured line is a chunk that raises the maximum: its factor is below 1.</p><script>{}</script></div>"
        ).format(self.chunk, style_element("tbt-online", _STYLE), sliders, heads, body, Markup(_SCRIPT))  # noqa: S704


def online_steps(scores: Sequence[int], chunk: int) -> OnlineSteps:
    """The steps of an online softmax over whole-numbered `scores` in chunks of `chunk`, with a slider for each score."""
    return OnlineSteps(tuple(scores), chunk)


def _say(x: float) -> str:
    text = f"{x:.3f}".rstrip("0").rstrip(".")
    return "−∞" if x == -math.inf else text.replace("-", "−")
