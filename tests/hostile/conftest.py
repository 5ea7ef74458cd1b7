"""The sandbox of the tests of grading."""

from tests.grading.conftest import sandbox  # noqa: F401
