"""Learners' kernels run in another process: started warm, limited and isolated, over a protocol that brings back only data.

The trusted side, from the call to its result:

    sandbox         `Sandbox`, the room's front door
    session         one verdict's simulations, launches and timings
    compilations    compilations side by side
    client          the worker's process and its jobs
    shared_memory   a launch's tensors in memory that both sides see, and whether a trace can belong to them

The other side, from the warm process to untrusted code:

    worker          imports everything once, and forks a job for each request
    supervisor      outlives the job and all it starts
    isolation       limits and layers around the job, built on `linux`; `probe` tries to break out
    job             what a job does once it is isolated

In between:

    protocol        frames and messages, and how they are decoded
    tasks           what a job is asked and what it answers
"""

from __future__ import annotations

from checker.sandbox.isolation import Limits
from checker.sandbox.sandbox import Sandbox

__all__ = ["Limits", "Sandbox"]
