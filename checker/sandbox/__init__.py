"""Learners' kernels run in another process: started warm, limited and isolated, over a protocol that brings back only data.

On the trusted side, `sandbox` opens a `session` for each verdict, whose jobs the worker in `client` starts. On the other side,
`worker` forks a `supervisor` and a `job` for each request, inside the layers of `isolation`. `protocol` and `tasks` are what
crosses.
"""

from __future__ import annotations

from checker.sandbox.isolation import Limits
from checker.sandbox.sandbox import Sandbox

__all__ = ["Limits", "Sandbox"]
