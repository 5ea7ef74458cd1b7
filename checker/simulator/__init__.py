"""Runs a kernel on the CPU, one program after another, and records what it touched.

`launch.simulate` runs one launch; `lockstep` runs many at once, as long as they are clean. A kernel's functions are rewritten
(`rewrite`) so that Triton's own front end (`triton_internals`) asks our `builder` for one primitive of `operations/` after
another. `memory` checks the bounds of each access and shows it to the observers that the caller chose: `recorder`, `races`.
What they saw is a `trace`, plain data; `findings` in it are defects.
"""

from checker.simulator.errors import SimulationError
from checker.simulator.launch import simulate
from checker.simulator.lockstep.together import simulate_together
from checker.simulator.trace import Finding, SimulateOptions, Trace

__all__ = ["Finding", "SimulateOptions", "SimulationError", "Trace", "simulate", "simulate_together"]
