"""Causal linear attention as fast as plain Triton gets: `causal_linear_attention_chunked` with its state kept in registers.

The aim is the time of a copy of the same bytes: q, k and v read once, o written once. What each step buys, in GB/s on one H200
(b8 h16 n4096 D64, where a copy reaches 4083; docs/speed.md has the report of a full run):

pointers        1128 with chunks of 64, 1533 with chunks of 128 and 8 warps.
descriptors     with a map (phi) between the load and the product, Triton 3.6 keeps a tile that came through pointers unswizzled, and
                threads wait for each other's banks; a descriptor swizzles it. With one reciprocal a row and an exponential without
                `where`: 1946.
normaliser      `tl.sum(q * z, 1)` reads phi(q) in a layout of its own, and the compiler computes phi once for each. Kept as 64 equal
                rows, z is made and read by products like the state: 2161. It is brought to one number a row before the division: 2278.
big chunks      128 tokens and 8 warps: 2335.
few heads       four heads keep four multiprocessors busy. Segments of each head are summed up first, then a prefix over the sums gives
                every segment the state it starts from: 85 -> 1657 for b1 h4 n65536 D64 (flash-linear-attention reads 85 there).

With D = 128 the state has four times the numbers; it is kept as [D, D] and not transposed, and 64 equal columns hold z.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check, check_heads


@triton.jit
def phi(x):
    """elu(x) + 1: x + 1 above 0, exp(x) below."""
    x = x.to(tl.float32)
    return tl.maximum(x, 0.0) + tl.exp2(tl.minimum(x, 0.0) * 1.4426950408889634)


@triton.jit
def segment_sums_kernel(
    k_ptr,  # [B * H, N, D] keys, without gaps
    v_ptr,  # [B * H, N, D] values, without gaps
    s_ptr,  # [B * H, segments, D + 1, D] float32: from the second on, the sum of phi(k)^T v over the segment before, and below it that of phi(k)
    N,  # number of tokens
    SEGMENT,  # tokens in a segment: a multiple of CHUNK
    D: tl.constexpr,  # numbers in a query, key or value: 64 or 128
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    STAGES: tl.constexpr,  # chunks on their way at a time
):
    """Program (i, segment, head) owns value columns i * BLOCK_V onwards; there are segments - 1 along the second axis."""
    start_v = tl.program_id(0) * BLOCK_V
    segment = tl.program_id(1)
    head = tl.program_id(2).to(tl.int64)
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [CHUNK, BLOCK_V])
    s = tl.zeros([BLOCK_V, D], tl.float32)
    z = tl.zeros([D], tl.float32)
    for start in tl.range(segment * SEGMENT, (segment + 1) * SEGMENT, CHUNK, num_stages=STAGES):
        # [CHUNK, D], [CHUNK, BLOCK_V]
        k = phi(k_desc.load([start, 0]))
        v = v_desc.load([start, start_v])
        # [BLOCK_V, D] += [BLOCK_V, CHUNK] @ [CHUNK, D]
        s = tl.dot(tl.trans(v), k.to(v.dtype), s)
        z += tl.sum(k, axis=0)
    at = head * (tl.num_programs(1) + 1) + segment + 1  # where it is summed up for the next segment
    offs_d = tl.arange(0, D)
    offs_v = start_v + tl.arange(0, BLOCK_V)
    s_ptr += at * (D + 1) * D
    tl.store(s_ptr + offs_d[None, :] * D + offs_v[:, None], s)
    # [D]: the same for all columns of the values, so only the first program stores it
    if start_v == 0:
        tl.store(s_ptr + D * D + offs_d, z)


@triton.jit
def prefix_kernel(
    x_ptr,  # [B * H, SEGMENTS, SIZE] float32: in place, from the sum of the segment before to the sum of all before; the first one is not read
    SIZE,  # numbers in a segment's sums: a multiple of BLOCK
    SEGMENTS: tl.constexpr,  # a power of two
    BLOCK: tl.constexpr,  # numbers that one program owns
):
    """Program (i, head) owns numbers i * BLOCK onwards of every segment's sums."""
    segments = tl.arange(0, SEGMENTS)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x_ptrs = x_ptr + (tl.program_id(1).to(tl.int64) * SEGMENTS + segments[:, None]) * SIZE + offs[None, :]
    # [SEGMENTS, BLOCK]
    x = tl.load(x_ptrs, mask=segments[:, None] > 0, other=0.0)
    tl.store(x_ptrs, tl.cumsum(x, axis=0))


@triton.jit
def pass_kernel(
    q_ptr,  # [B * H, N, D] queries, without gaps
    k_ptr,  # [B * H, N, D] keys
    v_ptr,  # [B * H, N, D] values
    o_ptr,  # [B * H, N, D] output
    s_ptr,  # [B * H, segments, D + 1, D] float32: the state that each segment starts from, and the sum of the features before it
    N,  # number of tokens
    SEGMENT,  # tokens in a segment: a multiple of CHUNK
    FROM_STATE: tl.constexpr,  # there is more than one segment
    TRANSPOSED: tl.constexpr,  # the state is kept as [BLOCK_V, D], else as [D, BLOCK_V]
    D: tl.constexpr,  # numbers in a query, key or value: 64 or 128
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    STAGES: tl.constexpr,  # chunks on their way at a time
):
    """Program (i, segment, head) owns value columns i * BLOCK_V onwards of a segment. eps = 1e-6."""
    start_v = tl.program_id(0) * BLOCK_V
    segment = tl.program_id(1)
    head = tl.program_id(2).to(tl.int64)
    q_desc = tl.make_tensor_descriptor(q_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [CHUNK, BLOCK_V])
    o_desc = tl.make_tensor_descriptor(o_ptr + head * N * D, [N, D], [D, 1], [CHUNK, BLOCK_V])
    offs_c = tl.arange(0, CHUNK)
    offs_d = tl.arange(0, D)
    offs_v = start_v + tl.arange(0, BLOCK_V)
    seen = offs_c[:, None] >= offs_c[None, :]
    COPIES: tl.constexpr = 64  # of z; with fewer, products beside that of the state have given wrong results
    if TRANSPOSED:
        s = tl.zeros([BLOCK_V, D], tl.float32)
        z = tl.zeros([COPIES, D], tl.float32)
        ones = tl.full([COPIES, CHUNK], 1.0, o_ptr.dtype.element_ty)
    else:
        s = tl.zeros([D, BLOCK_V], tl.float32)
        z = tl.zeros([D, COPIES], tl.float32)
        ones = tl.full([CHUNK, COPIES], 1.0, o_ptr.dtype.element_ty)
    if FROM_STATE:
        s_row = s_ptr + (head * tl.num_programs(1) + segment) * (D + 1) * D
        before = tl.load(s_row + D * D + offs_d)
        if TRANSPOSED:
            s = tl.load(s_row + offs_d[None, :] * D + offs_v[:, None])
            z += before[None, :]
        else:
            s = tl.load(s_row + offs_d[:, None] * D + offs_v[None, :])
            z += before[:, None]
    # tokens past N come after all others: no query before N sees them, and what they give is not stored
    end = tl.minimum((segment + 1) * SEGMENT, N)
    for start in tl.range(segment * SEGMENT, end, CHUNK, num_stages=STAGES):
        # [CHUNK, D], [CHUNK, D], [CHUNK, BLOCK_V]
        q = phi(q_desc.load([start, 0])).to(q_desc.dtype)
        k = phi(k_desc.load([start, 0])).to(k_desc.dtype)
        v = v_desc.load([start, start_v])
        # [CHUNK, CHUNK] = [CHUNK, D] @ [D, CHUNK]
        a = tl.where(seen, tl.dot(q, tl.trans(k)), 0.0)
        # the chunks before: [CHUNK, BLOCK_V] = [CHUNK, D] @ [D, BLOCK_V], and as many equal columns of the normaliser
        if TRANSPOSED:
            num = tl.dot(q, tl.trans(s.to(v.dtype)))
            den = tl.dot(q, tl.trans(z.to(v.dtype)))
        else:
            num = tl.dot(q, s.to(v.dtype))
            den = tl.dot(q, z.to(v.dtype))
        # [CHUNK]
        scale = 1.0 / (tl.max(den, axis=1) + tl.sum(a, axis=1) + 1e-6)
        # this chunk: [CHUNK, BLOCK_V] += [CHUNK, CHUNK] @ [CHUNK, BLOCK_V]
        o = tl.dot(a.to(v.dtype), v, num) * scale[:, None]
        o_desc.store([start, start_v], o.to(v.dtype))
        # the state after this chunk
        if TRANSPOSED:
            s = tl.dot(tl.trans(v), k, s)
            z = tl.dot(ones, k, z)
        else:
            s = tl.dot(tl.trans(k), v, s)
            z = tl.dot(tl.trans(k), ones, z)


@dataclass(frozen=True)
class Config:
    """How the last kernel is launched; the sums before it take chunks of 64, 4 warps and 64 columns a program."""

    chunk: int
    block_v: int
    warps: int
    stages: int
    transposed: bool


CONFIGS: dict[int, tuple[Config, ...]] = {
    64: (Config(128, 64, 8, 3, True), Config(64, 64, 4, 3, True)),
    128: (Config(128, 128, 8, 2, False), Config(64, 64, 4, 2, True)),
}
"""By D, the fastest on an H200 first (docs/speed.md): for many heads, and for few, in segments. Each is right for any N."""


def choose(heads: int, n: int, d: int) -> tuple[Config, int]:
    """The configuration, and the number of segments: a power of two that gives every multiprocessor its program."""
    many = heads * (d // 64) >= 96
    config = CONFIGS[d][0 if many or d == 128 else 1]
    segments = 1 if many else triton.next_power_of_2(triton.cdiv(192, heads * (d // 64)))
    return config, min(segments, triton.next_power_of_2(triton.cdiv(n, 512)))


def linear_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    config: Config | None = None,
    segments: int | None = None,
) -> torch.Tensor:
    """Output [B, H, N, D] of q, k, v [B, H, N, D]: bf16, D 64 or 128, without gaps. Raises ValueError for other tensors."""
    check((torch.bfloat16,), q=q)  # a state in fp16 would overflow
    b, h, n, d = check_heads(q=q, k=k, v=v)
    best, count = choose(b * h, n, d)
    c, count = config or best, segments or count
    size = triton.cdiv(triton.cdiv(n, count), 128) * 128
    o = torch.empty_like(v)
    s = torch.empty(b * h, count, d + 1, d, dtype=torch.float32, device=q.device) if count > 1 else None
    allow_descriptors()
    if s is not None:
        grid = (d // 64, count - 1, b * h)
        segment_sums_kernel[grid](k, v, s, n, size, D=d, CHUNK=64, BLOCK_V=64, STAGES=3, num_warps=4, num_stages=3)
        prefix_kernel[((d + 1) * d // 64, b * h)](s, (d + 1) * d, SEGMENTS=count, BLOCK=64, num_warps=4)
    pass_kernel[(d // c.block_v, count, b * h)](
        q,
        k,
        v,
        o,
        s,
        n,
        size,
        FROM_STATE=count > 1,
        TRANSPOSED=c.transposed,
        D=d,
        CHUNK=c.chunk,
        BLOCK_V=c.block_v,
        STAGES=c.stages,
        num_warps=c.warps,
        num_stages=c.stages,
    )
    return o
