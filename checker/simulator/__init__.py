"""Runs a kernel on the CPU, one program after another, and records what it touched.

From the ground up; a module imports only from those above it:

    trace       what a launch leaves behind, as plain data
    trace_codec   a trace as bytes, and back with suspicion
    errors      what a kernel raises, in words for the learner who wrote it
    numerics    arithmetic as the GPU does it
    device_tensor   one tensor at virtual addresses, and who touched its elements
    values      a value with its type, its tensor, its undefined lanes and where its NaNs come from
    builder_calls   what an operation of the language asks of the builder, kept to be asked again
    access      from addresses to elements of one tensor
    tiles       which tile of its tensor an access touches
    triton_internals   Triton's language bound to our builder; alone in using names that Triton does not promise to keep
    location    where the running program stands
    findings    what was wrong, in a learner's words
    races       who else touched an element
    recorder    what happened: events, the state beside them, bytes
    memory      loads, stores and atomics
    operations/   what Triton's front end asks for, computed at once, by kind
    builder     puts the operations together, with programs, prints and assertions
    promises    what a kernel tells the compiler of its values
    language    what the language means here: loops, conditions, `and`, `or`, `min`, `max`, and what is refused
    rewrite     the jitted functions of a launch as Python functions that compute on handles and report their loops
    launch      one launch from its arguments to its `Trace`: `simulate`
    lockstep/   many launches at once, as long as nothing is found in them: `simulate_together`
"""

from checker.simulator.errors import SimulationError
from checker.simulator.launch import simulate
from checker.simulator.lockstep.together import simulate_together
from checker.simulator.trace import Finding, SimulateOptions, Trace

__all__ = ["Finding", "SimulateOptions", "SimulationError", "Trace", "simulate", "simulate_together"]
