"""The hooks at conditions, for many programs at once."""

from __future__ import annotations

import numpy as np

from checker.simulator.conditions import Conditions
from checker.simulator.lockstep.programs import Programs


class LockstepConditions(Conditions):
    """Counts the lanes of running programs only: what the others hold is arbitrary."""

    front = 1
    programs: Programs

    def begin(self, programs: Programs) -> None:
        """Forget what was seen: from here on, `programs` run."""
        self.programs, self.seen = programs, {}

    def taking_part(self, lanes: np.ndarray) -> np.ndarray:
        running = self.programs.running
        return lanes[running] if running is not None and lanes.ndim and len(lanes) == len(running) else lanes
