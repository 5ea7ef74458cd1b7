"""From outputs and traces to a verdict: `judge` runs the gates, `verdict_to_json` writes one puzzle of `result/v1`."""

from checker.judge.decide import judge
from checker.judge.result import verdict_to_json

__all__ = ["judge", "verdict_to_json"]
