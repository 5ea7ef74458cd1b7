"""What a learner does in a session, on a system that is not Linux; prints what came of it as JSON.

The workflow runs it on macOS and on Windows, too, where it has to reach its end.
"""

from __future__ import annotations

import _thread
import contextlib
import io
import json
import os
import platform
import threading
from pathlib import Path

from checker import cli
from checker.checking import check_source
from checker.course import PUZZLES
from checker.judge.verdict import Verdict
from checker.misconceptions import bank, quick
from checker.sandbox import Limits, Sandbox
from checker.submission.kernel import KernelSource
from checker.verbs.film import film_of
from tests.judge.helpers import solution
from tests.sandbox.conftest import does, kernel, launch, works

PUZZLE = quick(PUZZLES["row_softmax"])
WRONG = ("no_max_subtraction", "columns_for_rows", "reads_x_twice")
NAN = "no_other"
ENDLESS = ["while N > 0:", "    N = N + 1"]
GREEDY = ["held = []", "for k in range(4000):", "    held.append(tl.zeros([65536], tl.float64) + k)"]


SYSTEM = os.environ.get("LIKE") or platform.system()


def wrong(name: str) -> KernelSource:
    return next(one.source for one in bank(PUZZLE.name) if one.name == name)


def facts(verdict: Verdict) -> list[object]:
    """What must not depend on the system; without a compiler, its gate has another status."""
    failed, diagnosis = verdict.failure, verdict.diagnosis
    told = [failed.gate, failed.status, failed.message, failed.line] if failed else []
    return [verdict.status, *told, diagnosis.misconception if diagnosis else None]


def verdicts(runner: Sandbox) -> dict[str, object]:
    kernels = {"right": solution(PUZZLE.name), **{name: wrong(name) for name in WRONG}}
    return {name: facts(check_source(PUZZLE, source, "cpu", runner=runner)) for name, source in kernels.items()}


def main() -> None:
    seen: dict[str, object] = {}
    with Sandbox(Limits(simulate=2.0)) as sandbox:
        seen["tier"] = sandbox.tier
        seen["verdicts"] = verdicts(sandbox)
        pid = sandbox.worker.pid
        early = sandbox.simulate(kernel(), [launch()] * 4)
        next(early)
        early.close()  # type: ignore[attr-defined]
        works(sandbox)
        seen["the process stays"] = sandbox.worker.pid == pid

        (endless,) = sandbox.simulate(does(*ENDLESS), [launch()])
        seen["endless"] = [endless.status, endless.line]
        works(sandbox)
        (asleep,) = sandbox.simulate(kernel("import os; os._exit(7)"), [launch()])
        seen["crashed"] = [asleep.status, asleep.message]
        works(sandbox)

        threading.Timer(0.5, _thread.interrupt_main).start()  # as Ctrl-C
        try:
            list(sandbox.simulate(does(*ENDLESS), [launch()]))
        except KeyboardInterrupt:
            seen["interrupted"] = True
        works(sandbox)
    if SYSTEM == "Darwin":  # where the system has neither Linux's limits nor Job Objects
        with Sandbox(Limits(simulate=60.0, memory=128 << 20)) as small:
            (greedy,) = small.simulate(does(*GREEDY), [launch()])
            seen["greedy"] = greedy.status
    seen["film"] = len(film_of(PUZZLE, wrong(NAN), {}, "failing").html)  # type: ignore[union-attr]
    with contextlib.redirect_stderr(io.StringIO()) as refused, contextlib.suppress(SystemExit):
        seen["graded"] = cli.main(["grade", str(Path("solutions/row_softmax.py"))])
    seen["refusal"] = refused.getvalue()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
