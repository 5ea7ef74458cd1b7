"""What a kernel body raises, in words for the learner who wrote it.

Messages name no line: `SimulationError.line` does.
"""

from __future__ import annotations

import re

from checker import phrases


class SimulationError(Exception):
    """A kernel could not be run to its end.

    `message` is for the learner, `detail` holds the original words, `line` is the learner's line (None where there is
    none). `status` is one of the statuses of a verdict: ``runtime_error``, or ``resource_limit`` when memory ran out.
    """

    def __init__(self, message: str, detail: str, line: int | None, status: str = "runtime_error") -> None:
        super().__init__(message)
        self.message, self.detail, self.line, self.status = message, detail, line, status


class Unsupported(Exception):
    """The simulator cannot do this faithfully, or the hardware cannot do it. The message says what to do instead, or why."""


class Enough(Exception):
    """An observer has seen enough of the running program, and of those that follow it."""


class EndlessLoop(Exception):
    """A loop that never ends, or that would take far too long. The message says why."""


class DeviceAssertion(Exception):
    """A `tl.device_assert` failed."""


def translate(error: Exception, line: int | None, program: tuple[int, int, int]) -> SimulationError:
    """The error of a kernel body as a SimulationError with the learner's line."""
    detail = f"{type(error).__name__}: {error}"
    status = "runtime_error"
    match error:
        case MemoryError():
            status, message = "resource_limit", "a tile is too large: it needs more memory than there is."
        case Unsupported():
            message = str(error)
        case DeviceAssertion():
            message = f"an assertion failed in {phrases.program(program)}: {error}."
        case EndlessLoop():
            status, message = "timeout", str(error)
        case RecursionError():
            message = "a function calls itself without end; kernels cannot recurse."
        case _:
            message = _words(error)
    return SimulationError(message[:1].upper() + message[1:], detail, line, status)


_PATTERNS: tuple[tuple[str, str], ...] = (
    (
        r"incompatible dimensions at index (\d+): (\d+) and (\d+)",
        r"two tiles do not fit together: along axis \1 one has \2 lanes and the other \3. Write the shape of each above it, "
        "and add an axis with [:, None] or [None, :] where one is missing.",
    ),
    (
        r"arange's arguments must be of type tl.constexpr",
        "both ends of tl.arange must be tl.constexpr, known before the kernel runs.",
    ),
    (r"(arange's range|Shape element .*) must be a power of 2", r"the size of a tile must be a power of 2."),
    (r"name '(\w+)' is not defined", r"the name \1 is not defined here. Is it spelled as in the parameters?"),
    (
        r"cannot access local variable '(\w+)'",
        r"\1 is used before it has a value. A variable that a loop carries needs one before the loop.",
    ),
    (
        r"Expected dtype \['fp32', 'fp64'\] but got (\w+)",
        r"this function needs fp32, but its argument is \1. Convert it first: `x.to(tl.float32)`.",
    ),
    (r"'(\w+)' object has no attribute '(\w+)'", r"a value of type \1 has no \2."),
    (
        r"invalid operands of type pointer<(\w+)> and (triton.language.)?(\w+)",
        r"a pointer and a \3 cannot be combined: offsets are integers.",
    ),
    (
        r"Unsupported ptr type (.*) in `tl.(load|store)`",
        r"tl.\2 was given a \1 where it needs a pointer. Add the offsets to the pointer first.",
    ),
    (r"(missing \d+ required positional arguments?: .*)", r"a function is called with too few arguments: \1."),
)


def _words(error: Exception) -> str:
    text = str(error)
    for pattern, words in _PATTERNS:
        match = re.search(pattern, text)
        if match:
            return match.expand(words)
    if isinstance(error, AssertionError):
        return f"an assertion failed: {text}" if text else "an assertion failed."
    return f"{text or type(error).__name__} ({type(error).__name__})"
