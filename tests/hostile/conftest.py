"""The sandbox from the tests of grading."""

from tests.classroom.grading.conftest import sandbox  # noqa: F401
