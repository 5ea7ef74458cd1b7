"""The kernels of the softmax and attention ladder, as small as they can be written, and one with descriptors: for tests and benchmarks."""

import torch
import triton
import triton.language as tl

from checker.simulator import SimulateOptions, Trace
from tests.simulator.launching import EVENTS, nans, run


@triton.jit
def row_softmax(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * stride_xm + offs_n, mask=mask, other=float("-inf"))
    p = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride_ym + offs_n, p / tl.sum(p, axis=0), mask=mask)


@triton.jit
def online_softmax(x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    m_i = -float("inf")
    l_i = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + offs_n, mask=offs_n < N, other=float("-inf"))
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * stride_xm + offs_n, mask=offs_n < N, other=float("-inf"))
        tl.store(y_ptr + row * stride_ym + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)


@triton.jit
def tiled_softmax(x_ptr, y_ptr, stride_xm, stride_ym, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :], mask=mask, other=float("-inf"))
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new[:, None]), axis=1)
        m_i = m_new
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
        x = tl.load(x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :], mask=mask, other=float("-inf"))
        y = tl.exp(x - m_i[:, None]) / l_i[:, None]
        tl.store(y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :], y, mask=mask)


@triton.jit
def flash_attention(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_h,
    stride_n,
    N,
    scale,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    PRECISION: tl.constexpr,
):
    pid_m = tl.program_id(0)
    head = tl.program_id(1) * stride_h
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    rows = offs_m[:, None] < N
    q = tl.load(q_ptr + head + offs_m[:, None] * stride_n + offs_d[None, :], mask=rows, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    stop = N
    if IS_CAUSAL:
        stop = tl.minimum(N, (pid_m + 1) * BLOCK_M)
    for start in range(0, stop, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        columns = offs_n[:, None] < N
        k = tl.load(k_ptr + head + offs_n[:, None] * stride_n + offs_d[None, :], mask=columns, other=0.0)
        v = tl.load(v_ptr + head + offs_n[:, None] * stride_n + offs_d[None, :], mask=columns, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision=PRECISION) * scale
        valid = offs_n[None, :] < N
        if IS_CAUSAL:
            valid = valid & (offs_m[:, None] >= offs_n[None, :])
        s = tl.where(valid, s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
        m_i = m_new
    o = acc / l_i[:, None]
    tl.store(o_ptr + head + offs_m[:, None] * stride_n + offs_d[None, :], o, mask=rows)


@triton.jit
def copied_by_descriptors(x_ptr, y_ptr, M, N, stride_xm, stride_ym, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [stride_xm, 1], [BLOCK_M, BLOCK_N])
    y_desc = tl.make_tensor_descriptor(y_ptr, [M, N], [stride_ym, 1], [BLOCK_M, BLOCK_N])
    start_m = tl.program_id(0) * BLOCK_M
    for start_n in range(0, N, BLOCK_N):
        y_desc.store([start_m, start_n], x_desc.load([start_m, start_n]) + 1)


@triton.jit
def copies(x_ptr, y_ptr, stride_xm, N, SHIFT: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * stride_xm + offs_n + SHIFT, mask=offs_n < N, other=0.0)
    tl.store(y_ptr + row * N + offs_n, x, mask=offs_n < N)


def copied(x: torch.Tensor, y: torch.Tensor, stride: int, shift: int = 0) -> Trace:
    """Rows of 12 elements, `stride` apart in `x`, beginning `shift` elements later."""
    return run(copies, (len(y),), ("y_ptr",), {"BLOCK_N": 16, "SHIFT": shift}, x_ptr=x, y_ptr=y, stride_xm=stride, N=12)


@triton.jit
def no_other(x_ptr, y_ptr, N, KIND: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    offs_n = tl.arange(0, BLOCK_N)
    mask = offs_n < N
    x = tl.load(x_ptr + row * N + offs_n, mask=mask)
    if KIND == "max":  # NaN does not survive tl.max, so poison alone would not show
        tl.store(y_ptr + row, tl.max(x, axis=0))
    elif KIND == "sum":
        tl.store(y_ptr + row, tl.sum(x, axis=0))
    elif KIND == "argmax":
        tl.store(y_ptr + row, tl.argmax(x, axis=0).to(tl.float32))
    elif KIND == "scan":
        tl.store(y_ptr + row, tl.max(tl.where(offs_n == BLOCK_N - 1, tl.cumsum(x, 0), 0.0), axis=0))
    elif KIND == "branch":
        if tl.max(x, axis=0) > 0.0:
            tl.store(y_ptr + row, 1.0)
        else:
            tl.store(y_ptr + row, 0.0)
    elif KIND == "where":
        tl.store(y_ptr + row, tl.sum(tl.where(mask, x, 0.0), axis=0))
    elif KIND == "and":
        tl.store(y_ptr + row, tl.sum(((x > 0) & mask).to(tl.float32), axis=0))


def without_other(kind: str, options: SimulateOptions = EVENTS) -> Trace:
    x, meta = torch.randn(3, 12), {"BLOCK_N": 16, "KIND": kind}
    return run(no_other, (3,), ("y_ptr",), meta, options, x_ptr=x, y_ptr=nans(3), N=12)
