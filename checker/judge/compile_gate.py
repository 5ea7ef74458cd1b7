"""The `compile` gate really compiles the kernel, in every dtype of the puzzle and for every GPU of the course.

A kernel that compiles for no GPU is a compile error. A kernel that compiles only for some passes, with a warning that names the others.
The compiler's front end finds nearly every mistake, so only right kernels are compiled to machine code in every variant.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from checker.compiler import TARGETS, CompileRequest, CompileResult, gpu_name, requests_for
from checker.judge.launches import Prepared
from checker.judge.outcome import Candidate
from checker.judge.verdict import GateResult, GateWarning, Status
from checker.phrases import join
from checker.puzzle import Launch
from checker.submission.kernel import KernelSource

PRIMARY = "A100"
"""The GPU to try first: the oldest with bfloat16 in hardware."""
_MOST_VARIANTS = 10
_KERNELS_OWN = ("passed", "compile_error", "timeout", "resource_limit")
_BLOCK_POINTER = re.compile(r"^[^#]*\.make_block_ptr\(")
_DROPPED = (
    "Triton 3.8 and later have no block pointers, so this kernel does not compile there. Use tl.make_tensor_descriptor, or pointers "
    "with a mask."
)
_NAMES = {capability: name for name, capability in TARGETS.items()}


def variants(prepared: Sequence[Prepared]) -> dict[str, Prepared]:
    """One launch for each dtype with each setting of the compile-time flags, and for each configuration.

    Triton turns sizes of 1 into constants and may then accept a kernel that it refuses otherwise, so these launches come last.
    """
    selected: dict[str, Prepared] = {}
    settings, configs = set(), set()
    for one in sorted(prepared, key=_has_a_size_of_one):
        setting, config = (one.case.dtype, _branches(one.launch)), repr(one.config)
        if setting in settings and config in configs:
            continue
        settings.add(setting)
        configs.add(config)
        selected[f"{one.case.name} {config}"] = one
    return dict(list(selected.items())[:_MOST_VARIANTS])


def _branches(launch: Launch) -> tuple[tuple[str, bool], ...]:
    """The flags among a launch's constants, which decide which lines are compiled."""
    return tuple((name, value) for name, value in sorted(launch.meta.items()) if isinstance(value, bool))


def _has_a_size_of_one(prepared: Prepared) -> bool:
    return any(isinstance(value, int) and value == 1 for value in prepared.launch.arguments.values())


@dataclass(frozen=True)
class _Begun:
    """Variants that are being compiled: the names and requests still to wait for, and the results as they arrive."""

    due: deque[tuple[str, CompileRequest]]
    results: Iterator[CompileResult]

    def close(self) -> None:
        """Give up the remaining results."""
        getattr(self.results, "close", lambda: None)()


class Compilation:
    """A kernel's compilations for its verdict: `first` before anything runs, `rest` for kernels that are right otherwise.

    `results` holds the compiler's results so far, per variant (dtype, flags, configuration) and capability; a result of the front end
    alone stays until there is one with machine code. `here` is the capability of the GPU that the kernel will run on, which is then
    the only target. With `ahead`, the machine code of `largest_variant` is not part of `first`, but begins with the rest.
    """

    def __init__(
        self, candidate: Candidate, prepared: Sequence[Prepared], here: int | None = None, *, ahead: bool = False
    ) -> None:
        self.here, self._ahead, self._candidate = here, ahead, candidate
        self.targets = [here] if here else [TARGETS[PRIMARY], *(c for n, c in TARGETS.items() if n != PRIMARY)]
        self.results: dict[str, dict[int, CompileResult]] = {}
        self._begun: _Begun | None = None
        self._variants = variants(prepared)
        self._largest = max(self._variants, key=lambda name: _tile(self._variants[name]))
        self.largest = self._variants[self._largest].case

    def first(self) -> CompileResult | None:
        """The front end of every variant and, unless `ahead`, the machine code of the one with the largest tiles, for one GPU.

        A variant that fails is tried on the other GPUs. Returns the first one that failed on every GPU tried, or None.
        """
        largest = [(self._largest, self._request(self._largest, front_end_only=self._ahead))]
        others = [(name, self._request(name, front_end_only=True)) for name in self._variants if name != self._largest]
        return self._wait(self._begin(largest + others))

    def begin_rest(self, launches: Iterable[Launch] = ()) -> None:
        """Begin what `rest` waits for. `launches` are those on the GPU here, if there is one. `give_up` ends it."""
        due = self._other_variants() if self.here is None else self._of_launches(launches, self.here)
        if self._ahead:
            due = [(self._largest, self._request(self._largest)), *due]
        self._begun = self._begin(due, aside=self._ahead)

    def largest_variant(self) -> CompileResult | None:
        """As `rest`, for the one variant that was begun `ahead`."""
        return self._wait(self._begun, 1) if self._begun is not None and self._ahead else None

    def rest(self) -> CompileResult | None:
        """Wait for machine code, which `begin_rest` may have begun. Returns what `first` returns.

        Without a GPU, one variant for every other dtype and configuration is compiled, each for another GPU, until each GPU has had
        one. With a GPU, whatever each launch will look up in Triton's cache.
        """
        if self._begun is None:
            self.begin_rest()
        begun, self._begun = self._begun, None
        return self._wait(begun) if begun is not None else None

    def give_up(self) -> None:
        """End what was begun: the kernel is wrong."""
        if self._begun is not None:
            self._begun.close()
            self._begun = None

    def with_machine_code(self) -> set[int]:
        """The capabilities for which there is machine code."""
        results = [result for tried in self.results.values() for result in tried.values()]
        return {r.request.capability for r in results if r.ok and not r.request.front_end_only}

    def _of_launches(self, launches: Iterable[Launch], here: int) -> list[tuple[str, CompileRequest]]:
        requests = {repr(request): request for one in launches for request in self._requests(one, here)}
        for compiled in (self._request(self._largest), *(tried[here].request for tried in self.results.values())):
            requests.pop(repr(compiled), None)
        return [(f"launch {number}", request) for number, request in enumerate(requests.values())]

    def _other_variants(self) -> list[tuple[str, CompileRequest]]:
        largest = self._variants[self._largest]
        dtypes, configs, names = {largest.case.dtype}, {repr(largest.config)}, []
        for name, one in self._variants.items():
            if one.case.dtype not in dtypes or repr(one.config) not in configs:
                dtypes.add(one.case.dtype)
                configs.add(repr(one.config))
                names.append(name)
        names += [self._largest] * (len(self.targets) - 1 - len(names))
        targets = cycle(self.targets[1:] or self.targets)
        return [(name, self._request(name, target)) for name, target in zip(names, targets, strict=False)]

    def _begin(self, due: Sequence[tuple[str, CompileRequest]], *, aside: bool = False) -> _Begun:
        return _Begun(deque(due), self._compile([request for _, request in due], aside=aside))

    def _compile(self, requests: Sequence[CompileRequest], *, aside: bool = False) -> Iterator[CompileResult]:
        return self._candidate.runner.compile(self._candidate.source, requests, aside=aside)

    def _wait(self, begun: _Begun, most: int | None = None) -> CompileResult | None:
        """Wait for everything that is due, or for the first `most`."""
        for _ in range(len(begun.due) if most is None else most):
            name, request = begun.due.popleft()
            silent = CompileResult(request, ok=False, status="infra_error", raw="the runner gave no result")
            result = next(begun.results, silent)
            self._keep(name, [result])
            if result.ok:
                continue
            if result.status in _KERNELS_OWN:
                # after a timeout for one GPU, others rarely finish: try just one more
                others = [capability for capability in self.targets if capability != request.capability]
                others = others if result.status == "compile_error" else others[-1:]
                self._keep(name, self._compile([replace(request, capability=capability) for capability in others]))
            tried = [one for one in self.results[name].values() if one.request.front_end_only == request.front_end_only]
            if not any(one.ok for one in tried):
                begun.close()
                return result
        return None

    def _keep(self, variant: str, results: Iterable[CompileResult]) -> None:
        self.results.setdefault(variant, {}).update({result.request.capability: result for result in results})

    def _request(self, variant: str, capability: int | None = None, *, front_end_only: bool = False) -> CompileRequest:
        (request,) = self._requests(self._variants[variant].launch, capability or self.targets[0])
        return replace(request, front_end_only=front_end_only)

    def _requests(self, launch: Launch, capability: int) -> tuple[CompileRequest, ...]:
        return requests_for(launch, self._candidate.puzzle.parameters, (capability,))


def _tile(prepared: Prepared) -> int:
    """The product of a launch's tile sizes and other constants: larger ones need more shared memory and registers."""
    return math.prod(max(value, 1) for value in prepared.launch.meta.values() if isinstance(value, int))


def result(source: KernelSource, compilation: Compilation, refused: CompileResult | None) -> GateResult:
    """The gate's result so far; `refused` is what `Compilation` returned last."""
    return _passed(source, compilation) if refused is None else _failed(source, refused)


def _passed(source: KernelSource, compilation: Compilation) -> GateResult:
    """Every variant compiles for some GPU. Each GPU that refuses one gets a warning."""
    results = [result for tried in compilation.results.values() for result in tried.values()]
    warnings = [GateWarning(_warning(source, r), r.line) for r in results if not r.ok]
    block_pointer = next(
        (n for n, text in enumerate(source.source.splitlines(), 1) if _BLOCK_POINTER.search(text)), None
    )
    if block_pointer is not None:
        warnings.append(GateWarning(_DROPPED, block_pointer))
    good = compilation.with_machine_code()
    tried = good | {result.request.capability for result in results}
    if compilation.here:
        message = f"Compiles for the GPU here, {gpu_name(compilation.here)}; it was tried for no other."
    else:
        later = "" if tried >= set(compilation.targets) else "; the other GPUs are tried once the kernel is right"
        message = f"Compiles for {join(name for name, target in TARGETS.items() if target in good)}{later}."
    return GateResult("compile", "passed", message, warnings=tuple(warnings))


def _failed(source: KernelSource, result: CompileResult) -> GateResult:
    """A variant compiles for no GPU: the message is the compiler's first about it."""
    status: Status = "compile_error"
    match result.status:
        case "timeout":
            status, message = "timeout", result.message or "Triton's compiler did not finish in time."
            advice = "A very large tile or an unrolled loop over many steps is the usual reason: try a smaller one."
        case "resource_limit":
            status, message = "resource_limit", "Triton's compiler needed more memory than a check may use."
            advice = "A very large tile is the usual reason: try a smaller one."
        case "protocol_error":
            status, message = "protocol_error", "The compiler's process sent back something unexpected."
            advice = "Run the check again."
        case "infra_error":
            status, message = "infra_error", "The compiler could not be run, which says nothing about your kernel."
            advice = "Run the check again. If this stays, `doctor` shows what is missing on this machine."
        case _:
            message, advice = result.message or "Triton cannot compile this kernel.", _ADVICE.get(result.kind, "")
    where = source.line_words(result.line)
    if where and where not in message:
        message = f"{where[0].upper()}{where[1:]}: {message}"
    return GateResult("compile", status, message, result.line, result.raw, advice)


_ADVICE = {
    "constexpr": "A size that shapes a tile has to be known when the kernel is compiled: use a `tl.constexpr` parameter or a literal.",
    "power_of_two": "Take the next power of two and switch off the extra lanes with a mask.",
    "dot_too_small": "`tl.dot` wants every side of its tiles to be 16 or more: pad the tile and mask the padding.",
    "loop_type": "Before the loop, give the variable the type and shape that it has after one iteration, e.g. `tl.zeros([BLOCK], tl.float32)`.",
    "dtype": "Convert both sides to one type first, e.g. `.to(tl.float32)` right after the load.",
    "undefined_name": "Every name must be a parameter, a variable assigned above, or live in `tl`.",
    "unsupported_syntax": "The body of a kernel is a small part of Python: assignments, `for`, `while`, `if`, and calls into `tl`.",
    "shape": "Write the shape of each tile beside its line; sides that meet must be equal or 1. `[:, None]` and `[None, :]` add a side.",
}


def _warning(source: KernelSource, result: CompileResult) -> str:
    name = _NAMES.get(result.request.capability, f"sm_{result.request.capability}")
    if result.status in ("timeout", "resource_limit"):
        why = result.message or "Triton's compiler was stopped."
        return f"It may or may not compile for the {name}: {why} Smaller tiles compile faster."
    where = source.line_words(result.line)
    reason = result.message or "Triton cannot compile it for that GPU."
    return f"It does not compile for the {name}{f' ({where})' if where else ''}: {reason}"
