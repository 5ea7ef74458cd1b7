"""Another process: warm start, limits, isolation, and a protocol over which only data comes back.

On the trusted side, from the call to its result:

    host        `Sandbox`: compile, simulate, launch, time
    lanes       compilations side by side
    process     the worker's process: started, handed jobs, started again
    job         one job: its sockets, and how it ended
    answers     what a job answers, read with suspicion

On the other side, from the warm process to the foreign code:

    worker      imports everything once (`warm`) and forks a job whenever it is asked to
    supervisor  outlives the job and all it starts
    isolation   the walls around it: `landlock`, `seccomp`, namespaces, limits; `probe` tries them, `syscalls` Python lacks
    jobs        what a job does once its walls stand

Between the two:

    wire        frames; `codec` turns dataclasses into them and back, `tensors` cross in shared memory
    limits      what a job may use
"""

from __future__ import annotations

from checker.sandbox.host import Sandbox
from checker.sandbox.limits import Limits

__all__ = ["Limits", "Sandbox"]
