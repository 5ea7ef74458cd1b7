from tests.judge.conftest import runner  # noqa: F401
