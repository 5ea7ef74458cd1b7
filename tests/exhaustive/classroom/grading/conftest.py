"""The fixtures of `tests/classroom/grading`."""

from tests.classroom.grading.conftest import sandbox  # noqa: F401
