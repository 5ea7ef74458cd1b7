"""Another process: warm start, limits, isolation, and a protocol over which only data comes back.

On the trusted side, from the call to its result:

    sandbox        `Sandbox`: compile, simulate, launch, time
    compile_pool   compilations side by side
    worker_client  the worker's process and its jobs: started, handed over, how they ended
    shared_memory  the tensors of a launch, in memory that both sides see
    plausible      whether a trace can belong to a launch

On the other side, from the warm process to the foreign code:

    worker         imports everything once (`warm_up`) and forks a job whenever it is asked to
    supervisor     outlives the job and all it starts
    isolation      limits and layers around it, with what `linux` offers; `self_test` tries to break out
    job_main       what a job does once it is isolated

Between the two:

    protocol       frames and messages, and how they are read
    tasks          what a job is asked and what it answers
"""

from __future__ import annotations

from checker.sandbox.isolation import Limits
from checker.sandbox.sandbox import Sandbox

__all__ = ["Limits", "Sandbox"]
