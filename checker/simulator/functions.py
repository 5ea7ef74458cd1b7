"""The jitted functions of a launch, each rewritten when it is first called."""

from __future__ import annotations

import inspect
from functools import lru_cache
from types import CodeType
from typing import Any

from checker.simulator import rewrite, seam
from checker.simulator.frames import Frames
from checker.simulator.language import Language


@lru_cache(maxsize=512)
def _compiled(lines: tuple[str, ...], first_line: int, filename: str, name: str, follow: bool) -> CodeType:
    return rewrite.rewrite(list(lines), first_line, filename, name, follow)


class _Hooks:
    """What a rewritten function reaches under `rewrite.HOOKS`."""

    def __init__(self, language: Language, frames: Frames) -> None:
        self.value = language.value
        self.both, self.either, self.opposite = language.both, language.either, language.opposite
        self.check = language.check
        self.loop, self.enter, self.turn, self.leave = frames.loop, frames.enter, frames.turn, frames.leave


class Functions:
    """The jitted functions of one launch, rewritten when first called. Nothing is kept from earlier launches."""

    def __init__(self, frames: Frames, language: Language) -> None:
        self.frames, self.language = frames, language
        self.ready: dict[int, tuple[Any, Any]] = {}

    def __call__(self, jitted: Any, *arguments: Any, **named: Any) -> Any:
        depth = len(self.frames.stack)
        try:
            return self.get(jitted)(*arguments, **named)
        finally:
            del self.frames.stack[depth:]

    def get(self, jitted: Any) -> Any:
        found = self.ready.get(id(jitted))
        if found is not None:
            return found[1]
        fn = seam.function_of(jitted)
        library = str(fn.__module__).startswith("triton.")
        lines, first = seam.source_of(jitted)
        code = _compiled(tuple(lines), first, fn.__code__.co_filename, fn.__name__, not library)
        given = dict(fn.__globals__)
        given.update(inspect.getclosurevars(fn).nonlocals if fn.__closure__ else {})
        namespace = given if library else self.language.namespace(given)
        namespace[rewrite.HOOKS] = _Hooks(self.language, self.frames)
        function = rewrite.instantiate(code, fn, namespace)
        if not library:
            self.frames.codes[function.__code__] = fn.__name__
        self.ready[id(jitted)] = (jitted, function)
        return function
