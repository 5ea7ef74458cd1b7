"""The fixtures of `tests/verbs`."""

from tests.verbs.conftest import solve, space  # noqa: F401
