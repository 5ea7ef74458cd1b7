"""What `rungs` found, as a plot in a notebook and as lines elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Rung:
    """One rung at one size: the bytes its budget allows, the bytes its kernel moved, and its time where there is a GPU.

    It is timed with the size `grown` made as large as `grown_to`, so that every multiprocessor has work; `timed_bytes` are
    those that the budget allows there.
    """

    puzzle: str
    predicted: int
    counted: int
    own: bool  # the learner's kernel, not the course's
    seconds: float | None = None
    timed_bytes: int = 0
    grown: str = ""
    grown_to: int = 0

    @property
    def label(self) -> str:
        return self.puzzle + ("" if self.own else " *")

    @property
    def time(self) -> str:
        seconds = self.seconds or 0.0
        return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"

    @property
    def rate(self) -> str:
        return f"{self.timed_bytes / (self.seconds or 1.0) / 1e9:,.0f} GB/s"


@dataclass(frozen=True)
class Comparison:
    """What `rungs` found; a notebook shows it as a plot."""

    rungs: tuple[Rung, ...]
    device: str = ""

    def _repr_html_(self) -> str:
        from checker.view.plots import traffic_plot

        bars = [(rung.label, rung.predicted, rung.counted) for rung in self.rungs]
        plot = traffic_plot(bars, title="Bytes between memory and chip")._repr_html_()
        words = "".join(f"<p>{escape(line)}</p>" for line in self._words())
        return plot + words

    def __repr__(self) -> str:
        lines = [
            f"{r.label}: {r.predicted:,} B predicted, {r.counted:,} counted" + (f", {r.time}" if r.seconds else "")
            for r in self.rungs
        ]
        note = [] if all(r.own for r in self.rungs) else ["* the course's solution"]
        return "\n".join(lines + note)

    def _words(self) -> list[str]:
        words = [
            f"{r.puzzle}: {r.time}, {r.rate} on the {self.device}, with {r.grown} = {r.grown_to:,}."
            for r in self.rungs
            if r.seconds
        ]
        if not all(rung.own for rung in self.rungs):
            words.append("Rungs marked with * you have not solved yet: what is counted there is the course's solution.")
        return words
