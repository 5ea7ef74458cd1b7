"""Tile by Tile: Triton kernels from row softmax to FlashAttention and linear attention, one tile at a time.

What a learner types, in a notebook or in Python:

    check(row_softmax_kernel)          is it right, and if not, why not
    film(row_softmax_kernel, N=13)     watch it load and store, tile by tile
    with film(): …                     watch any launch, kernel[grid](x, y, N, BLOCK_N=8)
    hint(row_softmax_kernel)           a question, then an idea, then a skeleton
    xray(row_softmax_kernel)           what the compiler makes of it
    bench(row_softmax_kernel)          how fast it is on this machine's GPU
    predicted("…", prediction, answer) compare your guess with the result
    progress()                         what you have solved and what comes next
    reset("row_softmax")               restore the empty stub; your version is saved
    doctor()                           what works on this machine

In a class, once the instructor shows an address:

    join("tile-7k3fw@host")            from now on `check` reports its verdict to the class's board, never your code
    guess("the same")                  answer the question that the class is asked
    done(), hand()                     say that you are ready, or ask for help
    leave()                            stop reporting, and have the board delete your reports

In a shell: `python -m checker --help`.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, overload

from checker.pure_triton import use_if_there_is_no_wheel as _use_pure_triton
from checker.verbs.arguments import Stopped as _Stopped
from checker.verbs.arguments import kernel_named as _kernel_named
from checker.verbs.arguments import need as _need

_use_pure_triton()

if TYPE_CHECKING:  # `import checker` imports neither torch nor triton
    from checker.judge.verdict import Verdict
    from checker.lens.session import Filming
    from checker.verbs.bench import Benchmark
    from checker.verbs.doctor import DoctorReport
    from checker.verbs.film import Film
    from checker.verbs.hint import ShownHint
    from checker.verbs.parts import CheckedParts
    from checker.verbs.progress import ProgressSummary
    from checker.verbs.reset import Reset
    from checker.view.panel import Panel

__all__ = [
    "bench",
    "check",
    "doctor",
    "done",
    "film",
    "guess",
    "hand",
    "hint",
    "join",
    "leave",
    "predicted",
    "progress",
    "reset",
    "xray",
]


@overload
def check(kernel: Any = None, device: str = "auto", *, amd: bool = False) -> Verdict: ...
@overload
def check(kernel: Any = None, device: str = "auto", *, only: str) -> Verdict | CheckedParts: ...
def check(kernel: Any = None, device: str = "auto", *, only: str = "", amd: bool = False) -> Verdict | CheckedParts:
    """Judge a kernel, show the verdict as a card and return it.

    `kernel` is the ``@triton.jit`` function, the name of a puzzle, or the path of a file with one kernel. `device` is "auto" (which
    uses a GPU if there is one), "cpu" or "cuda". Some puzzles have parts: `only` names the last part to judge, so that an
    unfinished kernel can be checked. ``amd=True`` also compiles a right kernel for two of AMD's GPUs, and warns where one refuses it.
    """
    _need("torch", "triton")
    try:
        from checker.verbs.check import check
    except KeyboardInterrupt:
        raise _Stopped from None
    return check(kernel, device, only, amd)


@overload
def film() -> Filming: ...
@overload
def film(kernel: Any, case: str = "", **sizes: int) -> Film | None: ...
def film(kernel: Any = None, case: str = "", **sizes: int) -> Film | Filming | None:
    """Show which tiles a kernel loads and stores, step by step, at small sizes: ``film(row_softmax_kernel, N=13, BLOCK_N=16)``.

    ``case="failing"`` films the plainest case that fails. Save a film as a page with ``film(...).save("film.html")``. If the
    kernel cannot run, its verdict is shown instead.

    Without a kernel, films whatever you launch inside: ``with film(): kernel[grid](x, y, N, BLOCK_N=8)``.
    """
    _need("torch", "triton")
    if kernel is None and not case and not sizes:
        from checker.lens import film as filming

        return filming()
    from checker.verbs.film import film

    return film(kernel, sizes, case)


def xray(kernel: Any = None, **choices: Any) -> Panel:
    """Compile a kernel for every GPU of the course, none of which need be present, and show registers, memory, loads and more.

    You may choose any size, tile size or flag of the puzzle, the ``dtype``, and the launch's options:
    ``xray(kernel, dtype="float16", BLOCK_N=128, num_warps=8, num_stages=3)``. The default is a case made for a GPU.
    ``amd=True`` also compiles it for two of AMD's GPUs, of which only registers, spills and shared memory (LDS) are shown.
    """
    _need("torch", "triton")
    from checker.verbs.xray import xray_and_show

    return xray_and_show(*_kernel_named(kernel, "xray"), choices)[0]


def bench(kernel: Any = None, **choices: Any) -> Benchmark | Panel | Verdict:
    """Time a passing kernel on this machine's GPU against the course's solution and libraries. Without a GPU, predict the limits.

    You may choose any size, tile size or flag of the puzzle, the ``dtype``, and the launch's options:
    ``bench(kernel, N=65_536, dtype="bfloat16", num_warps=8)``. The default is cases made for a GPU.
    """
    _need("torch", "triton")
    from checker.verbs.bench import bench_and_show

    return bench_and_show(*_kernel_named(kernel, "bench"), choices)


def hint(kernel: Any = None, level: int | str | None = None) -> ShownHint:
    """Show the next of three hints: a question, an idea, a skeleton. After you pass: why it works, and the course's solution.

    `kernel` is the kernel or the puzzle's name. `level` (1 to 3) shows that hint.
    """
    _need("torch")
    from checker.verbs.hint import hint

    return hint(kernel, level)


def predicted(question: str, prediction: Any, answer: Any, within: float = 0.1, typical: Any = None) -> None:
    """Show your prediction beside the answer. `progress` counts how often your first one was right.

    A number is right if it differs from the answer by at most the fraction `within`. `typical` has replies to wrong answers.
    """
    _need("torch")
    from checker.verbs.predicted import predicted

    predicted(question, prediction, answer, within, typical)


def progress() -> ProgressSummary:
    """Show what you have tried and solved, how often you predicted right, and what comes next. The records are in `.tile-by-tile/`."""
    _need("torch")
    from checker.verbs.progress import progress

    return progress()


def reset(puzzle: Any = None) -> Reset:
    """Save your version of ``puzzles/<puzzle>.py`` and restore the empty stub. Notebooks are never changed."""
    _need("torch")
    from checker.verbs.reset import reset

    return reset(puzzle)


def doctor(brief: bool = False) -> DoctorReport:
    """Show what works on this machine and the command that fixes what does not; `brief` prints one line if nothing is missing."""
    from checker.verbs.doctor import doctor

    return doctor(brief)


def join(address: str, name: str = "", me: str = "") -> None:
    """Join the class of ``code@host``. From then on, `check` reports its verdict to the board, but never your code.

    You appear as an animal and a number, or as the `name` you give. `me` is the token of another machine where you joined before.
    """
    from checker.verbs.workshop import join

    join(address, name, me)


def done() -> None:
    """Tell the board of the class that you are ready."""
    from checker.verbs.workshop import done

    done()


def guess(answer: object) -> None:
    """Answer the question that opens a notebook. The projector shows how many gave each answer, and nothing is stored."""
    from checker.verbs.workshop import guess

    guess(answer)


def hand(up: bool = True) -> None:
    """Raise your hand on the board of the class; with `up=False`, take it down."""
    from checker.verbs.workshop import hand

    hand(up)


def leave() -> None:
    """Leave the class: you report nothing any more, and the board deletes your reports."""
    from checker.verbs.workshop import leave

    leave()


def _warm_up() -> None:
    """In an interactive session, start the sandbox's worker in the background so that the first check is quick."""
    from checker.view.display import in_notebook, interactive, shell

    if not interactive():
        return
    if in_notebook():
        from checker.verbs import ipython

        ipython.install(shell())
    # if it cannot start, doctor and the verb that needs it explain why
    with contextlib.suppress(Exception):
        from checker.sandbox import Sandbox

        Sandbox.shared()


_warm_up()
