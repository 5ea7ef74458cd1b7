"""The end of a notebook: the rungs side by side, their films, and what each moves, computes, rounds and takes at many sizes.

A rung that the learner has solved is shown with their own kernel, the newest that passed. One that they skipped is counted
with the course's solution, so that the comparison is whole, but not filmed: a film shows the source. Demonstrations, which
nobody is asked to write, are taken by all of these verbs as puzzles are.

Sizes are the puzzle's own: ``{"M": 4, "N": 1000, "BLOCK_N": 256, "IS_CAUSAL": True}``; what is not named is as in its film.
Every verb raises UsageError for a puzzle, a size or a type that does not exist, and where a kernel does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from checker import workspace
from checker.puzzle import Case, Puzzle, Scalar
from checker.verbs import display, rung_kernels
from checker.verbs.comparison import Comparison, Rung
from checker.verbs.naming import UsageError
from checker.verbs.rung_kernels import puzzle_called

if TYPE_CHECKING:
    from rich.console import Console

    from checker.judge.verdict import Verdict
    from checker.verbs.measuring import Counted
    from checker.workspace import Workspace

Sizes = Mapping[str, Scalar]

GROWN = 4096
LARGEST = 1 << 25
"""On a GPU one size is made this many times as large, so that every multiprocessor has work, or fewer times where a tensor
would have more elements than `LARGEST`."""


def rungs(sizes: Mapping[str, Sizes], grow: str = "") -> Comparison:
    """Run each rung at its sizes in the simulator and count its bytes; time it as well where there is a GPU.

    `sizes` names the rungs in order: ``{"chunked_softmax": {"M": 4, "N": 1000, "BLOCK_N": 256}}``. Each is timed with its
    size `grow` made the same number of times as large; if none is named, with its outermost one (rows, heads, batches).
    """
    from checker import gpu

    space, device = workspace.find(), gpu.device_name() if gpu.available() else ""
    cases = {name: _case(puzzle_called(name), chosen) for name, chosen in _named("rungs", sizes).items()}
    times = growth([puzzle_called(name) for name in cases], list(cases.values()), grow)
    with display.working("Counting bytes …") as card:
        found = tuple(
            _rung(space, puzzle_called(name), case, grow, times if device else 0) for name, case in cases.items()
        )
        card.show(lambda: "", lambda console: None)
    return Comparison(found, device)


def films(names: Mapping[str, Sizes], beside: bool = False) -> None:
    """Show the films of several rungs at the given sizes, below one another; a rung that is not solved yet says so.

    With `beside` they stand next to one another where the page is wide enough.
    """
    space = workspace.find()
    made = (_film(space, puzzle_called(name), sizes) for name, sizes in _named("films", names).items())
    for html, text in [_beside(*made)] if beside else made:
        display.show(html, text)


def moved(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Bytes between memory and chip at each of several sizes, counted in the simulator: ``moved("flash_attention", [{"D": 16}])``."""
    return [run.bytes for run in _counted("moved", name, sizes)]


def worked(name: str, sizes: Sequence[Sizes]) -> list[int]:
    """Floating-point operations at each of several sizes, counted in the simulator: those of `tl.dot` and those of lanes.

    A product of [m, k] and [k, n] is 2·m·k·n. An addition, multiplication, division, exponential or maximum of lanes is one
    for each element, and so is a sum or maximum over an axis; `Trace.lane_flops` has the list.
    """
    return [run.flops for run in _counted("worked", name, sizes)]


def errors(name: str, sizes: Sequence[Sizes], dtype: str = "", output: str = "") -> list[float]:
    """The error in the simulator at each of several sizes: root mean square of the difference from the float64 reference over
    root mean square of the reference.

    `dtype` is that of the tensors, such as ``"bfloat16"``, `output` the kernel's parameter, such as ``"o_ptr"``; if not named,
    those of the film and the first. The reference starts from inputs that are rounded to `dtype` already.
    """
    from checker.verbs.measuring import errors_of

    puzzle = puzzle_called(name)
    output = output or puzzle.outputs[0]
    if output not in puzzle.outputs:
        raise UsageError(f"{name} has no output called {output}. Its outputs are {', '.join(puzzle.outputs)}.")
    source, _ = rung_kernels.chosen(workspace.find(), puzzle)
    return errors_of(puzzle, source, _cases("errors", puzzle, sizes, dtype), output)


def timed(name: str, sizes: Sequence[Sizes], dtype: str = "") -> list[float] | None:
    """Median seconds on this machine's GPU at each of several sizes, or None where there is no GPU that torch can use.

    The L2 cache is cold at each launch. A kernel with `@triton.autotune` runs in its first configuration, except for what
    `sizes` name.
    """
    from checker import gpu

    puzzle = puzzle_called(name)
    cases = _cases("timed", puzzle, sizes, dtype)
    if not gpu.available():
        return None
    from checker.verbs.measuring import seconds

    source, _ = rung_kernels.chosen(workspace.find(), puzzle)
    return seconds(puzzle, source, cases, [list(one) for one in sizes])


# --- sizes and cases ----------------------------------------------------------------------------------------------------


def _case(puzzle: Puzzle, sizes: Sizes, dtype: str = "") -> Case:
    from checker.verbs.sizes import case_for

    case = case_for(puzzle.name, sizes, puzzle.film.case)
    if dtype and dtype not in puzzle.tolerance:
        raise UsageError(f"{puzzle.name} has no {dtype!r} tensors. Its types are {', '.join(puzzle.tolerance)}.")
    return replace(case, dtype=dtype or case.dtype)


def _cases(verb: str, puzzle: Puzzle, sizes: Sequence[Sizes], dtype: str = "") -> list[Case]:
    if isinstance(sizes, Mapping | str):
        shown = repr(dict(sizes)) if isinstance(sizes, Mapping) else "{...}"
        raise UsageError(f"{verb} takes a list of sizes, even for one: {verb}({puzzle.name!r}, [{shown}])")
    return [_case(puzzle, one, dtype) for one in sizes]


def _named(verb: str, sizes: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
    if not isinstance(sizes, Mapping):
        raise UsageError(
            f"{verb} takes puzzles with their sizes: {verb}({{'linear_attention': {{'N_Q': 32}}}}), not {sizes!r}."
        )
    return sizes


def growth(puzzles: Sequence[Puzzle], cases: Sequence[Case], grow: str) -> int:
    """How many times as large one size of every case may be made: a power of two. Raises UsageError where one has no size `grow`."""
    for puzzle, case in zip(puzzles, cases, strict=True):
        if grow and grow not in case.sizes:
            raise UsageError(f"{puzzle.name} has no size {grow} to grow. Its sizes are {', '.join(case.sizes)}.")
    from checker.verbs.sizes import told_as_misuse

    with told_as_misuse():
        made = [puzzle.make(case) for puzzle, case in zip(puzzles, cases, strict=True)]
    largest = max((t.numel() for tensors in made for t in tensors.values()), default=1)
    return min(GROWN, 1 << max(0, (LARGEST // max(largest, 1)).bit_length() - 1))


def grown(case: Case, grow: str, times: int) -> tuple[str, Case]:
    """Which size was made `times` as large (the outermost, which stands first, if none is named), and the case."""
    name = grow or next(iter(case.sizes))
    return name, replace(case, sizes={**case.sizes, name: case.sizes[name] * times})


# --- running ------------------------------------------------------------------------------------------------------------


def _counted(verb: str, name: str, sizes: Sequence[Sizes]) -> list[Counted]:
    from checker.verbs.measuring import counted

    puzzle = puzzle_called(name)
    cases = _cases(verb, puzzle, sizes)
    source, _ = rung_kernels.chosen(workspace.find(), puzzle)
    return counted(puzzle, source, cases)


def _rung(space: Workspace, puzzle: Puzzle, case: Case, grow: str, times: int) -> Rung:
    from checker.verbs.measuring import counted, seconds

    source, borrowed = rung_kernels.chosen(space, puzzle)
    (run,) = counted(puzzle, source, [case])
    rung = Rung(puzzle.name, _allowed(puzzle, case), run.bytes, not borrowed)
    if not times:
        return rung
    name, large = grown(case, grow, times)
    (took,) = seconds(puzzle, source, [large], [list(case.meta)])
    return replace(rung, seconds=took, timed_bytes=_allowed(puzzle, large), grown=name, grown_to=int(large.sizes[name]))


def _allowed(puzzle: Puzzle, case: Case) -> int:
    return sum(allowance.loaded + allowance.stored for allowance in puzzle.budget(case).values())


# --- films --------------------------------------------------------------------------------------------------------------

Shown = tuple[Callable[[], str], Callable[["Console"], None]]


def _film(space: Workspace, puzzle: Puzzle, sizes: Sizes) -> Shown:
    """The film as HTML and as a line for a terminal; the card where the kernel is wrong; a sentence where there is none yet."""
    from checker.verbs.returned import Film
    from checker.verbs.showing import film_at

    case = _case(puzzle, sizes)  # sizes that do not exist are refused, solved or not
    source = rung_kernels.to_film(space, puzzle)
    if source is None:
        return _sentence(f"{puzzle.title}: there will be a film here once your kernel has passed.")
    made = film_at(puzzle, source, case)
    if not isinstance(made, Film):
        return _card(made)
    return lambda: made.html, lambda console: console.print(repr(made), markup=False)


def _card(verdict: Verdict) -> Shown:
    from checker.view.card import card_html
    from checker.view.terminal import print_card

    return lambda: card_html(verdict), lambda console: print_card(verdict)


def _sentence(sentence: str) -> Shown:
    return lambda: f"<p>{escape(sentence)}</p>", lambda console: console.print(sentence, markup=False)


def _beside(*shown: Shown) -> Shown:
    from checker.films import side_by_side

    def print_all(console: Console) -> None:
        for _, text in shown:
            text(console)

    return lambda: side_by_side(*(html() for html, _ in shown)), print_all
