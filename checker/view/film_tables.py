"""What stands beside the stage without a script: the source, the state of the first moment, the bytes of the whole launch."""

from __future__ import annotations

from typing import Any

from checker.submission.kernel import KernelSource
from checker.view.code import body_start, highlight
from checker.view.film_model import Film
from checker.view.theme import count, escape, size


def source_listing(film: Film, source: KernelSource) -> str:
    """The learner's lines, the one of the first moment marked."""
    current, lines = film.moments[0].event.line, []
    first = body_start(source.source)
    for i, html in enumerate(highlight(source.source), 1):
        if i >= first:
            name = " class=current" if i == current else ""
            lines.append(f"<span{name}><i>{source.locate(i)[1]}</i>{html}\n</span>")
    origin = source.locate(first)[0]
    return (
        f'<div><h4>{escape(origin)}</h4><pre class="source" tabindex="0" data-first="{first}" aria-label="Source of the kernel">'
        + "".join(lines).rstrip("\n")
        + "</pre></div>"
    )


def state_table(film: Film) -> str:
    """The kernel's variables at the first moment, and what that step makes of those that the puzzle names."""
    data, first, event = film.data, film.data["events"][0], film.moments[0].event
    rows = [("program", "", escape(data["programs"][0]))]
    rows += [(name, "loop", str(value)) for name, value in event.loops]
    delta = _delta(first)
    later = next((_delta(e) for e in data["events"][1:] if e[0] == first[0]), {})
    for n in sorted({*delta, *(n for n in later if data["words"][n])}):
        value = _shown(data["vals"][delta[n]]) if n in delta else ""
        if n in later and data["words"][n] and not _is_matrix(data["vals"][later[n]]):
            value += f'<span class="then">→</span>{_shown(data["vals"][later[n]])}'
        rows.append((data["names"][n], data["words"][n], value))
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}{f"<small>{escape(word)}</small>" if word else ""}</th><td>{value}</td></tr>'
        for name, word, value in rows
    )
    return f'<div><h4>state before this step → after it</h4><div class="stateBox"><table class="state">{cells}</table></div></div>'


def _delta(event: list[Any]) -> dict[int, int]:
    changes = event[7] if len(event) > 7 else []
    return dict(zip(changes[::2], changes[1::2], strict=True))


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(v, list) for v in value)


def _shown(value: Any) -> str:
    if not isinstance(value, list):
        return escape(value)
    rows = value if any(isinstance(v, list) for v in value) else [value]
    return "".join(
        f'<span class="vector{" line" if _is_matrix(value) else ""}">'
        + " ".join(map(escape, r if isinstance(r, list) else [r]))
        + "</span>"
        for r in rows
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2f}".rstrip("0").rstrip(".") + "%"


def traffic_bars(film: Film) -> str:
    """What the whole launch loads and stores of each tensor, against the rung's budget."""
    rows = []
    for panel, stored, total, allowed, whole, *updates in film.data["traffic"]:
        limit = max(allowed, total, 1)
        over = 0 <= allowed < total
        passes = (
            f", {total / whole:.2f}".rstrip("0").rstrip(".") + (" pass" if total == whole else " passes")
            if whole
            else ""
        )
        words = size(total) + (f" of {size(allowed)}" if allowed >= 0 else "") + passes
        words += f": {size(total - allowed)} too many" if over else ""
        words += f", {count(updates[0], 'atomic update')}" if updates else ""
        shares = {"moved": total / limit, "budget": allowed / limit}  # 100% if nothing is said
        said = [f"--{name}:{_percent(share)}" for name, share in shares.items() if share not in (1, -1 / limit)]
        said += ["--budget:-9px"] if allowed < 0 else []
        style_ = f' style="{";".join(said)}"' if said else ""
        name = "row" + (" stored" if stored else "") + (" over" if over else "")
        rows.append(
            f'<div class="{name}"><span class="what2"><b>{escape(film.data["panels"][panel][0])}</b> '
            f"<small>{'stored' if stored else 'loaded'}</small></span>"
            f'<span class="bar"{style_}></span> <span class="words">{words}</span></div>'
        )
    return f'<div class="traffic"><h4 class="measure">bytes so far, against the budget</h4>{"".join(rows)}</div>'
