"""What each step of a kernel does with the state that it carries, in words too, and which pairs go through it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.puzzle import Carried
from checker.view.theme import short

if TYPE_CHECKING:
    from checker.simulator.trace import Event
    from checker.view.carried import States
    from checker.view.film_model import Moment

STARTS, ADDS, READS = 1, 2, 3
Span = tuple[int, int]


@dataclass
class _Walk:
    """What one program has loaded and added so far."""

    queries: tuple[int, Span] | None = None  # slice, rows
    keys: Span | None = None
    loaded: list[Span] = field(default_factory=list)
    """Keys since the last addition."""
    seen: list[Span] = field(default_factory=list)
    known: bool = True
    """Whether what the state holds can be told: additions to it are seen, or it was loaded with what it holds."""


@dataclass(frozen=True)
class Names:
    """What a kernel calls what: its state, the weights of a chunk, and every product in its text."""

    carried: Carried
    state: str
    weights: str
    dots: Sequence[Dot]
    stored: frozenset[int]
    """Moments at which a sum of states goes to memory as it is."""


def deeds(
    out: States, moments: Sequence[Moment], mine: list[int], following: dict[int, int], names: Names, chunk: int
) -> None:
    """What every step of one program does with the state, in words too, and which pairs of query and key go through it."""
    carried, walk = names.carried, _Walk()
    steps = [(moments[k].event, moments[following.get(k, k)].event) for k in mine]
    walk.known = carried.given or any(_deed(event, later, names.state) == ADDS for event, later in steps)
    reading = any(_reads(names, moments[k].event) for k in mine)  # else the state is read where the output leaves
    for k in mine:
        event, flat = moments[k].event, moments[k].flat
        later = moments[following.get(k, k)].event
        _follow(walk, moments[k], carried, chunk)
        read, deed = "", _deed(event, later, names.state)
        if k in names.stored:
            read, deed = _words(READS, walk, event, later, names), deed or READS
        elif not carried.added and (_reads(names, event) or (not reading and _writes(event, carried.output))):
            read, deed = _words(READS, walk, event, later, names), deed or READS
            rows = walk.queries if reading or flat is None or not flat.active else (flat.slice, flat.active[:2])
            if rows:
                out.reads += [[k, rows[0], *rows[1], *span] for span in _merged(walk.seen)]
        out.at[k][5] = deed or -1
        if deed == ADDS:
            walk.seen += walk.loaded if carried.added else [walk.keys] if walk.keys else []
        said = _words(deed, walk, event, later, names)
        if deed == ADDS:
            walk.loaded.clear()
        out.at[k][6] = numbered(out.words, f"{read}; then {said}" if read and deed != READS else said)


def _same(old: Any, new: Any) -> bool:
    """Whether a variable did not change; a NaN is the same as a NaN."""
    return old is new or old == new or repr(old) == repr(new)


def _writes(event: Event, tensor: str) -> bool:
    return event.kind in ("store", "atomic") and event.tensor == tensor


def _deed(event: Event, later: Event, name: str) -> int:
    old, new = event.state.get(name), later.state.get(name)
    if new is None or _same(old, new):
        return 0
    return STARTS if old is None and event.kind != "dot" else ADDS


def _follow(walk: _Walk, moment: Moment, carried: Carried, chunk: int) -> None:
    event, flat = moment.event, moment.flat
    if event.kind != "load" or event.tile is None or flat is None:
        return
    if event.tensor == carried.queries and flat.active:
        walk.queries = (flat.slice, (flat.active[0], flat.active[1]))
    if event.tensor == (carried.added or carried.keys) and flat.active:
        walk.keys = (flat.active[0], flat.active[1])
        walk.loaded.append(walk.keys)
    if carried.given and carried.chunks and event.tensor == carried.chunks[0]:
        start = event.tile.box[-3][0] * chunk
        walk.seen = [(0, start)] if start > 0 else []


def _merged(spans: Sequence[Span]) -> list[Span]:
    out: list[Span] = []
    for start, stop in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


@dataclass(frozen=True)
class Dot:
    first: int
    last: int
    operands: tuple[frozenset[str], ...]
    """Names in the two that are multiplied."""


def dots_of(source: str) -> list[Dot]:
    """Every product in the kernel's text, with the names in its operands."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dot":
            names = tuple(frozenset(n.id for n in ast.walk(a) if isinstance(n, ast.Name)) for a in node.args[:2])
            found.append(Dot(node.lineno, node.end_lineno or node.lineno, names))
    return found


def _operands(dots: Sequence[Dot], event: Event) -> frozenset[str]:
    """Names in the operands of the product of a moment; none where its line has several."""
    here = [d for d in dots if event.kind == "dot" and d.first <= event.line <= d.last]
    return frozenset().union(*here[0].operands) if len(here) == 1 else frozenset()


def _reads(names: Names, event: Event) -> bool:
    return names.state in _operands(names.dots, event)


def _words(deed: int, walk: _Walk, event: Event, later: Event, names: Names) -> str:
    """What a step does with the state, in a formula; of a product that does nothing with it, what it makes."""
    keys, queries = _span(walk.keys), _span(walk.queries[1] if walk.queries else None)
    carried, name, weights = names.carried, names.state, names.weights
    k, v, q = short(carried.keys), short(carried.values), short(carried.queries)
    if deed == STARTS:
        if event.kind != "load" or event.tensor not in (*carried.start, *carried.chunks) or event.tile is None:
            return f"{name} starts here"
        chunk = f", chunk {event.tile.box[-3][0]}" if event.tensor in carried.chunks else ""
        seen = f": tokens {_said(walk.seen)}" if walk.seen else ""
        return f"{name} starts from {short(event.tensor)}{chunk}{seen}"
    if carried.added:
        return _sum_words(deed, walk, event, names)
    if deed == ADDS:
        return f"{name} {'+=' if name in event.state else '='} φ({k}{keys})ᵀ · {v}{keys}"
    if deed == READS and name:
        held = f", which holds {f'keys {_said(walk.seen)}' if walk.seen else 'no keys so far'}"
        return f"φ({q}{queries}) · {name}{held if walk.known else ''}"
    if event.kind == "dot" and weights:
        if not _same(event.state.get(weights), later.state.get(weights)):
            return f"{weights} = φ({q}{queries}) · φ({k}{keys})ᵀ, on chip"
        if weights in _operands(names.dots, event):
            return f"+ {weights} · {v}{keys}: the keys of this chunk"
    return ""


def _sum_words(deed: int, walk: _Walk, event: Event, names: Names) -> str:
    """The same, of a sum of states that were there already."""
    carried, added = names.carried, short(names.carried.added)
    if deed == ADDS:
        return f"{names.state} += " + " + ".join(f"{added}{_span(rows)}" for rows in _merged(walk.loaded))
    if deed == READS and not walk.known:
        return f"{short(event.tensor)} = {names.state}" if names.state else ""
    if deed == READS:
        first = short(carried.start[0]) if carried.start else "the start"
        held = f"{first} and all of {added}[{_said(walk.seen)}]" if walk.seen else f"only {first}"
        return f"{short(event.tensor)} = {names.state}: {held}"
    return ""


def _said(spans: Sequence[Span]) -> str:
    return ", ".join(f"{a}:{b}" for a, b in _merged(spans))


def _span(rows: Span | None) -> str:
    if rows is None:
        return ""
    return f"[{rows[0]}]" if rows[1] == rows[0] + 1 else f"[{rows[0]}:{rows[1]}]"


def numbered(items: list[Any], item: Any) -> int:
    """The number of an item in a list, to which it is added if it is new."""
    if item not in items:
        items.append(item)
    return items.index(item)
