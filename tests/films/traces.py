"""Traces as the simulator would hand them over, computed with numpy from what each kernel does."""

from __future__ import annotations

from typing import Any

import numpy as np

from checker.simulator.trace import Event, Finding, TensorInfo, Tile, Trace, Traffic
from tests.view.verdicts import line_of, solution


class Recorder:
    """Collects events of a made-up launch; boxes are cut at the tensors' edges as masks would."""

    def __init__(self, grid: tuple[int, int, int], shapes: dict[str, tuple[int, ...]], dtype: str = "float32") -> None:
        self.grid, self.events, self.findings = grid, list[Event](), list[Finding]()
        strides = {n: tuple(int(np.prod(s[i + 1 :])) for i in range(len(s))) for n, s in shapes.items()}
        self.tensors = {n: TensorInfo(s, strides[n], dtype) for n, s in shapes.items()}
        self.itemsize = 2 if "16" in dtype else 4

    def touch(
        self,
        program: int | tuple[int, int, int],
        kind: str,
        tensor: str,
        box: tuple[tuple[int, int], ...],
        line: int,
        loops: tuple[tuple[str, int], ...] = (),
        state: dict[str, Any] | None = None,
        masks: bool = True,
        other: bool = True,
    ) -> None:
        shape = self.tensors[tensor].shape
        cut = tuple((min(max(a, 0), s), max(min(b, s), 0)) for (a, b), s in zip(box, shape, strict=True))
        lanes = int(np.prod([b - a for a, b in box]))
        inside = int(np.prod([max(b - a, 0) for a, b in cut]))
        hidden = lanes - inside
        self.events.append(
            Event(
                step=len(self.events),
                program=(program, 0, 0) if isinstance(program, int) else program,
                kind=kind,  # type: ignore[arg-type]
                tensor=tensor,
                line=line,
                function="kernel",
                loops=loops,
                tile=Tile(box, cut if inside else None),
                bytes=inside * self.itemsize,
                masked=hidden if masks else 0,
                undefined=0 if other else hidden,
                out_of_bounds=0 if masks else hidden,
                state=state or {},
            )
        )

    def trace(self) -> Trace:
        traffic: dict[str, Traffic] = {}
        for name in self.tensors:
            mine = [e for e in self.events if e.tensor == name]
            loads = [e.bytes for e in mine if e.kind == "load"]
            stores = [e.bytes for e in mine if e.kind == "store"]
            traffic[name] = Traffic(sum(loads), sum(stores), len(loads), len(stores))
        return Trace(self.grid, self.tensors, self.events, self.findings, traffic, {})


def vector_add(n: int = 10, block: int = 4, masks: bool = True) -> tuple[Trace, dict[str, np.ndarray]]:
    source, rng = solution("vector_add"), np.random.default_rng(0)
    x, y = rng.normal(size=n), rng.normal(size=n)
    grid = -(-n // block)
    rec = Recorder((grid, 1, 1), {"x_ptr": (n,), "y_ptr": (n,), "z_ptr": (n,)})
    for p in range(grid):
        box = ((p * block, p * block + block),)
        offs = list(range(*box[0]))
        state: dict[str, Any] = {"pid": p, "offs_n": offs, "mask": [o < n for o in offs]}
        rec.touch(p, "load", "x_ptr", box, line_of(source, "tl.load(x_ptr"), state=dict(state), masks=masks)
        state["x"] = [float(x[o]) if o < n else 0.0 for o in offs]
        rec.touch(p, "load", "y_ptr", box, line_of(source, "tl.load(y_ptr"), state=dict(state), masks=masks)
        state["y"] = [float(y[o]) if o < n else 0.0 for o in offs]
        rec.touch(p, "store", "z_ptr", box, line_of(source, "tl.store"), state=dict(state), masks=masks)
    if not masks:
        rec.findings.append(
            Finding(
                "out_of_bounds_load",
                f"Program {grid - 1} reads {grid * block - n} elements past the end of x: line {line_of(source, 'tl.load(x_ptr')} has no mask.",
                line_of(source, "tl.load(x_ptr"),
                (grid - 1, 0, 0),
                "x_ptr",
                ((n,),),
                grid * block - n,
            )
        )
        rec.findings.append(Finding("unwritten", "3 elements of z were never stored.", tensor="z_ptr", count=3))
    return rec.trace(), {"x_ptr": x, "y_ptr": y, "z_ptr": x + y}


def row_softmax(m: int = 4, n: int = 7, block: int = 8) -> tuple[Trace, dict[str, np.ndarray]]:
    source, rng = solution("row_softmax"), np.random.default_rng(1)
    x = rng.normal(size=(m, n))
    y = np.exp(x - x.max(1, keepdims=True))
    total = y.sum(1, keepdims=True)
    rec = Recorder((m, 1, 1), {"x_ptr": (m, n), "y_ptr": (m, n)})
    for p in range(m):
        box = ((p, p + 1), (0, block))
        state: dict[str, Any] = {"row": p, "mask": [o < n for o in range(block)][:32]}
        rec.touch(p, "load", "x_ptr", box, line_of(source, "tl.load(x_ptr"), state=dict(state))
        state |= {"m_i": float(x[p].max()), "l_i": float(total[p, 0])}
        if block <= 32:
            state |= {
                "x": [float(v) for v in x[p]] + [float("-inf")] * (block - n),
                "p": [float(v) for v in y[p]] + [0.0] * (block - n),
            }
        rec.touch(p, "store", "y_ptr", box, line_of(source, "tl.store"), state=dict(state))
    return rec.trace(), {"x_ptr": x, "y_ptr": y / total}


def online(m: int, n: int, block: int) -> tuple[Trace, dict[str, np.ndarray]]:
    """Two passes over chunks, running maximum and sum."""
    rng, source = np.random.default_rng(2), solution("row_softmax")
    x = np.sort(rng.normal(size=(m, n)), axis=1)
    rec = Recorder((m, 1, 1), {"x_ptr": (m, n), "y_ptr": (m, n)})
    load, store = line_of(source, "tl.load(x_ptr"), line_of(source, "tl.store")
    for p in range(m):
        peak, total = -np.inf, 0.0
        for start in range(0, n, block):
            box = ((p, p + 1), (start, start + block))
            rec.touch(p, "load", "x_ptr", box, load, (("start_n", start),), {"m_i": peak, "l_i": total})
            chunk = x[p, start : start + block]
            new = max(peak, chunk.max())
            total = total * np.exp(peak - new) + np.exp(chunk - new).sum()
            peak = new
        for start in range(0, n, block):
            box = ((p, p + 1), (start, start + block))
            state = {"m_i": peak, "l_i": total}
            rec.touch(p, "load", "x_ptr", box, load, (("start_n", start),), state)
            rec.touch(p, "store", "y_ptr", box, store, (("start_n", start),), state)
    return rec.trace(), {"x_ptr": x, "y_ptr": x}


def flash(b: int = 2, h: int = 2, n: int = 40, d: int = 16, bm: int = 16, bn: int = 16) -> tuple[Trace, dict[str, Any]]:
    """Attention over [B, H, N, D] with vectors m_i, l_i and an accumulator per program."""
    rng, source = np.random.default_rng(3), solution("row_softmax")
    shape = (b, h, n, d)
    rec = Recorder((-(-n // bm), b * h, 1), dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), shape), "float16")
    load, store = line_of(source, "tl.load(x_ptr"), line_of(source, "tl.store")
    for y in range(b * h):
        lead = ((y // h, y // h + 1), (y % h, y % h + 1))
        for p in range(-(-n // bm)):
            rows = (p * bm, p * bm + bm)
            rec.touch((p, y, 0), "load", "q_ptr", (*lead, rows, (0, d)), load)
            m_i, l_i = np.full(bm, -np.inf), np.zeros(bm)
            for start in range(0, n, bn):
                state = {"m_i": m_i.tolist(), "l_i": l_i.tolist(), "acc": rng.normal(size=(bm, d)).tolist()}
                chunk, loops = (*lead, (start, start + bn), (0, d)), (("start_n", start),)
                rec.touch((p, y, 0), "load", "k_ptr", chunk, load, loops, state)
                rec.events.append(
                    Event(len(rec.events), (p, y, 0), "dot", "", load + 1, "kernel", loops, None, state=state)
                )
                rec.touch((p, y, 0), "load", "v_ptr", chunk, load + 2, loops, state)
                m_i, l_i = np.maximum(m_i, rng.normal(size=bm)), l_i + rng.random(bm)
            state = {"m_i": m_i.tolist(), "l_i": l_i.tolist()}
            rec.touch((p, y, 0), "store", "o_ptr", (*lead, rows, (0, d)), store, state=state)
    return rec.trace(), {}
