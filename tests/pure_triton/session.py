"""A check and two grades in one process, as JSON: what they print where no Triton is installed."""

from __future__ import annotations

import contextlib
import io
import json

from checker import cli

KERNEL = "solutions/vector_add.py"


def printed(*arguments: str) -> tuple[str, str]:
    """Standard output and standard error."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        cli.main(list(arguments))
    return out.getvalue(), err.getvalue()


if __name__ == "__main__":
    card, grade = printed("check", KERNEL)[0], printed("grade", KERNEL, "--json", "-")[0]
    print(json.dumps({"card": card, "grade": grade, "refusal": printed("grade", KERNEL, "--require-compiler")[1]}))
