"""From outcomes and traces to a verdict: a module for each gate, the smallest failing case, the diagnosis.

`checker.checking` calls them in their order.
"""

from checker.judge.result_v1 import verdict_to_json

__all__ = ["verdict_to_json"]
