"""The `compile` gate asks Triton's compiler whether the kernel is one, in every dtype of the puzzle and for every GPU of the course.

A kernel that compiles for no GPU is a compile error. A kernel that compiles only for some passes, with a warning that names the others.
The compiler's front end finds nearly every mistake and reads every variant. Machine code is made once, for one GPU, of the variant
with the smallest tiles; of the one with the largest, the compiler only lays out its shared memory. With a GPU, machine code is made of
whatever a kernel launches there. For AMD's GPUs it is made on request, and what they refuse is a warning.
"""

from __future__ import annotations

import ast
import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from checker.compiler import (
    AMD,
    SHARED_MEMORY,
    TARGETS,
    CompileRequest,
    CompileResult,
    Until,
    gpu_name,
    is_amd,
    requests_for,
)
from checker.judge.launches import Prepared
from checker.judge.outcome import Candidate
from checker.judge.verdict import GateResult, GateWarning, Status
from checker.phrases import join
from checker.pure_triton import has_compiler
from checker.puzzle import Launch
from checker.submission.kernel import KernelSource

_PLAINEST = "the plainest"
PRIMARY = "A100"
"""The GPU to try first: the oldest with bfloat16 in hardware."""
_MOST_VARIANTS = 10
_MOST_ELEMENTS = 2048
"""Of a tile that counts as the largest: a larger one takes the compiler seconds."""
_SOON_COMPILED = 8192
"""Of the largest tile, as `_size` counts: machine code for it takes no longer than for the smallest."""
_EIGHT_BITS = "float8"
"""What every type has in its name that some GPUs lack. Nothing else that a kernel may use depends on the GPU in the front end."""
_KERNELS_OWN = ("passed", "compile_error", "timeout", "resource_limit")
_DROPPED = (
    "Triton 3.8 removed block pointers, so this kernel does not compile there. Use tl.make_tensor_descriptor, or pointers "
    "with a mask."
)
_CHAINED = (
    "Two comparisons at once need Triton 3.9 or newer, so this kernel does not compile with an older one, such as Colab's. Write each "
    "in parentheses, with & between them."
)
FRONT_END = "Triton's front end accepts it. This machine has no Triton compiler, so no machine code is made."
_NAMES = {capability: name for name, capability in (TARGETS | AMD).items()}


def variants(prepared: Sequence[Prepared]) -> dict[str, Prepared]:
    """One launch for each dtype with each setting of the compile-time flags, for each configuration, and for each number that may be 1.

    Triton makes a number of 1 a constant: it has no methods then, and decides branches while the kernel is compiled. The compiler may
    accept a kernel with a 1 that it refuses otherwise, or the other way round, so launches without one come first. Multiples of 16
    need no launch of their own: no line of a kernel can ask for them. Of several launches the one with the largest tiles represents
    them, since it needs the most shared memory.
    """
    selected: dict[str, Prepared] = {}
    settings, configs = set(), set()
    for one in sorted(prepared, key=lambda one: (bool(_ones(one)), -_size(one))):
        setting, config = (one.case.dtype, _branches(one.launch)), repr(one.config)
        if setting in settings and config in configs:
            continue
        settings.add(setting)
        configs.add(config)
        selected[f"{one.case.name} {config}"] = one
    selected = dict(list(selected.items())[:_MOST_VARIANTS])
    due = {name for one in prepared for name in _ones(one)}
    while due := due.difference(*map(_ones, selected.values())):
        one = max(prepared, key=lambda one: len(due & _ones(one)))
        selected[f"{one.case.name} {one.config!r}"] = one
    return selected


def _branches(launch: Launch) -> tuple[tuple[str, bool], ...]:
    """The flags among a launch's constants, which decide which lines are compiled."""
    return tuple((name, value) for name, value in sorted(launch.meta.items()) if isinstance(value, bool))


def _ones(prepared: Prepared) -> set[str]:
    """The names of the numbers that are 1."""
    arguments = prepared.launch.arguments.items()
    return {name for name, value in arguments if type(value) is int and value == 1}


@dataclass(frozen=True)
class _Begun:
    """Variants that are being compiled: the names and requests, and the results as they arrive."""

    due: deque[tuple[str, CompileRequest]]
    results: Iterator[CompileResult]

    def close(self) -> None:
        """Give up the remaining results."""
        getattr(self.results, "close", lambda: None)()


class Compilation:
    """A kernel's compilations for its verdict: `first` before anything runs, `rest` for kernels that are right otherwise.

    `results` holds the compiler's results so far, per variant (`variants`) and capability; one that went further replaces one of the
    front end. `here` is the capability of the GPU that the kernel will run on, which is then the only target.
    With `amd`, `rest` also makes machine code for `AMD`'s GPUs.
    """

    def __init__(
        self, candidate: Candidate, prepared: Sequence[Prepared], here: int | None = None, amd: bool = False
    ) -> None:
        self.here, self._candidate, self._amd = here, candidate, tuple(AMD.values()) if amd else ()
        self.has_compiler = has_compiler()
        self.targets = [here] if here else [TARGETS[PRIMARY], *(c for n, c in TARGETS.items() if n != PRIMARY)]
        self.results: dict[str, dict[int, CompileResult]] = {}
        self.same_for_all = _EIGHT_BITS not in candidate.source.source
        self._begun: _Begun | None = None
        self._variants = variants(prepared)
        self._largest = max(self._variants, key=lambda name: _size(self._variants[name]))
        self.largest = self._variants[self._largest].case
        largest = self._variants[self._largest]
        self._plainest = largest if _size(largest) <= _SOON_COMPILED else min(prepared, key=_plainness)

    def first(self, *, go_on: bool = False) -> CompileResult | None:
        """The front end of every variant. One that fails is tried on the other GPUs.

        Returns the first that failed on every GPU tried, or None. To `go_on`, it only waits for the first variant, and one job works
        on the others and then, without a GPU, on what `rest` waits for.
        """
        due = [(name, self._request(one, until="front_end")) for name, one in self._variants.items()]
        if go_on and self.here is None:
            self._begun = self._begin([*due, *self._without_gpu()])
            return self._wait(self._begun, 1)
        return self._wait(self._begin(due))

    def front_end(self) -> CompileResult | None:
        """Wait for the variants that `first` left. Returns what `first` returns."""
        left = len(self._variants) - len(self.results)
        return None if self._begun is None or left <= 0 else self._wait(self._begun, left)

    def begin_rest(self, launches: Iterable[Launch] = (), *, aside: bool = False) -> None:
        """Begin what `rest` waits for, if `first` has not. `launches` are those on the GPU here, if there is one. `give_up` ends it."""
        if self._begun is None:
            due = self._without_gpu() if self.here is None else self._of_launches(launches, self.here)
            self._begun = self._begin(due, aside=aside)

    def rest(self) -> CompileResult | None:
        """Wait for the machine code that `begin_rest` began. Returns what `first` returns.

        Without a GPU it is made of the variant with the smallest tiles; of the one with the largest, shared memory is laid out. The
        front end also reads a kernel with types of 8 bits for every other GPU. With a GPU, whatever each launch will look up in
        Triton's cache is compiled.
        """
        assert self._begun is not None
        begun, self._begun = self._begun, None
        return self._wait(begun)

    def give_up(self) -> None:
        """End what was begun: the kernel is wrong."""
        if self._begun is not None:
            self._begun.close()
            self._begun = None

    def with_machine_code(self) -> set[int]:
        """The capabilities for which there is machine code."""
        results = [result for tried in self.results.values() for result in tried.values()]
        return {r.request.capability for r in results if r.ok and r.request.until == "machine_code"}

    def _without_gpu(self) -> list[tuple[str, CompileRequest]]:
        if not self.has_compiler:
            return []
        name, largest = self._largest, self._variants[self._largest]
        due = [(_PLAINEST, self._request(self._plainest))]
        if self._plainest is not largest:
            due.append((name, self._request(largest, until="shared_memory")))
        if not self.same_for_all:
            due += [(name, self._request(largest, other, until="front_end")) for other in self.targets[1:]]
        return due + [(_PLAINEST, self._request(self._plainest, capability)) for capability in self._amd]

    def _of_launches(self, launches: Iterable[Launch], here: int) -> list[tuple[str, CompileRequest]]:
        if not self.has_compiler:
            return []
        largest = self._variants[self._largest]
        requests = {repr(request): request for one in launches for request in self._requests(one, here)}
        requests.pop(repr(self._request(largest)), None)
        due = [(self._largest, self._request(largest))]
        due += [(f"launch {number}", request) for number, request in enumerate(requests.values())]
        return due + [(self._largest, self._request(largest, capability)) for capability in self._amd]

    def _begin(self, due: Sequence[tuple[str, CompileRequest]], *, aside: bool = False) -> _Begun:
        return _Begun(deque(due), self._compile([request for _, request in due], aside=aside))

    def _compile(self, requests: Sequence[CompileRequest], *, aside: bool = False) -> Iterator[CompileResult]:
        return self._candidate.runner.compile(self._candidate.source, requests, aside=aside)

    def _wait(self, begun: _Begun, most: int | None = None) -> CompileResult | None:
        """Keep what arrives next, at `most` so many results."""
        for _ in range(len(begun.due) if most is None else most):
            name, request = begun.due.popleft()
            silent = CompileResult(request, ok=False, status="infra_error", raw="the runner gave no result")
            result = next(begun.results, silent)
            self._keep(name, [result])
            if result.ok or (is_amd(request.capability) and result.status in _KERNELS_OWN):
                continue
            if result.status in _KERNELS_OWN:
                others = [capability for capability in self.targets if capability != request.capability]
                if result.kind == "shared_memory":  # only a GPU with more of it can help
                    others = [c for c in others if SHARED_MEMORY[c] > SHARED_MEMORY.get(request.capability, 0)]
                # after a timeout for one GPU, others rarely finish: try just one more
                others = others if result.status == "compile_error" else others[-1:]
                self._keep(name, self._compile([replace(request, capability=capability) for capability in others]))
            tried = [one for one in self.results[name].values() if one.request.until == request.until]
            if not any(one.ok for one in tried):
                begun.close()
                return result
        return None

    def _keep(self, variant: str, results: Iterable[CompileResult]) -> None:
        self.results.setdefault(variant, {}).update({result.request.capability: result for result in results})

    def _request(
        self, one: Prepared, capability: int | None = None, *, until: Until = "machine_code"
    ) -> CompileRequest:
        (request,) = self._requests(one.launch, capability or self.targets[0])
        return replace(request, until=until)

    def _requests(self, launch: Launch, capability: int) -> tuple[CompileRequest, ...]:
        return requests_for(launch, self._candidate.puzzle.parameters, (capability,))


def _size(prepared: Prepared) -> int:
    """How much shared memory a launch may need, as a number to compare: elements of a tile, times the head dimension, times their bytes.

    0 for tiles that take the compiler seconds.
    """
    tile = math.prod(max(value, 1) for value in prepared.case.meta.values())
    constants = [value for value in prepared.launch.meta.values() if type(value) is int]
    width = 4 if prepared.case.dtype == "float32" else 2
    return width * math.prod(max(value, 1) for value in constants) if tile <= _MOST_ELEMENTS else 0


def _plainness(prepared: Prepared) -> tuple[bool, int, int]:
    """Least for what machine code is made of: the smallest tiles, as many flags as possible, and no number that Triton makes a constant."""
    constants = prepared.launch.meta.values()
    tiles = math.prod(max(value, 1) for value in constants if type(value) is int)
    return bool(_ones(prepared)), tiles, -sum(value is True for value in constants)


def result(source: KernelSource, compilation: Compilation, refused: CompileResult | None) -> GateResult:
    """The gate's result so far; `refused` is what `Compilation` returned last."""
    return _passed(source, compilation) if refused is None else _failed(source, refused)


def _passed(source: KernelSource, compilation: Compilation) -> GateResult:
    """Every variant compiles for some GPU. Each GPU that refuses one gets a warning."""
    results = [result for tried in compilation.results.values() for result in tried.values()]
    warnings = [GateWarning(_warning(source, r), r.line) for r in results if not r.ok]
    warnings += by_version(source)
    refused = {result.request.capability for result in results if not result.ok}
    accepted = {result.request.capability for result in results if result.ok}
    if compilation.same_for_all and compilation.here is None:
        accepted.update(compilation.targets)
    accepted, made = accepted - refused, compilation.with_machine_code() - refused
    if not compilation.has_compiler:
        return GateResult("compile", "front_end", FRONT_END, warnings=tuple(warnings))
    if not made:
        message = "Triton's front end accepts it; machine code is made once the kernel is right."
    elif compilation.here:
        others = (
            f", and for {_names(made - {compilation.here})}."
            if made - {compilation.here}
            else "; no other GPU was tried."
        )
        message = f"Compiles for the GPU here, {gpu_name(compilation.here)}{others}"
    else:
        message = f"Compiles for {_names(made)}."
        if unmade := accepted - made:
            message += f" Triton's front end accepts it for {_names(unmade)}, too; `xray` makes machine code for all."
    return GateResult("compile", "passed", message, warnings=tuple(warnings))


def by_version(source: KernelSource) -> list[GateWarning]:
    """What other versions of Triton refuse, each at its first line."""
    first: dict[str, int] = {}
    for node in ast.walk(ast.parse(source.source)):
        if isinstance(node, ast.Attribute) and node.attr == "make_block_ptr":
            words = _DROPPED
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            words = _CHAINED
        else:
            continue
        first[words] = min(first.get(words, node.lineno), node.lineno)
    return [GateWarning(words, line) for words, line in first.items()]


def _names(capabilities: Collection[int]) -> str:
    return join(name for target, name in _NAMES.items() if target in capabilities)


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
    "loop_type": "Write down the type and shape of the variable after one iteration of the loop, and start with the same.",
    "dtype": "Convert to one type first, e.g. `.to(tl.float32)` right after the load.",
    "condition": "A program works on all lanes of a tile at once: a mask says which of them take part.",
    "pointer": "For each pointer in the line, ask: do I mean the address, or the number stored there? `tl.load` fetches the number.",
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
