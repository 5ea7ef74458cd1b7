"""The server that a class needs, computed from what one learner took when it was measured (reports/room.md)."""

from __future__ import annotations

from dataclasses import dataclass

LEARNER = 350.0  # MB of a notebook's kernel and its worker that no other learner shares
JUPYTER = 110.0  # MB of a learner's Jupyter server on a JupyterHub
CHECK = 100.0  # MB more during a check
SYSTEM = 2000.0  # MB for the system, the hub, the board and everything that learners share
PROCESSOR = 2.5  # seconds of a core for one check, on average over right and wrong kernels
PACE = 90.0  # seconds between two checks of a learner at work; a class that is stuck checks less often
SHARE = 0.7  # of the cores may be busy with checks; the rest is for editing, films and bursts


@dataclass(frozen=True)
class Needs:
    """Memory in GB, cores, and the seconds until the last verdict if all learners check at once on those cores."""

    memory: float
    cores: int
    burst: float


def needs(learners: int) -> Needs:
    """Cores for a class in which each learner checks every `PACE` seconds; memory for all, and for two checks per core."""
    cores = max(2, round(learners * PROCESSOR / PACE / SHARE + 0.5))
    memory = SYSTEM + learners * (LEARNER + JUPYTER) + CHECK * min(2 * cores, learners)
    return Needs(memory / 1024, cores, learners * PROCESSOR / cores)
