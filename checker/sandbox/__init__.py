"""Another process: warm start, limits, isolation, and a protocol over which only data comes back."""

from __future__ import annotations

from checker.sandbox.host import Sandbox
from checker.sandbox.limits import Limits

__all__ = ["Limits", "Sandbox"]
