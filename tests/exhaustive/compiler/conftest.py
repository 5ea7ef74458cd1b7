"""The fixtures of `tests/compiler`."""

from tests.compiler.conftest import _own_cache  # noqa: F401
