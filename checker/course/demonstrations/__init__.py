"""Demonstrations: kernels that the course shows and does not ask for. They are not graded.

A demonstration is described like a puzzle, so that the same code launches it, compares it with its reference and films it. It has
no place in the ladder, no points and no hints. Its whole kernel is in `solutions/demonstrations/`.
"""

from __future__ import annotations

from checker.course import linear_pipeline
from checker.course.demonstrations import feature_slices, gradients_by_atomics
from checker.puzzle import Pipeline, Puzzle

DEMONSTRATIONS: dict[str, Puzzle] = {
    shown.name: shown for shown in (feature_slices.DEMONSTRATION, gradients_by_atomics.DEMONSTRATION)
}
FOLDER = "demonstrations"
"""The folder of their kernels, below `solutions/`."""

PIPELINES: dict[str, Pipeline] = {linear_pipeline.PIPELINE.name: linear_pipeline.PIPELINE}
"""Puzzles whose kernels compute one result together."""
