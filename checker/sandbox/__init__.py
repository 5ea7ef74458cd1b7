"""Learners' kernels run in another process: started warm, limited and isolated, over a protocol that brings back only data.

On the trusted side, `sandbox` opens a `session` for each verdict, whose jobs the worker in `client` starts. On the other side,
`worker` forks a `supervisor` and a `job` for each request, inside the layers of `isolation`. `protocol` and `tasks` are what
crosses. All that is for Linux; elsewhere `plain` hands the same jobs to a `plain_worker`, without isolation.
"""

from __future__ import annotations

from checker.sandbox.limits import Limits
from checker.sandbox.sandbox import NO_ISOLATION, Sandbox

__all__ = ["NO_ISOLATION", "Limits", "Sandbox"]
