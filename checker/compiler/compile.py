"""Runs Triton's real compiler, down to the machine code of a GPU that need not be there."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from checker.compiler.facts import facts_of, tensor_cores
from checker.compiler.request import SHARED_MEMORY, CompileRequest, CompileResult, gpu_name
from checker.compiler.tiles import dots, shared_tiles
from checker.compiler.translate import Failure, translate

if TYPE_CHECKING:
    from triton import JITFunction


def compile_kernel(kernel: JITFunction, request: CompileRequest) -> CompileResult:
    """Compile one specialisation to PTX and cubin. Nothing is launched and no GPU is needed.

    Never raises for a kernel that cannot be compiled: the result says what is wrong. Triton keeps what it compiled in
    ``TRITON_CACHE_DIR``, so the same source and request cost some milliseconds the second time.
    """
    with _quiet():
        return _compile(kernel, request)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Triton prints whole modules when it fails, and warns about its own defaults."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _compile(kernel: JITFunction, request: CompileRequest) -> CompileResult:
    started = time.perf_counter()
    try:
        compiled = _run(kernel, request)
        facts = facts_of(compiled.asm, compiled.metadata, request.capability)
        seen = _seen(compiled.asm, facts)
    except Exception as error:
        failure = translate(error, kernel, request, "" if hasattr(error, "node") else _diagnostics(kernel, request))
    else:
        limit = SHARED_MEMORY.get(request.capability)
        if limit is None or compiled.metadata.shared <= limit:
            return CompileResult(request, True, seconds=time.perf_counter() - started, facts=facts, **seen)
        failure = _too_much_shared_memory(compiled.metadata.shared, limit, request)
    return CompileResult(
        request,
        False,
        failure.kind,
        failure.message,
        failure.raw,
        failure.line,
        time.perf_counter() - started,
        status="compile_error",
        only_here=failure.only_here,
    )


def _seen(asm: Mapping[str, Any], facts: Mapping[str, int | str]) -> dict[str, Any]:
    """Tiles and products from the TTGIR, tensor-core instructions from the PTX; what the texts do not tell is left out."""
    seen: dict[str, Any] = {"tensor_cores": tensor_cores(str(asm["ptx"]))} if "mma" in facts else {}
    if "ttgir" in asm:
        text = str(asm["ttgir"])
        seen |= {"tiles": shared_tiles(text), "dots": dots(text)}
    return seen


def _run(kernel: JITFunction, request: CompileRequest) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = kernel.arg_names
    attributes = {(names.index(name),): [["tt.divisibility", 16]] for name in request.aligned}
    source = ASTSource(kernel, dict(request.signature), dict(request.constexprs), attributes)
    # asked for by name, because Triton 3.9 warns where its default is taken
    options = {"enable_fp_fusion": True, **request.options}
    return triton.compile(source, target=GPUTarget("cuda", request.capability, 32), options=options)


def _diagnostics(kernel: JITFunction, request: CompileRequest) -> str:
    """What the compiler's C++ half writes to standard error while it fails: once more, with the descriptor caught."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as caught:
        saved = os.dup(2)
        try:
            os.dup2(caught.fileno(), 2)
            with contextlib.suppress(Exception):
                _run(kernel, request)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        caught.seek(0)
        return caught.read(64 * 1024).decode(errors="replace")


def _too_much_shared_memory(used: int, limit: int, request: CompileRequest) -> Failure:
    stages = " and fewer num_stages" if request.options.get("num_stages", 3) > 1 else ""
    return Failure(
        "shared_memory",
        f"This kernel keeps {used // 1024} KiB of tiles in shared memory, and {gpu_name(request.capability)} has {limit // 1024} KiB "
        f"for one program: use smaller tiles{stages}.",
        f"out of resource: shared memory, Required: {used}, Hardware limit: {limit}",
        only_here=True,
    )
