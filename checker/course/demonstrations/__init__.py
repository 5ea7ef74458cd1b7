"""What is shown and not asked: kernels that the course tells a story with. They are not graded, and worth no points.

A demonstration is described as a puzzle is, so that the same machinery launches it, compares it with its reference and
films it, but it stands in no ladder and has no hints. Its kernel lies in `solutions/demonstrations/`, whole.
"""

from __future__ import annotations

from checker.course import linear_pipeline
from checker.course.demonstrations import feature_slices, gradients_by_atomics
from checker.puzzle import Pipeline, Puzzle

DEMONSTRATIONS: dict[str, Puzzle] = {
    shown.name: shown for shown in (feature_slices.DEMONSTRATION, gradients_by_atomics.DEMONSTRATION)
}
FOLDER = "demonstrations"
"""Where their kernels lie, below `solutions/`."""

PIPELINES: dict[str, Pipeline] = {linear_pipeline.PIPELINE.name: linear_pipeline.PIPELINE}
"""Puzzles whose kernels make one thing together."""
