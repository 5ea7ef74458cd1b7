"""The exit codes of ``python -m checker``."""

PASSED, FAILED, USAGE, BROKEN = 0, 1, 2, 3
