"""Runs a kernel on the CPU, one program after another, and records what it touched.

In the order in which a launch passes through:

    launch      one launch from its arguments to its `Trace`: `simulate`
    rewrite     a kernel's source as a Python function that computes on handles and reports its loops
    functions   the jitted functions of the launch, each rewritten when it is first called
    language    what the language means here: loops, conditions, `and`, `or`, `min`, `max`, and what is refused
    seam        Triton's language bound to our builder; alone in touching names that Triton does not promise to keep
    builder     what Triton's front end asks for, computed at once; its `operations/` by kind
      numerics    arithmetic as the GPU does it
      values      a value with its type, its tensor, its undefined lanes and where its NaNs were born
    memory      loads, stores and atomics
      region      one tensor at virtual addresses
      access      from addresses to elements of one tensor
      races       who else touched them
    recorder    what happened: events and bytes
      frames      where the running program stands
      state       what its variables hold
      boxes       which tile an access touched
      findings    what was wrong, in the `words` of a learner
    trace       all of it, as plain data
      parts       a trace as JSON and arrays, and back, `reading` with suspicion
    errors      what a kernel raises, in words for the learner who wrote it
"""

from checker.simulator.errors import SimulationError
from checker.simulator.launch import simulate
from checker.simulator.parts import trace_from_parts, trace_to_parts
from checker.simulator.trace import Event, Finding, SimulateOptions, TensorInfo, Tile, Trace, Traffic

__all__ = [
    "Event",
    "Finding",
    "SimulateOptions",
    "SimulationError",
    "TensorInfo",
    "Tile",
    "Trace",
    "Traffic",
    "simulate",
    "trace_from_parts",
    "trace_to_parts",
]
