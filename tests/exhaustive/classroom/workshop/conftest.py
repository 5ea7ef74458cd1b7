"""The fixtures of `tests/classroom/workshop`."""

from tests.classroom.workshop.conftest import board, start  # noqa: F401
