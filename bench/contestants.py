"""The contestants of `bench/speed.py`: our plain and fast kernels, libraries, and the GPU's limits, case by case.

A contest is made when its turn comes, with inputs on the GPU and the right answer in float64 for the first and the last head or row.
A library that is not installed is reported as missing.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
import triton
from torch.nn.attention import SDPBackend, sdpa_kernel

from checker import gpu
from solutions.fast import (
    attention,
    attention_backward,
    attention_fp8,
    attention_split,
    delta_rule,
    linear_attention,
    softmax,
)

Outputs = tuple[torch.Tensor, ...]
Run = Callable[[], Outputs]
LINEAR_EPS = 1e-6


@dataclass(frozen=True)
class Contestant:
    """`kind` is limit, peer, course (the plain solutions) or fast. `checked`: its outputs are compared.

    `tolerance` overrides the case's for a contestant that computes in another format.
    """

    name: str
    kind: str
    run: Run
    checked: bool = True
    note: str = ""
    tolerance: float | None = None


@dataclass
class Contest:
    """One case. `work` is the bytes or operations of a launch; `error` compares outputs with float64, relative to the norm."""

    work: float
    unit: str  # GB/s or TFLOP/s
    contestants: list[Contestant]
    error: Callable[[Outputs], float]
    tolerance: float
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, make: Callable[[], Contestant | Run], kind: str = "peer") -> None:
        """Add a contestant; if making it fails, e.g. because a library is not installed, it is missing, with the error."""
        try:
            made = make()
            self.contestants.append(made if isinstance(made, Contestant) else Contestant(name, kind, made))
        except ImportError:
            self.missing[name] = "not installed"
        except Exception as error:
            message = str(error).partition("\n")[0][:120]
            self.missing[name] = f"failed: {type(error).__name__}: {message}"

    def add_flex(self, thorough: bool, make: Callable[[], Run]) -> None:
        """Add FlexAttention, which takes long to compile."""
        if thorough:
            self.add("FlexAttention", make)
        else:
            self.missing["FlexAttention"] = "left out: it compiles for long"

    def add_gluon(self, name: str, *arguments: object) -> None:
        """Add a launcher in Gluon, on a Hopper."""
        if torch.cuda.get_device_capability() == (9, 0):
            self.add("fast, in Gluon", lambda: partial(module(f"solutions.fast.{name}", name), *arguments), "fast")
        else:
            self.missing["fast, in Gluon"] = "needs a Hopper GPU"


@dataclass(frozen=True)
class Case:
    family: str
    name: str
    make: Callable[[bool], Contest]  # with False, what takes long to compile is left out by name
    quick: bool = False
    brief: bool = False  # always made with False: what counts is one length beside another


# ------------------------------------------------------------------------------------------------------------ what they share


def module(name: str, attribute: str) -> Any:
    """An attribute of a module that may be missing. Raises ImportError."""
    try:
        return getattr(importlib.import_module(name), attribute)
    except AttributeError as error:
        raise ImportError(str(error)) from error


def solution(name: str) -> Any:
    """The kernel of a plain solution."""
    return module(f"solutions.{name}", f"{name}_kernel")


def best_of(make: Callable[..., Run], configs: Iterable[tuple[int, ...]]) -> tuple[Run, str]:
    """The fastest of a few configurations, by three launches each, as autotuning would find it. Raises RuntimeError if none runs."""
    clock, timed = gpu.Clock(), list[tuple[float, Run, str]]()
    for config in configs:
        run = make(*config)
        with suppress(triton.runtime.errors.OutOfResources, triton.CompilationError):
            run()
            timed.append((sum(clock.times(run, 3)), run, str(config)))
    if not timed:
        raise RuntimeError("no configuration runs here")
    _, run, note = min(timed, key=lambda one: one[0])
    return run, note


def apart(got: torch.Tensor, expected: torch.Tensor) -> float:
    """The norm of the error relative to the norm of `expected`; inf if an element is not finite."""
    if not bool(got.isfinite().all()):
        return math.inf
    return float((got.double() - expected).norm() / expected.norm().clamp_min(1e-9))


def worst(expected: Mapping[int, Outputs]) -> Callable[[Outputs], float]:
    """Compares outputs [B, H, N, D] with what is `expected` for some heads, as tensors [N, D]."""

    def error(outputs: Outputs) -> float:
        return max(
            apart(got.flatten(0, 1)[head], right)
            for head, rights in expected.items()
            for got, right in zip(outputs, rights, strict=False)  # a log-sum-exp may follow
        )

    return error


def course(name: str, make: Callable[..., Run], configs: Sequence[tuple[int, ...]], thorough: bool) -> Contestant:
    """A plain solution with the best of a few configurations, or with the first if time is short."""
    if not thorough:
        return Contestant(f"course: {name}", "course", make(*configs[0]), note=str(configs[0]))
    run, note = best_of(make, configs)
    return Contestant(f"course: {name}", "course", run, note=note)


# ------------------------------------------------------------------------------------------------------------------- limits


def matrix_product(thorough: bool) -> Contest:
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    run = Contestant("matrix product", "limit", lambda: (a @ b,), checked=False)
    return Contest(2 * 8192**3, "TFLOP/s", [run], lambda outputs: 0.0, 0.0)


def copy(*shape: int, dtype: torch.dtype) -> Contestant:
    x = torch.randn(*shape, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    return Contestant("copy", "limit", lambda: (y.copy_(x),), checked=False)


# ------------------------------------------------------------------------------------------------------------------ softmax


def softmax_contest(m: int, n: int, dtype: torch.dtype, thorough: bool) -> Contest:
    x = torch.randn(m, n, device="cuda", dtype=dtype)
    y = torch.empty_like(x)
    rows = sorted({0, m - 1})
    expected = x[rows].double().softmax(-1)
    online, row = solution("online_softmax"), solution("row_softmax")

    def online_with(block: int, warps: int) -> Run:
        return lambda: (online[(m,)](x, y, n, n, n, BLOCK_N=block, num_warps=warps), y)[1:]

    def row_with(warps: int) -> Run:
        return lambda: (row[(m,)](x, y, n, n, n, BLOCK_N=triton.next_power_of_2(n), num_warps=warps), y)[1:]

    contestants = [
        copy(m, n, dtype=dtype),
        Contestant("fast", "fast", lambda: (softmax.softmax(x),)),
        Contestant("torch", "peer", lambda: (torch.softmax(x, -1),)),
        course("online_softmax", online_with, [(16384, 16), (8192, 8), (4096, 8), (4096, 4)], thorough),
    ]
    if n <= 65536:
        contestants.append(course("row_softmax", row_with, [(16,), (8,), (32,)], thorough))
    tolerance = 1e-5 if dtype == torch.float32 else 5e-3
    contest = Contest(2 * x.nbytes, "GB/s", contestants, lambda out: apart(out[0][rows], expected), tolerance)
    if n > 65536:
        contest.missing["liger"] = "takes rows of up to 65536"
    else:
        contest.add(
            "liger", lambda: alone(partial(module("liger_kernel.ops.softmax", "LigerSoftmaxFunction").apply, x))
        )
    return contest


# ---------------------------------------------------------------------------------------------------------------- attention


def exact_attention(tensors: Outputs, causal: bool) -> Outputs:
    """o, or dq, dk, dv if the gradient of o comes fourth, of one head's q, k, v [N, D], in float64, some queries at a time."""
    q, k, v, *rest = (t.detach().double().requires_grad_() for t in tensors)
    o, keys = torch.empty_like(q, requires_grad=False), torch.arange(k.shape[0], device=q.device)
    for rows in torch.arange(q.shape[0], device=q.device).split(1024):
        s = q[rows] @ k.T / math.sqrt(q.shape[1])
        some = (s.masked_fill(keys > rows[:, None], -math.inf) if causal else s).softmax(-1) @ v
        o[rows] = some.detach()
        if rest:
            some.backward(rest[0][rows].detach())
    return tuple(t.grad for t in (q, k, v) if t.grad is not None) if rest else (o,)


def attention_error(tensors: Outputs, causal: bool) -> Callable[[Outputs], float]:
    """Compares outputs [B, H, N, D] with float64, for the first and the last head."""
    heads = sorted({0, tensors[0].shape[0] * tensors[0].shape[1] - 1})
    return worst({head: exact_attention(tuple(t.flatten(0, 1)[head] for t in tensors), causal) for head in heads})


def library(backend: SDPBackend, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def flex(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Callable[[], torch.Tensor]:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch._dynamo.reset()  # otherwise it falls back to eager execution after eight shapes
    compiled = torch.compile(flex_attention, dynamic=False)
    n, grouped = q.shape[2], q.shape[1] != k.shape[1]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device="cuda") if causal else None
    return lambda: compiled(q, k, v, block_mask=mask, enable_gqa=grouped)


def alone(make: Callable[[], torch.Tensor]) -> Run:
    """A run with one output."""
    return lambda: (make(),)


def strides(*tensors: torch.Tensor) -> list[int]:
    return [stride for tensor in tensors for stride in tensor.stride()]


def course_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Callable[..., Run]:
    kernel, (b, h, n, d) = solution("flash_attention_heads"), q.shape
    o, lse = torch.empty_like(q), torch.empty(b, h, n, device="cuda")
    lengths = torch.full((b,), n, dtype=torch.int32, device="cuda")
    numbers = (*strides(q, k, v, o), d**-0.5, h, h, n, n)

    def make(block_m: int, block_n: int, warps: int, stages: int) -> Run:
        meta = {"IS_CAUSAL": causal, "BLOCK_M": block_m, "BLOCK_N": block_n, "D": d}
        grid = (triton.cdiv(n, block_m), b * h)

        def run() -> Outputs:
            kernel[grid](q, k, v, o, lse, lengths, *numbers, **meta, num_warps=warps, num_stages=stages)
            return (o,)

        return run

    return make


def forward_contest(b: int, h: int, n: int, d: int, causal: bool, dtype: torch.dtype, thorough: bool) -> Contest:
    q, k, v = (torch.randn(b, h, n, d, device="cuda", dtype=dtype) for _ in range(3))
    contestants = [
        Contestant("cuDNN", "peer", lambda: (library(SDPBackend.CUDNN_ATTENTION, q, k, v, causal),)),
        Contestant("fast", "fast", lambda: attention.attention(q, k, v, causal)),
        Contestant("FlashAttention-2", "peer", lambda: (library(SDPBackend.FLASH_ATTENTION, q, k, v, causal),)),
    ]
    tiles = [(128, 64, 8, 3), (64, 64, 4, 3), (128, 128, 8, 2), (128, 64, 4, 2)]
    work = 4 * b * h * n * n * d * (0.5 if causal else 1)
    contest = Contest(work, "TFLOP/s", contestants, attention_error((q, k, v), causal), 8e-3)
    contest.add_gluon("attention_gluon", q, k, v, causal)
    contest.contestants.append(course("flash_attention_heads", course_attention(q, k, v, causal), tiles, thorough))
    if (d, n, h, dtype) == (128, 16384, 16, torch.bfloat16):
        fp8 = Contestant("fast, FP8", "fast", lambda: attention_fp8.attention_fp8(q, k, v, causal), tolerance=8e-2)
        contest.contestants.append(fp8)
    contest.add_flex(thorough, lambda: alone(flex(q, k, v, causal)))
    return contest


def course_gradients(
    tensors: Outputs, o: torch.Tensor, lse: torch.Tensor, do: torch.Tensor, causal: bool
) -> Callable[..., Run]:
    delta_kernel, dkdv_kernel, dq_kernel = map(solution, ("attention_delta", "attention_dkdv", "attention_dq"))
    (q, k, v), (b, h, n, d) = tensors, tensors[0].shape
    dq, dk, dv, delta = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), torch.empty_like(lse)
    lengths = torch.full((b,), n, dtype=torch.int32, device="cuda")
    numbers = (d**-0.5, h, h, n, n)

    def make(block_m: int, block_n: int, warps: int, stages: int) -> Run:
        options = {"IS_CAUSAL": causal, "BLOCK_M": block_m, "BLOCK_N": block_n, "D": d}
        options |= {"num_warps": warps, "num_stages": stages}
        inputs, by_keys, by_queries = (q, k, v, do, lse, delta), triton.cdiv(n, block_n), triton.cdiv(n, block_m)

        def run() -> Outputs:
            delta_kernel[(triton.cdiv(n, 64), b * h)](o, do, delta, *strides(o, do), h, n, BLOCK_M=64, D=d)
            at = strides(q, k, v, do)
            dkdv_kernel[(by_keys, b * h)](*inputs, dk, dv, lengths, *at, *strides(dk, dv), *numbers, **options)
            dq_kernel[(by_queries, b * h)](*inputs, dq, lengths, *at, *strides(dq), *numbers, **options)
            return dq, dk, dv

        return run

    return make


def backward_contest(b: int, h: int, n: int, d: int, causal: bool, thorough: bool) -> Contest:
    q, k, v, do = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    o, lse = attention.attention(q, k, v, causal)
    learned = tuple(t.clone().requires_grad_() for t in (q, k, v))

    def through(forward: torch.Tensor) -> Run:
        return lambda: torch.autograd.grad(forward, learned, do, retain_graph=True)

    work = 10 * b * h * n * n * d * (0.5 if causal else 1)
    contest = Contest(work, "TFLOP/s", [], attention_error((q, k, v, do), causal), 1.5e-2)
    contest.add("cuDNN", lambda: through(library(SDPBackend.CUDNN_ATTENTION, *learned, causal)))
    contest.add("fast", lambda: lambda: attention_backward.attention_backward(q, k, v, o, lse, do, causal), "fast")
    contest.add_gluon("attention_backward_gluon", q, k, v, o, lse, do, causal)
    contest.add("FlashAttention-2", lambda: through(library(SDPBackend.FLASH_ATTENTION, *learned, causal)))
    tiles = [(64, 64, 4, 2), (64, 64, 8, 2), (32, 64, 4, 2)]
    kernels = course_gradients((q, k, v), o, lse, do, causal)
    contest.contestants.append(course("the three gradient kernels", kernels, tiles, thorough))
    contest.add_flex(thorough, lambda: through(flex(*learned, causal)()))
    return contest


# ----------------------------------------------------------------------------------------------------------------- decoding


@dataclass(frozen=True)
class Paged:
    """Keys and values [B, H_KV, N, D] in pages of 16 that lie in any order; the last one ends in zeros."""

    k: torch.Tensor  # [N_PAGES, H_KV, 16, D]
    v: torch.Tensor
    block_table: torch.Tensor  # [B, MAX_PAGES] int32
    lengths: torch.Tensor  # [B] int32

    @classmethod
    def of(cls, k: torch.Tensor, v: torch.Tensor) -> Paged:
        (b, _, n, _), page = k.shape, 16
        order = torch.randperm(b * triton.cdiv(n, page), device=k.device)
        caches = []
        for x in (k, v):
            pages = F.pad(x, (0, 0, 0, -n % page)).unflatten(2, (-1, page)).transpose(1, 2).flatten(0, 1)
            caches.append(torch.empty_like(pages, memory_format=torch.contiguous_format))
            caches[-1][order] = pages
        return cls(*caches, order.view(b, -1).int(), torch.full((b,), n, dtype=torch.int32, device=k.device))


def of_vllm(q: torch.Tensor, cache: Paged) -> Run:
    """vLLM's Triton kernel with its engine's choices: 16 segments as long as they fill the GPU. Raises ImportError.

    Its pages are [PAGE, H_KV, D].
    """
    kernel = module("vllm.v1.attention.ops.triton_unified_attention", "unified_attention")
    (b, h_q, d), (_, h_kv, page, _) = q.shape, cache.k.shape
    k, v = (x.transpose(1, 2).contiguous() for x in (cache.k, cache.v))
    starts, o = torch.arange(b + 1, dtype=torch.int32, device="cuda"), torch.empty_like(q)
    segments = {
        "seq_threshold_3D": 128 // h_kv,
        "num_par_softmax_segments": 16,
        "softmax_segm_output": torch.empty(b, h_q, 16, d, device="cuda"),
        "softmax_segm_max": torch.empty(b, h_q, 16, device="cuda"),
        "softmax_segm_expsum": torch.empty(b, h_q, 16, device="cuda"),
    }
    most = cache.block_table.shape[1] * page
    lengths = (starts, 1, cache.lengths, most)
    numbers = (d**-0.5, True, (-1, -1), cache.block_table, 0, None, None, None)

    def run() -> Outputs:
        kernel(q, k, v, o, *lengths, *numbers, **segments)
        return (o[:, :, None],)

    return run


def decode_contest(b: int, h_q: int, h_kv: int, n: int, thorough: bool) -> Contest:
    """One query a head, groups of them over a head of keys, D = 128. A copy of the keys moves as many bytes: it reads and writes."""
    q = torch.randn(b, h_q, 1, 128, device="cuda", dtype=torch.bfloat16)
    k, v = (torch.randn(b, h_kv, n, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    group, cache, one = h_q // h_kv, Paged.of(k, v), q[:, :, 0]
    heads = sorted({0, b * h_q - 1})
    rows = {head: (q.view(-1, 1, 128)[head], *(t.flatten(0, 1)[head // group] for t in (k, v))) for head in heads}
    error = worst({head: exact_attention(tensors, False) for head, tensors in rows.items()})

    def theirs(backend: SDPBackend) -> Run:
        return alone(lambda: library(backend, q, k, v, False))

    def paged() -> torch.Tensor:
        return attention_split.paged_decode(one, cache.k, cache.v, cache.block_table, cache.lengths)[:, :, None]

    def course_paged() -> torch.Tensor:
        decode = module("solutions.launchers.paged_decode", "paged_decode")
        return decode(one, cache.k, cache.v, cache.block_table, cache.lengths)[:, :, None]

    contestants = [
        copy(b, h_kv, n, 128, dtype=torch.bfloat16),
        Contestant("fast, split", "fast", lambda: attention_split.attention_split(q, k, v)),
        Contestant("fast, paged", "fast", alone(paged)),
        Contestant("fast, not split", "fast", lambda: attention_split.attention_split(q, k, v, programs=b * h_kv)),
        Contestant("course: paged_decode", "course", alone(course_paged)),
        Contestant("cuDNN", "peer", theirs(SDPBackend.CUDNN_ATTENTION)),
        Contestant("FlashAttention-2", "peer", theirs(SDPBackend.FLASH_ATTENTION)),
    ]
    contest = Contest(k.nbytes + v.nbytes, "GB/s", contestants, error, 8e-3)
    contest.add("vLLM, in Triton, paged", lambda: of_vllm(one, cache))
    contest.add_flex(thorough, lambda: alone(flex(q, k, v, False)))
    return contest


# --------------------------------------------------------------------------------------------------------- linear attention


def exact_linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal linear attention of one head's features q, k and values v [N, D] in float64, in chunks."""
    state = torch.zeros(q.shape[1], v.shape[1], dtype=torch.float64, device=q.device)
    z = torch.zeros(q.shape[1], dtype=torch.float64, device=q.device)
    o = torch.empty_like(v)
    for start in range(0, q.shape[0], 1024):
        rows = slice(start, start + 1024)
        a = (q[rows] @ k[rows].T).tril()
        o[rows] = (q[rows] @ state + a @ v[rows]) / (q[rows] @ z + a.sum(-1) + LINEAR_EPS)[:, None]
        state += k[rows].T @ v[rows]
        z += k[rows].sum(0)
    return o


def course_linear(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Callable[..., Run]:
    kernel, (b, h, n, d) = solution("causal_linear_attention_chunked"), q.shape
    o, before = torch.empty_like(v), (torch.zeros(b, h, d, d, device="cuda"), torch.zeros(b, h, d, device="cuda"))
    after = tuple(map(torch.empty_like, before))
    numbers = [stride for t in (q, k, v, o) for stride in (t.stride(1), t.stride(2))]

    def make(chunk: int, block_v: int, warps: int) -> Run:
        def run() -> Outputs:
            kernel[(b * h, triton.cdiv(d, block_v))](
                q, k, v, o, *before, *after, *numbers, n, d, CHUNK=chunk, BLOCK_V=block_v, D=d, num_warps=warps
            )
            return (o,)

        return run

    return make


def course_parallel(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Callable[..., Run]:
    names = ("linear_chunk_states", "linear_state_prefix", "causal_linear_attention_parallel")
    states_kernel, prefix_kernel, output_kernel = map(solution, names)
    (b, h, n, d), o = q.shape, torch.empty_like(v)
    s0, z0 = torch.zeros(b * h, d * d, device="cuda"), torch.zeros(b * h, d, device="cuda")

    def make(chunk: int, block_v: int, warps: int) -> Run:
        chunks = triton.cdiv(n, chunk)
        s, z = torch.empty(b * h, chunks, d * d, device="cuda"), torch.empty(b * h, chunks, d, device="cuda")
        starts = torch.empty_like(s), torch.empty_like(z)
        at = [stride for t in (q, k, v, o) for stride in (t.stride(1), t.stride(2))]
        grid, meta = (chunks, b * h, triton.cdiv(d, block_v)), {"CHUNK": chunk, "BLOCK_V": block_v, "D": d}

        def run() -> Outputs:
            states_kernel[grid](k, v, s, z, *at[2:6], n, chunks, d, **meta, num_warps=warps)
            prefix_kernel[(d * d // 128, b * h)](s, s0, starts[0], torch.empty_like(s0), chunks, d * d, BLOCK_SIZE=128)
            prefix_kernel[(1, b * h)](z, z0, starts[1], torch.empty_like(z0), chunks, d, BLOCK_SIZE=d)
            output_kernel[grid](q, k, v, o, *starts, *at, n, chunks, d, **meta, num_warps=warps)
            return (o,)

        return run

    return make


def linear_contest(b: int, h: int, n: int, d: int, thorough: bool) -> Contest:
    q, k, v = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    features = tuple(F.elu(t.double()) + 1 for t in (q, k))
    heads = sorted({0, b * h - 1})
    expected = {head: (exact_linear(*(t.flatten(0, 1)[head].double() for t in (*features, v))),) for head in heads}
    del features
    contestants = [
        copy(2, b, h, n, d, dtype=torch.bfloat16),
        Contestant("fast", "fast", lambda: (linear_attention.linear_attention(q, k, v),)),
        course("in chunks", course_linear(q, k, v), [(64, d, 8), (64, 32, 4), (128, d, 8)], thorough),
        course("in parallel", course_parallel(q, k, v), [(128, d, 8), (64, d, 4)], thorough),
    ]
    contest = Contest(4 * q.nbytes, "GB/s", contestants, worst(expected), 1e-2)
    for name in ("chunk_linear_attn", "fused_chunk_linear_attn"):
        for normalised in (True, False):
            shown = f"fla {name}" + ", not normalised" * (not normalised)
            contest.add(shown, partial(of_fla, shown, name, normalised, q, k, v))
    return contest


def of_fla(shown: str, name: str, normalised: bool, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Contestant:
    """A kernel of flash-linear-attention, which takes features [B, N, H, D]. Raises ImportError.

    Its normaliser is several operations of PyTorch after the kernel. Without it the output is another one, and not checked.
    """
    kernel = module("fla.ops.linear_attn", name)
    features = [(F.elu(t.float()) + 1).to(t.dtype).transpose(1, 2).contiguous() for t in (q, k)]
    values = v.transpose(1, 2).contiguous()
    run = alone(lambda: kernel(*features, values, normalize=normalised)[0].transpose(1, 2))
    return Contestant(shown, "peer", run, checked=normalised, note="without the map elu + 1")


# ------------------------------------------------------------------------------------------------- decays and the delta rule


def exact_delta(tensors: Outputs, g: torch.Tensor, beta: torch.Tensor | None) -> torch.Tensor:
    """The gated delta rule of one head's q, k, v [N, D], token by token in float64; without beta, linear attention with decays."""
    (q, k, v), decays = (t.double() for t in tensors), g.double().exp()
    state = torch.zeros(q.shape[1], v.shape[1], dtype=torch.float64, device=q.device)
    o = torch.empty_like(v)
    for i in range(q.shape[0]):
        state *= decays[i]
        state.addr_(k[i], v[i] if beta is None else beta[i] * (v[i] - k[i] @ state))
        o[i] = q[i] @ state
    return o


def course_delta(tensors: Outputs, g: torch.Tensor, beta: torch.Tensor | None) -> Callable[..., Run]:
    """The plain kernels, from a state of zeros: four for the delta rule, one without beta."""
    (q, k, v), (b, h, n, d) = tensors, tensors[0].shape
    o, before = torch.empty_like(v), torch.zeros(b, h, d, d, device="cuda")
    after, at = torch.empty_like(before), [stride for t in (q, k, v, o) for stride in (t.stride(1), t.stride(2))]
    if beta is None:
        decay = solution("decay_linear_attention_chunked")

        def make_decay(chunk: int, block_v: int, warps: int) -> Run:
            meta = {"CHUNK": chunk, "BLOCK_V": block_v, "D": d, "num_warps": warps}
            return lambda: (decay[(b * h, d // block_v)](q, k, v, g, o, before, after, *at, n, d, **meta), o)[1:]

        return make_decay
    names = ("delta_chunk_matrix", "triangular_inverse", "delta_chunk_values", "delta_chunk_walk")
    matrix_kernel, inverse_kernel, values_kernel, walk_kernel = map(solution, names)
    u, w, few = (torch.empty(b, h, n, size, device="cuda") for size in (d, d, 16))

    def make(chunk: int, block_v: int, warps: int) -> Run:
        chunks = triton.cdiv(n, chunk)
        a, t = (torch.empty(b, h, chunks, chunk, chunk, device="cuda") for _ in range(2))
        grid, meta = (chunks, b * h), {"CHUNK": chunk, "num_warps": warps}

        def run() -> Outputs:
            matrix_kernel[grid](k, g, beta, a, *at[2:4], n, chunks, D=d, **meta)
            inverse_kernel[grid](a, v, t, few, *at[4:6], n, chunks, D_V=16, **meta)
            values_kernel[grid](t, k, v, g, beta, u, w, *at[2:6], n, chunks, D=d, D_V=d, **meta)
            numbers = (*at[:4], *at[6:], n, d)
            walk = walk_kernel[(b * h, d // block_v)]
            walk(q, k, u, w, g, o, before, after, *numbers, BLOCK_V=block_v, D=d, **meta)
            return (o,)

        return run

    return make


def delta_contest(b: int, h: int, n: int, d: int, corrects: bool, thorough: bool) -> Contest:
    """The gated delta rule, or without corrections retention: the decays of each head are fixed, as flash-linear-attention has them."""
    q, k, v = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    q, k = (F.normalize(t.float(), dim=-1).to(t.dtype) for t in (q, k))
    if corrects:
        g, beta = -0.1 * torch.rand(b, h, n, device="cuda"), torch.rand(b, h, n, device="cuda")
        fast = partial(delta_rule.delta_rule, q, k, v, g, beta)
    else:
        fixed = (1 - 2.0 ** (-5.0 - torch.arange(h, device="cuda"))).log()
        g, beta = fixed[None, :, None].expand(b, h, n).contiguous(), None
        fast = partial(delta_rule.decay_linear_attention, q, k, v, g)
    expected = {}
    for head in sorted({0, b * h - 1}):
        rows = tuple(t.flatten(0, 1)[head] for t in (q, k, v))
        shares = None if beta is None else beta.flatten(0, 1)[head]
        expected[head] = (exact_delta(rows, g.flatten(0, 1)[head], shares),)
    contestants = [
        copy(2, b, h, n, d, dtype=torch.bfloat16),
        Contestant("fast", "fast", lambda: fast()[:1]),
        course("in chunks", course_delta((q, k, v), g, beta), [(64, 32, 4), (32, 32, 4), (64, 64, 8)], thorough),
    ]
    contest = Contest(4 * q.nbytes, "GB/s", contestants, worst(expected), 1e-2)
    swapped = [t.transpose(1, 2).contiguous() for t in (q, k, v, g, beta) if t is not None]

    def theirs(name: str, *tensors: torch.Tensor) -> Run:
        kernel = module(f"fla.ops.{name.removeprefix('chunk_')}", name)
        return alone(lambda: kernel(*tensors, scale=1.0)[0].transpose(1, 2))

    if corrects:
        contest.add("fla chunk_gated_delta_rule", lambda: theirs("chunk_gated_delta_rule", *swapped))
    else:
        contest.add("fla chunk_retention", lambda: theirs("chunk_retention", *swapped[:3]))
    return contest


# -------------------------------------------------------------------------------------------------------------------- cases


def softmax_case(m: int, n: int, dtype: torch.dtype, **flags: bool) -> Case:
    name = f"{str(dtype).removeprefix('torch.')} {m} × {n}"
    return Case("softmax", name, lambda thorough: softmax_contest(m, n, dtype, thorough), **flags)


def forward_case(
    b: int, h: int, n: int, d: int, causal: bool, dtype: torch.dtype = torch.bfloat16, **flags: bool
) -> Case:
    name = f"D{d} {'causal' if causal else 'full'} b{b} h{h} n{n}" + (" fp16" if dtype == torch.float16 else "")
    return Case("forward", name, lambda thorough: forward_contest(b, h, n, d, causal, dtype, thorough), **flags)


def backward_case(b: int, h: int, n: int, d: int, causal: bool, **flags: bool) -> Case:
    name = f"D{d} {'causal' if causal else 'full'} b{b} h{h} n{n}"
    return Case("backward", name, lambda thorough: backward_contest(b, h, n, d, causal, thorough), **flags)


def decode_case(b: int, h_q: int, h_kv: int, n: int, **flags: bool) -> Case:
    name = f"D128 b{b} h{h_q} over {h_kv} n{n}"
    return Case("decode", name, lambda thorough: decode_contest(b, h_q, h_kv, n, thorough), **flags)


def linear_case(b: int, h: int, n: int, d: int, **flags: bool) -> Case:
    return Case("linear", f"D{d} b{b} h{h} n{n}", lambda thorough: linear_contest(b, h, n, d, thorough), **flags)


def delta_case(family: str, b: int, h: int, n: int, d: int, **flags: bool) -> Case:
    def make(thorough: bool) -> Contest:
        return delta_contest(b, h, n, d, family == "delta", thorough)

    return Case(family, f"D{d} b{b} h{h} n{n}", make, **flags)


def ragged_cases(n: int) -> list[Case]:
    """Every family at one length, which fits a tile or does not."""
    return [
        forward_case(2, 16, n, 128, False, brief=True),
        forward_case(2, 16, n, 128, True, brief=True),
        softmax_case(8192, n, FP32, brief=True),
        linear_case(4, 16, n, 64, brief=True),
        *([backward_case(2, 16, n, 128, True, brief=True)] if n > 1 else []),  # one query: no gradient but dV
    ]


FP32, BF16, FP16 = torch.float32, torch.bfloat16, torch.float16


def cases() -> list[Case]:
    """The cases of the aims first, in case the run ends early."""
    both = (False, True)
    return [
        Case("limits", "matrix product 8192³", matrix_product, quick=True),
        *(forward_case(1, 16, 16384, 128, causal, quick=True) for causal in both),
        *(softmax_case(m, n, FP32, quick=True) for m, n in ((4096, 65536), (1024, 262144), (32, 2**23))),
        *(linear_case(*shape, quick=True) for shape in ((8, 16, 4096, 64), (8, 16, 4096, 128), (1, 4, 65536, 64))),
        *(delta_case(family, 8, 16, 4096, d, quick=d == 128) for d in (128, 64) for family in ("decay", "delta")),
        *(backward_case(1, 16, 16384, 128, causal, quick=True) for causal in both),
        *(forward_case(1, 32, 16384, 64, causal, quick=True) for causal in both),
        *(decode_case(*shape, quick=True) for shape in ((1, 32, 8, 65536), (4, 16, 2, 16384))),
        *(case for n in (4096, 4097, 1024, 1000) for case in ragged_cases(n)),
        *(softmax_case(m, n, BF16) for m, n in ((4096, 65536), (1024, 262144), (32, 2**23))),
        *(forward_case(4, 16, 4096, 128, causal) for causal in both),
        *(forward_case(4, 32, 4096, 64, causal) for causal in both),
        *(backward_case(4, 16, 4096, 128, causal) for causal in both),
        *(backward_case(1, 32, 16384, 64, causal) for causal in both),
        *(linear_case(*shape) for shape in ((1, 16, 16384, 64), (1, 16, 16384, 128), (1, 4, 65536, 128))),
        *(case for n in (1, 17) for case in ragged_cases(n)),
        *(forward_case(1, 4, 65536, 128, causal) for causal in both),
        *(forward_case(1, 16, 16384, 128, causal, FP16) for causal in both),
        softmax_case(32768, 1024, BF16),
    ]
