"""Runs Triton's real compiler, down to the machine code of a GPU that need not be present."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.compiler.errors import Failure, translate
from checker.compiler.facts import amd_facts, dots, facts_of, line_of_largest_tile, shared_tiles, tensor_cores
from checker.compiler.request import SHARED_MEMORY, CompileRequest, CompileResult, gpu_name, is_amd
from checker.pure_triton import has_compiler

if TYPE_CHECKING:
    from triton import JITFunction

_PTX_VERSION = 80
"""Any that knows how to store matrices from registers: shared memory is laid out alike for all of them."""


def compile_kernel(kernel: JITFunction, request: CompileRequest) -> CompileResult:
    """Compile one specialisation to PTX and cubin, or as far as the request goes. Nothing is launched and no GPU is needed.

    A kernel that cannot be compiled never makes it raise: the result says what is wrong. Triton's cache is in
    ``TRITON_CACHE_DIR``, so the same source and request take milliseconds the second time.
    """
    # Triton prints whole modules when it fails, and warns about its own defaults.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return _compile(kernel, request)


def _compile(kernel: JITFunction, request: CompileRequest) -> CompileResult:
    started = time.perf_counter()
    try:
        read, shared, ttgir = _read(kernel, request)
    except Exception as error:
        failure = translate(error, kernel, request, "" if hasattr(error, "node") else _diagnostics(kernel, request))
    else:
        limit = SHARED_MEMORY.get(request.capability)
        if limit is None or shared <= limit:
            return CompileResult(request, True, seconds=time.perf_counter() - started, **read)
        line = line_of_largest_tile(ttgir, Path(kernel.fn.__code__.co_filename).name)
        failure = _too_much_shared_memory(shared, limit, request, line)
    return CompileResult(
        request,
        False,
        **vars(failure),
        seconds=time.perf_counter() - started,
        status="compile_error",
    )


def _run(kernel: JITFunction, request: CompileRequest) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    # exactly what a launch would say, so that both have the same key in Triton's cache
    silent = ("fp32", "u1") if _newer_than_3_6() else ("fp32", "u1", "constexpr")
    attributes = {
        (place,): [["tt.divisibility", 16]] if name in request.aligned else []
        for place, name in enumerate(kernel.arg_names)
        if request.signature.get(name, "constexpr") not in silent
    }
    source = ASTSource(kernel, dict(request.signature), dict(request.constexprs), attributes)
    # named, because Triton 3.9 warns about its default
    options = {"enable_fp_fusion": True, **request.options}
    if is_amd(request.capability):
        lanes = 64 if 900 <= request.capability < 1000 else 32  # of a wavefront, AMD's warp
        target = GPUTarget("hip", f"gfx{request.capability}", lanes)
    else:
        target = GPUTarget("cuda", request.capability, 32)
    if request.until == "front_end" and not has_compiler():
        _front_end(source, target, options)
    with _ends_early(request) if request.until != "machine_code" else contextlib.nullcontext():
        return triton.compile(source, target=target, options=options)


def _newer_than_3_6() -> bool:
    import triton

    major, minor = triton.__version__.split(".")[:2]
    return (int(major), int(minor)) > (3, 6)


class _Enough(Exception):
    """The request needs nothing of what comes next. `shared` is in bytes, and `ttgir` where it comes from, if it is known by now."""

    def __init__(self, shared: int = 0, ttgir: str = "") -> None:
        super().__init__()
        self.shared, self.ttgir = shared, ttgir


def _front_end(source: Any, target: Any, options: dict[str, Any]) -> None:
    """Triton's front end by itself, as ``triton.compile`` calls it. Raises its errors, or `_Enough`."""
    from triton._C.libtriton import ir
    from triton.backends.nvidia.compiler import CUDABackend

    source.hash()  # it refuses functions that are not jitted
    backend = CUDABackend(target)
    parsed = backend.parse_options(options)
    functions, libraries = backend.get_codegen_implementation(parsed), backend.get_module_map()
    with _typed_values():
        source.make_ir(target, parsed, functions, libraries, ir.context())
    raise _Enough


@contextlib.contextmanager
def _typed_values() -> Iterator[None]:
    """Inside, what a builder makes knows the type that Triton's language gives it."""
    import triton.language as tl

    plain = tl.tensor.__init__

    def typed(tensor: Any, handle: Any, type: Any) -> None:
        plain(tensor, handle, type)
        handle.type = type

    tl.tensor.__init__ = typed
    try:
        yield
    finally:
        tl.tensor.__init__ = plain


@contextlib.contextmanager
def _ends_early(request: CompileRequest) -> Iterator[None]:
    """Inside, the compiler's second stage raises `_Enough`, or the third one. The first makes and simplifies the intermediate text."""
    from triton import knobs

    def stop(*_: object) -> None:
        raise _Enough

    def hook(backend: object = None, stages: dict[str, Any] | None = None, *_: object) -> tuple[str, str]:
        if stages is not None:
            second, third = list(stages)[1:3]
            if request.until == "front_end":
                stages[second] = stop
            else:
                stages[third] = partial(_stop_with_shared_memory, stages[third], request.capability)
        return request.until, ""  # newer Triton puts the first into the key of its cache

    with knobs.runtime.scope():
        knobs.runtime.add_stages_inspection_hook = hook
        yield


def _stop_with_shared_memory(
    make_llir: Callable[[Any, dict[str, Any]], Any], capability: int, module: Any, metadata: dict[str, Any]
) -> None:
    """In place of the compiler's third stage, the two passes of it that lay out shared memory. Raises `_Enough`."""
    from triton._C.libtriton import ir, nvidia, passes

    text = str(module)
    try:
        manager = ir.pass_manager(module.context)
        passes.convert.add_scf_to_cf(manager)
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, capability, _PTX_VERSION)
        manager.run(module, "shared memory")
        shared = module.get_int_attr("ttg.shared")
    except (AttributeError, TypeError):  # another Triton calls them otherwise: then the whole stage tells
        make_llir(module, metadata)
        shared = metadata["shared"]
    raise _Enough(shared, text)


def _read(kernel: JITFunction, request: CompileRequest) -> tuple[dict[str, Any], int, str]:
    """The fields of a result that the compiled texts contain, bytes of shared memory, and the text that says where they come from."""
    try:
        compiled = _run(kernel, request)
    except _Enough as enough:
        return {}, enough.shared, enough.ttgir
    return _fields(compiled, request), compiled.metadata.shared, str(compiled.asm.get("ttgir", ""))


def _fields(compiled: Any, request: CompileRequest) -> dict[str, Any]:
    if is_amd(request.capability):
        return {"facts": {"gpu": gpu_name(request.capability), **amd_facts(compiled.asm["amdgcn"], compiled.metadata)}}
    facts = facts_of(compiled.asm, compiled.metadata)
    read: dict[str, Any] = {"facts": {"gpu": gpu_name(request.capability), **facts}}
    if "mma" in facts:
        read["tensor_cores"] = tensor_cores(str(compiled.asm["ptx"]))
    if "ttgir" in compiled.asm:
        text = str(compiled.asm["ttgir"])
        read |= {"tiles": shared_tiles(text), "dots": dots(text)}
    return read


def _diagnostics(kernel: JITFunction, request: CompileRequest) -> str:
    """What the compiler's C++ half writes to standard error: compile once more, with the descriptor caught."""
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


def _too_much_shared_memory(used: int, limit: int, request: CompileRequest, line: int | None) -> Failure:
    memory = "shared memory (LDS)" if is_amd(request.capability) else "shared memory"
    stages = " and fewer num_stages" if request.options.get("num_stages", 3) > 1 else ""
    largest = " The largest tile comes from this line." if line else ""
    return Failure(
        "shared_memory",
        f"This kernel keeps {used // 1024} KiB of tiles in {memory}, and {gpu_name(request.capability)} has {limit // 1024} KiB "
        f"for one program: use smaller tiles{stages}.{largest}",
        f"out of resource: shared memory, Required: {used}, Hardware limit: {limit}",
        line,
        only_here=True,
    )
