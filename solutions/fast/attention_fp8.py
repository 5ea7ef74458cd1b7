"""Attention, forward, in eight bits on a Hopper GPU: twice the products in the same time, and three bits of mantissa.

The kernels of `attention` with e4m3 instead of bf16. Q, K and V are quantised first, by a kernel of their own. What is new:

scales          e4m3 holds 448 at most, and full precision down to 2^-6. A tile of rows is divided by amax / 448, so that its largest
                number is 448. A tile of the attention has one scale for all its keys: it multiplies a scalar, no tile.
values          an accumulator must not change its unit from one tile of keys to the next. It is rescaled by alpha there anyway, and the
                ratio of two scales of V rides along: acc is always in units of the tile that came last.
weights         e4m3 rounds numbers under 2^-10 to 0. The state m is 8 too low in base two, so weights reach 256 and small ones
                survive. Nothing has to be put right afterwards: the sum of the weights and the log-sum-exp are relative to any m.
V on end        an 8-bit product reads its right operand along the keys. Hopper cannot transpose 8 bits on the way, so the quantising
                kernel writes V as [D, N]; N is padded to whole tiles, because rows of 16 bytes are what a descriptor needs.
sums            Hopper adds 8-bit products with some 14 bits of mantissa (DeepSeek-V3's report, section 3.3.2), so a long sum loses more at
                each step. Every tile's product starts at zero, and is added to acc in float32. Without that, values of mean 1 came out
                19 % wrong at N = 16384; with it, 0.3 %.
two loops       tiles that every query sees whole need no mask: the first loop has none. The second is for the diagonal or the end.

Three bits of mantissa round by 2.6 % (root mean square). With normal inputs the output is off by 5.2 % of its norm, with bf16 by 0.2 %.
An outlier channel takes no bits from the others, because e4m3 has an exponent: two channels of V that are 30 times as large change nothing. Two
such channels of K make it 12 %: scores grow, their errors grow with them, and a weight is the exponential of a score. Products of bf16 are
exact, and stay at 0.2 %. `tests/fast/test_values.py` measures this without a GPU; an H200 at N = 16384 says 5.5 and 13 %. So FP8 is an outlook and
no rung. Models that use it bring the scores' errors down first, for one by rotating Q and K so that outliers spread over all channels
(FlashAttention-3, section 3.3).

What it buys, in TFLOP/s on one H200, N = 16384, quantising included (cuDNN in bf16 / `attention_gluon` in bf16 / this):

D = 128     675 / 702 / 747, causal 628 / 710 / 718.
D = 64      496 / 575 / 462, causal 471 / 525 / 442: the softmax costs as much as ever, and half as many products hide it.
"""

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check_heads


@triton.jit
def quantise_kernel(
    x_ptr,  # [B * H, N, D] bf16 or fp16, without gaps
    y_ptr,  # [B * H, ROWS, D] e4m3 output, or [B * H, D, ROWS] if TRANSPOSED; 0 past N
    scale_ptr,  # [B * H, ROWS // BLOCK] float32 output: what y is to be multiplied by
    N,  # number of rows of x
    ROWS,  # N up to the next multiple of BLOCK
    TRANSPOSED: tl.constexpr,
    BLOCK: tl.constexpr,  # rows per tile
    D: tl.constexpr,  # head dimension: 64 or 128
):
    """Program (i, head) owns one tile."""
    head = tl.program_id(1).to(tl.int64)
    offs_n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs_d = tl.arange(0, D)
    # [BLOCK, D]
    x = tl.load(x_ptr + (head * N + offs_n)[:, None] * D + offs_d[None, :], mask=(offs_n < N)[:, None], other=0.0)
    x = x.to(tl.float32)
    # a tile of zeros has a scale too: of two scales the ratio is taken
    amax = tl.maximum(tl.max(tl.max(tl.abs(x), axis=1), axis=0), 1e-9)
    y = (x * (448.0 / amax)).to(tl.float8e4nv)
    tl.store(scale_ptr + head * (ROWS // BLOCK) + tl.program_id(0), amax / 448.0)
    if TRANSPOSED:
        # [D, BLOCK]
        tl.store(y_ptr + (head * D + offs_d)[:, None] * ROWS + offs_n[None, :], tl.trans(y))
    else:
        tl.store(y_ptr + (head * ROWS + offs_n)[:, None] * D + offs_d[None, :], y)


@triton.jit
def attention_fp8_kernel(
    q_ptr,  # [B * H, ROWS_Q, D] e4m3 queries, without gaps, like all tensors here
    k_ptr,  # [B * H, ROWS_K, D] e4m3 keys
    v_ptr,  # [B * H, D, ROWS_K] e4m3 values
    q_scale_ptr,  # [B * H, ROWS_Q // BLOCK_M] float32
    k_scale_ptr,  # [B * H, ROWS_K // BLOCK_N] float32
    v_scale_ptr,  # [B * H, ROWS_K // BLOCK_N] float32
    o_ptr,  # [B * H, N, D] output, bf16 or fp16
    lse_ptr,  # [B * H, N] float32 log-sum-exp of each query's scaled scores
    scale,  # a float above 0, usually 1 / sqrt(D)
    heads,  # B * H
    N,  # number of queries and of keys
    ROWS_Q,  # N up to the next multiple of BLOCK_M
    ROWS_K,  # N up to the next multiple of BLOCK_N
    IS_CAUSAL: tl.constexpr,  # query i sees keys 0 to i
    MASK_END: tl.constexpr,  # N is no multiple of BLOCK_N
    BLOCK_M: tl.constexpr,  # queries per tile
    BLOCK_N: tl.constexpr,  # keys per tile
    D: tl.constexpr,  # head dimension: 64 or 128
    STAGES: tl.constexpr,  # tiles of keys on their way at a time
):
    """Program i owns query tile i of all heads; the long rows of a causal head come first."""
    tiles = ROWS_Q // BLOCK_M
    q_desc = tl.make_tensor_descriptor(q_ptr, [heads * ROWS_Q, D], [D, 1], [BLOCK_M, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, [heads * ROWS_K, D], [D, 1], [BLOCK_N, D])
    v_desc = tl.make_tensor_descriptor(v_ptr, [heads * D, ROWS_K], [ROWS_K, 1], [D, BLOCK_N])
    head = tl.program_id(0) // tiles
    pid_m = tl.program_id(0) % tiles
    if IS_CAUSAL:
        pid_m = tiles - 1 - pid_m
    start_m = pid_m * BLOCK_M
    offs_m, offs_n, offs_d = start_m + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, D)
    # [BLOCK_M, D]
    q = q_desc.load([head * ROWS_Q + start_m, 0])
    qk_scale = tl.load(q_scale_ptr + head * tiles + pid_m) * scale * 1.4426950408889634
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    v_scale = 1.0
    if IS_CAUSAL:  # a key past N is later than every query before N
        seen, whole, end = offs_m + 1, start_m // BLOCK_N * BLOCK_N, tl.minimum(start_m + BLOCK_M, N)
    else:
        seen, whole, end = tl.zeros_like(offs_m) + N, N // BLOCK_N * BLOCK_N, N
    # first the tiles that every query sees whole, then, with a mask, those on the diagonal or at the end
    for MASKED in tl.static_range(2 if IS_CAUSAL or MASK_END else 1):
        start, stop = (whole, end) if MASKED else (0, whole)
        for start_n in tl.range(start, stop, BLOCK_N, num_stages=1 if MASKED else STAGES):
            tile_n = (head * ROWS_K + start_n) // BLOCK_N
            # [BLOCK_N, D]
            k = k_desc.load([head * ROWS_K + start_n, 0])
            to_base_two = qk_scale * tl.load(k_scale_ptr + tile_n)
            v_new = tl.load(v_scale_ptr + tile_n)
            # [BLOCK_M, BLOCK_N] = [BLOCK_M, D] @ [D, BLOCK_N]
            s = tl.dot(q, tl.trans(k))
            if MASKED:
                s = tl.where(offs_n[None, :] < (seen - start_n)[:, None], s, float("-inf"))
            # [BLOCK_M]
            m_new = tl.maximum(m_i, tl.max(s, axis=1) * to_base_two - 8.0)
            # [BLOCK_M, BLOCK_N], up to 2^8
            p = tl.exp2(s * to_base_two - m_new[:, None])
            alpha = tl.exp2(m_i - m_new)
            m_i = m_new
            # [BLOCK_M, D]: from units of the last tile's scale to those of this one's
            acc = acc * (alpha * (v_scale / v_new))[:, None]
            v_scale = v_new
            # [D, BLOCK_N]
            v = v_desc.load([head * D, start_n])
            # [BLOCK_M, D] += [BLOCK_M, BLOCK_N] @ [BLOCK_N, D]: not dot(p, v, acc), see "sums" above
            acc += tl.dot(p.to(v.dtype), tl.trans(v))
            l_i = l_i * alpha + tl.sum(p, axis=1)
    row = head.to(tl.int64) * N + offs_m
    # [BLOCK_M, D]
    o = acc * (v_scale / l_i)[:, None]
    tl.store(o_ptr + row[:, None] * D + offs_d[None, :], o, mask=(offs_m < N)[:, None])
    # [BLOCK_M]: back to base e
    tl.store(lse_ptr + row, (m_i + tl.log2(l_i)) * 0.6931471805599453, mask=offs_m < N)


@dataclass(frozen=True)
class Config:
    """How the kernel is launched."""

    block_m: int
    block_n: int
    warps: int
    stages: int


CONFIGS: tuple[Config, ...] = (Config(64, 128, 4, 3), Config(64, 128, 4, 2), Config(64, 64, 4, 3))
"""The first is used; each is right for any N."""


def quantise(x: torch.Tensor, block: int, transposed: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """x [B, H, N, D] as e4m3 [B * H, ROWS, D], transposed [B * H, D, ROWS], ROWS a multiple of block; and the scales of its tiles."""
    b, h, n, d = x.shape
    tiles = triton.cdiv(n, block)
    shape = (d, tiles * block) if transposed else (tiles * block, d)
    y = torch.empty(b * h, *shape, dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(b * h, tiles, dtype=torch.float32, device=x.device)
    quantise_kernel[(tiles, b * h)](x, y, scale, n, tiles * block, TRANSPOSED=transposed, BLOCK=block, D=d, num_warps=8)
    return y, scale


def attention_fp8(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, config: Config | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, H, N, D] and log-sum-exp [B, H, N] (float32) of q, k, v [B, H, N, D]: bf16 or fp16, D 64 or 128, without gaps.

    All products are of e4m3; quantising is part of it. Raises ValueError for other tensors.
    """
    b, h, n, d = check_heads(q=q, k=k, v=v)
    c = config or CONFIGS[0]
    o, lse = torch.empty_like(q), torch.empty(b, h, n, dtype=torch.float32, device=q.device)
    (q8, q_scale), (k8, k_scale) = quantise(q, c.block_m), quantise(k, c.block_n)
    v8, v_scale = quantise(v, c.block_n, transposed=True)
    allow_descriptors()
    meta = {"IS_CAUSAL": causal, "MASK_END": n % c.block_n > 0, "BLOCK_M": c.block_m, "BLOCK_N": c.block_n, "D": d}
    attention_fp8_kernel[(q_scale.numel(),)](
        *(q8, k8, v8, q_scale, k_scale, v_scale, o, lse, 1 / math.sqrt(d), b * h, n, q8.shape[1], k8.shape[1]),
        **(meta | {"STAGES": c.stages, "num_warps": c.warps}),
    )
    return o, lse
