"""Runs a kernel on the CPU, one program after another, and records what it touched.

From the ground up; a module imports only from those above it:

    trace       the record of a launch, as plain data; and what a caller may have observed
    trace_codec   a trace as bytes, and back without trusting them
    errors      what a kernel raises, in words for the learner who wrote it
    numerics    arithmetic as the GPU does it
    device_tensor   one tensor at virtual addresses, and who touched its elements
    values      a value with its type, its tensor, its undefined lanes and the origin of its NaNs
    builder_calls   records the builder calls of an operation and replays them
    access      from addresses to elements of one tensor
    tiles       which tile of its tensor an access touches
    triton_internals   Triton's language bound to our builder; the only module that uses Triton's private names
    location    the line and the loops that the running program is in
    findings    defects, as data
    recorder    observers: bytes moved, events with the kernel's variables
    races       the observer of races
    memory      loads, stores and atomics
    operations/   the primitives of Triton's front end, computed at once, by kind
    builder     all primitives together, with programs, prints and assertions
    promises    what a kernel promises the compiler about its values
    language    loops, conditions, `and`, `or`, `min`, `max`, and what is refused
    rewrite     jitted functions as Python functions that compute on handles and report their loops
    launch      one launch from its arguments to its `Trace`: `simulate`
    lockstep/   many launches at once, as long as they are clean: `simulate_together`
"""

from checker.simulator.errors import SimulationError
from checker.simulator.launch import simulate
from checker.simulator.lockstep.together import simulate_together
from checker.simulator.trace import Finding, SimulateOptions, Trace

__all__ = ["Finding", "SimulateOptions", "SimulationError", "Trace", "simulate", "simulate_together"]
