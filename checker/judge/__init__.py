"""From outcomes and traces to a verdict: a module for each gate, the plainest failing case, the diagnosis.

`checker.checking` calls them in their order.
"""
