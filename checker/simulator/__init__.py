"""Runs a kernel on the CPU, one program after another, and records what it touched."""

from checker.simulator.errors import SimulationError
from checker.simulator.launch import simulate
from checker.simulator.parts import trace_from_parts, trace_to_parts
from checker.simulator.trace import Event, Finding, SimulateOptions, TensorInfo, Tile, Trace, Traffic

__all__ = [
    "Event",
    "Finding",
    "SimulateOptions",
    "SimulationError",
    "TensorInfo",
    "Tile",
    "Trace",
    "Traffic",
    "simulate",
    "trace_from_parts",
    "trace_to_parts",
]
