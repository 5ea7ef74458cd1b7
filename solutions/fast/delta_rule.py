"""The gated delta rule, and linear attention with decays, as fast as plain Triton gets: one walk over the chunks for both.

What each step buys, in microseconds on one H200 (b8 h16 n4096 D128, where a copy of the same bytes as q, k, v and o takes 136;
docs/speed.md has the report of a full run, beside flash-linear-attention):

one kernel      for the matrix, its inverse, U and W: neither matrix reaches memory, and all chunks run at once. 285, of which
                the inverse takes 70. With at most 128 registers a thread four programs share a multiprocessor, and 140 bytes spill: 270.
TF32            between the blocks of the inverse: 285, in three products each 506, in float32 3356. The output's error is the same,
                because bf16 decides it: 2 % of the norm where keys are nearly equal, else 0.3 %. Inside the blocks, rows in float32.
outputs         in the walk: no chunk's state reaches memory.
transposed      the state as [D, D], outputs plain: 405; the state transposed: 352; everything transposed: 266. Values pass from one
                product into the next in registers, and few numbers spill.
columns         the delta rule wants all 128 columns and 8 warps: with 64, shared memory holds one program, 357. Linear attention with
                decays loads less, and two programs with 64 columns share a multiprocessor: 205, as with 128 columns and three stages.
stages          D = 64 leaves room for three: 118 for the delta rule's walk and 107 with decays; two take 148 and 140.
short chunks    of 32 tokens: the walk takes 248 but the kernel before it 299 at best.

The walk owns whole heads, so few heads leave multiprocessors idle; `linear_attention` has segments for that.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from solutions.fast.launching import allow_descriptors, check, check_heads, check_statistics


@triton.jit
def log_decays(
    g_ptr,  # [N] the logarithms of one head's decays
    offs_n,  # [CHUNK] tokens
    N,  # number of tokens
):
    """[CHUNK] their running sums in base two. Past the end nothing decays; exp(-100) is nothing in float32, and sums stay finite."""
    g = tl.load(g_ptr + offs_n, mask=offs_n < N, other=0.0)
    return tl.cumsum(tl.maximum(g, -100.0) * 1.4426950408889634, axis=0)


@triton.jit
def triangular_inverse(
    a,  # [CHUNK, CHUNK] float32, 0 on the diagonal and above it
    CHUNK: tl.constexpr,  # 64
):
    """[CHUNK, CHUNK] (I - A)^-1: by substitution in the blocks of 16 on the diagonal, all at once, and by products between blocks."""
    BLOCKS: tl.constexpr = CHUNK // 16
    blocks = tl.arange(0, BLOCKS)
    offs_b = tl.arange(0, 16)
    offs_c = tl.arange(0, CHUNK)
    row = offs_b[None, :, None]
    column = offs_b[None, None, :]
    diagonal = blocks[:, None, None, None] == blocks[None, None, :, None]
    # [BLOCKS, 16, 16]
    inside = tl.sum(tl.where(diagonal, tl.reshape(a, [BLOCKS, 16, BLOCKS, 16]), 0.0), axis=2)
    t = tl.where(row == column, 1.0, 0.0) + tl.zeros([BLOCKS, 16, 16], tl.float32)
    for i in tl.static_range(15):
        # [BLOCKS, 16], [BLOCKS, 16]: row i of T is finished, and the rows below take their share of it
        share = tl.sum(tl.where(column == i, inside, 0.0), axis=2)
        done = tl.sum(tl.where(row == i, t, 0.0), axis=1)
        t += share[:, :, None] * done[:, None, :]
    t = tl.reshape(tl.where(diagonal, t[:, :, None, :], 0.0), [CHUNK, CHUNK])
    # pairs of blocks of 16, then of 32: what lies below the diagonal between two inverses is their product with A between them
    for level in tl.static_range(2):
        size = 16 * 2**level
        apart = offs_c[:, None] // size != offs_c[None, :] // size
        pair = offs_c[:, None] // (2 * size) == offs_c[None, :] // (2 * size)
        between = tl.where(apart & pair, a, 0.0)
        t = tl.dot(t, tl.dot(between, t, input_precision="tf32"), t, input_precision="tf32")
    return t


@triton.jit
def values_kernel(
    k_ptr,  # [B * H, N, D] keys, without gaps
    v_ptr,  # [B * H, N, D] values
    g_ptr,  # [B * H, N] float32: the logarithm of each token's decay, 0 or less
    beta_ptr,  # [B * H, N] float32: which share of the difference is written
    u_ptr,  # [B * H, N, D]: T (beta V) of each chunk
    w_ptr,  # [B * H, N, D]: T (beta exp(b) K)
    N,  # number of tokens
    D: tl.constexpr,  # numbers in a key or value: 64 or 128
    CHUNK: tl.constexpr,  # tokens in a chunk: 64
):
    """Program (c, head) owns chunk c: its matrix, the inverse, and what its tokens would write. Neither matrix leaves the chip."""
    start = tl.program_id(0) * CHUNK
    head = tl.program_id(1).to(tl.int64)
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    u_desc = tl.make_tensor_descriptor(u_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    w_desc = tl.make_tensor_descriptor(w_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    offs_c = tl.arange(0, CHUNK)
    offs_n = start + offs_c
    # [CHUNK, D], [CHUNK, D]
    k = k_desc.load([start, 0])
    v = v_desc.load([start, 0])
    # [CHUNK], [CHUNK]
    b = log_decays(g_ptr + head * N, offs_n, N)
    beta = tl.load(beta_ptr + head * N + offs_n, mask=offs_n < N, other=0.0)
    # mask before the exponential: above the diagonal it may overflow
    gap = tl.where(offs_c[:, None] > offs_c[None, :], b[:, None] - b[None, :], float("-inf"))
    # [CHUNK, CHUNK]: beta and the decays scale columns of T, so that k and v go from memory straight into products
    t = triangular_inverse(-beta[:, None] * tl.exp2(gap) * tl.dot(k, tl.trans(k)), CHUNK) * beta[None, :]
    # [CHUNK, D] = [CHUNK, CHUNK] @ [CHUNK, D], twice
    u_desc.store([start, 0], tl.dot(t.to(v.dtype), v).to(v.dtype))
    w_desc.store([start, 0], tl.dot((t * tl.exp2(b)[None, :]).to(k.dtype), k).to(k.dtype))


@triton.jit
def walk_kernel(
    q_ptr,  # [B * H, N, D] queries, without gaps
    k_ptr,  # [B * H, N, D] keys
    v_ptr,  # [B * H, N, D] values; for the delta rule U, what each token would write into an empty state
    w_ptr,  # [B * H, N, D] for the delta rule: what each token takes back, by feature of the state
    g_ptr,  # [B * H, N] float32: the logarithm of each token's decay, 0 or less
    o_ptr,  # [B * H, N, D] output
    s0_ptr,  # [B * H, D, D] float32: the state that earlier tokens left behind
    s_ptr,  # [B * H, D, D] float32: the state after the last token
    N,  # number of tokens
    CORRECTS: tl.constexpr,  # this is the delta rule
    FROM_STATE: tl.constexpr,  # earlier tokens left a state behind
    D: tl.constexpr,  # numbers in a query, key or value: 64 or 128
    CHUNK: tl.constexpr,  # tokens in a chunk
    BLOCK_V: tl.constexpr,  # columns of the values that one program owns
    STAGES: tl.constexpr,  # chunks on their way at a time
):
    """Program (i, head) owns value columns i * BLOCK_V onwards."""
    start_v = tl.program_id(0) * BLOCK_V
    head = tl.program_id(1).to(tl.int64)
    q_desc = tl.make_tensor_descriptor(q_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    k_desc = tl.make_tensor_descriptor(k_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    v_desc = tl.make_tensor_descriptor(v_ptr + head * N * D, [N, D], [D, 1], [CHUNK, BLOCK_V])
    o_desc = tl.make_tensor_descriptor(o_ptr + head * N * D, [N, D], [D, 1], [CHUNK, BLOCK_V])
    if CORRECTS:
        w_desc = tl.make_tensor_descriptor(w_ptr + head * N * D, [N, D], [D, 1], [CHUNK, D])
    offs_c = tl.arange(0, CHUNK)
    offs_v = start_v + tl.arange(0, BLOCK_V)
    offs_s = (head * D + tl.arange(0, D)[None, :]) * D + offs_v[:, None]
    # all tiles are transposed: a tile of values, and the state, go from one product into the next in registers
    # [BLOCK_V, D]
    s = tl.zeros([BLOCK_V, D], tl.float32)
    if FROM_STATE:
        s = tl.load(s0_ptr + offs_s)
    for start in tl.range(0, N, CHUNK, num_stages=STAGES):
        # [CHUNK], and its last number
        b = log_decays(g_ptr + head * N, start + offs_c, N)
        b_end = tl.min(b, axis=0)
        # [CHUNK, D], [CHUNK, D], [BLOCK_V, CHUNK]
        q = q_desc.load([start, 0])
        k = k_desc.load([start, 0])
        v = tl.trans(v_desc.load([start, start_v])).to(tl.float32)
        old = s.to(q.dtype)
        if CORRECTS:
            # [BLOCK_V, CHUNK] = [BLOCK_V, D] @ [D, CHUNK]
            v -= tl.dot(old, tl.trans(w_desc.load([start, 0])))
        gap = tl.where(offs_c[:, None] <= offs_c[None, :], b[None, :] - b[:, None], float("-inf"))
        # [keys, queries] = [CHUNK, D] @ [D, CHUNK]
        a = tl.dot(k, tl.trans(q)) * tl.exp2(gap)
        # the chunks before, [BLOCK_V, CHUNK] = [BLOCK_V, D] @ [D, CHUNK], and this one, += [BLOCK_V, CHUNK] @ [CHUNK, CHUNK]
        o = tl.dot(old, tl.trans(q)) * tl.exp2(b)[None, :]
        o = tl.dot(v.to(q.dtype), a.to(q.dtype), o)
        o_desc.store([start, start_v], tl.trans(o.to(q.dtype)))
        # the state after this chunk: decayed + [BLOCK_V, CHUNK] @ [CHUNK, D]
        s = tl.dot((v * tl.exp2(b_end - b)[None, :]).to(q.dtype), k, s * tl.exp2(b_end))
    tl.store(s_ptr + offs_s, s)


@dataclass(frozen=True)
class Config:
    """How the walk is launched."""

    block_v: int
    warps: int
    stages: int
    chunk: int = 64


CONFIGS: dict[tuple[bool, int], tuple[Config, ...]] = {
    (True, 64): (Config(64, 4, 3),),
    (True, 128): (Config(128, 8, 2),),
    (False, 64): (Config(64, 4, 3),),
    (False, 128): (Config(64, 4, 2),),
}
"""By whether it is the delta rule, and D: the fastest on an H200 first. Each is right for any N."""


def walk(
    tensors: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    w: torch.Tensor | None,
    g: torch.Tensor,
    s0: torch.Tensor | None,
    config: Config | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, H, N, D] and the state after the last token, of q, k and v (or U), and W for the delta rule."""
    q, k, v = tensors
    b, h, n, d = q.shape
    c = config or CONFIGS[w is not None, d][0]
    o, s = torch.empty_like(v), torch.empty(b, h, d, d, dtype=torch.float32, device=q.device)
    walk_kernel[(d // c.block_v, b * h)](
        q,
        k,
        v,
        w,
        g,
        o,
        s0,
        s,
        n,
        CORRECTS=w is not None,
        FROM_STATE=s0 is not None,
        D=d,
        CHUNK=c.chunk,
        BLOCK_V=c.block_v,
        STAGES=c.stages,
        num_warps=c.warps,
        num_stages=c.stages,
    )
    return o, s


def check_all(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, s0: torch.Tensor | None, **numbers: torch.Tensor
) -> None:
    """Raises ValueError unless q, k and v, a number for each token, and the state, if there is one, are what `delta_rule` takes."""
    check((torch.bfloat16,), q=q)  # a state in fp16 would overflow
    b, h, n, d = check_heads(q=q, k=k, v=v)
    check_statistics(b, h, n, **numbers)
    if s0 is not None:
        check((torch.float32,), s0=s0)
        if s0.shape != (b, h, d, d):
            raise ValueError(f"s0 has to be {[b, h, d, d]}, not {[*s0.shape]}")
    allow_descriptors()


def delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    s0: torch.Tensor | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output [B, H, N, D] and final state [B, H, D, D] (float32) of the gated delta rule.

    q, k and v are [B, H, N, D]: bf16, D 64 or 128; g (logarithms of the decays, 0 or less) and beta (0 to 2, for keys of norm 1)
    [B, H, N], and s0 [B, H, D, D], zeros if left out: float32. All without gaps. Raises ValueError for other tensors.
    """
    check_all(q, k, v, s0, g=g, beta=beta)
    b, h, n, d = q.shape
    u, w = torch.empty_like(v), torch.empty_like(k)
    values_kernel[(triton.cdiv(n, 64), b * h)](k, v, g, beta, u, w, n, D=d, CHUNK=64, num_warps=4)
    return walk((q, k, u), w, g, s0, config)


def decay_linear_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    s0: torch.Tensor | None = None,
    config: Config | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and final state of linear attention with decays: retention, lightning attention, Mamba-2. As in `delta_rule`, without beta."""
    check_all(q, k, v, s0, g=g)
    return walk((q, k, v), None, g, s0, config)
