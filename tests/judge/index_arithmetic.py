"""Kernels that do index arithmetic in many ways: each is a solution with some of its text exchanged.

The wrong ones are right in every launch that fits in memory. In a huge launch a number on its way to an address or a mask leaves its type.
"""

from __future__ import annotations

from tests.judge.helpers import changed, solution

Exchange = tuple[str, str]

_ROW = "row = tl.program_id(0).to(tl.int64)"
_X_ROW = "x_ptr + row * stride_xm + offs_n"
_PID = "offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)"
_ROWS = "x_ptr + offs_m.to(tl.int64)[:, None] * stride_xm"
_CHUNK = """    for start_n in range(0, N, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        # [BLOCK_N]
        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
"""
_KEYS = "k = tl.load(k_ptr + cols[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)"
_NEXT = "        m_i = m_new\n    # [BLOCK_M, D]"
_Q = "q = tl.load(q_ptr + offs_m[:, None] * stride_qm + offs_d[None, :], mask=mask_m[:, None], other=0.0)"
_LOOP = "    for start_n in range(0, N_KV, BLOCK_N):\n        cols = start_n + offs_n\n"
_ONE_TILE = """    pid = tl.program_id(0).to(tl.int64)
    offs_n = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs_n < N
    # [BLOCK_N]
    x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
    # [BLOCK_N]
    y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
    tl.store(z_ptr + offs_n, x + y, mask=mask)
"""
_STATE = "row = (group * N_CHUNKS + chunk) * SIZE + offs"
_LSE = "lse_ptr + (batch * H_Q + head) * N_Q + offs_m"


def _passes(loop: str) -> Exchange:
    """The first pass of chunked_softmax, written otherwise; `loop` gives `offs_n`."""
    body = """        x = tl.load(x_row + offs_n, mask=offs_n < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
"""
    return _CHUNK, loop.replace("        BODY\n", body)


def _every_tile(bounds: str) -> Exchange:
    """vector_add, in a loop over every tile that a program may own, as in a launch with fewer programs than tiles."""
    body = """        offs_n = start_n + tl.arange(0, BLOCK_N)
        mask = offs_n < N
        x = tl.load(x_ptr + offs_n, mask=mask, other=0.0)
        y = tl.load(y_ptr + offs_n, mask=mask, other=0.0)
        tl.store(z_ptr + offs_n, x + y, mask=mask)
"""
    return _ONE_TILE, f"    pid = tl.program_id(0)\n    for start_n in range({bounds}):\n{body}"


WRONG: dict[str, tuple[str, tuple[Exchange, ...]]] = {
    "row in 32 bits": ("row_softmax", ((_ROW, "row = tl.program_id(0)"),)),
    "row in 16 bits": ("row_softmax", ((_ROW, "row = tl.program_id(0).to(tl.int16).to(tl.int64)"),)),
    "row in 16 bits without sign": ("softmax_backward", ((_ROW, "row = tl.program_id(0).to(tl.uint16).to(tl.int64)"),)),
    "row in float32": ("row_softmax", ((_ROW, "row = tl.program_id(0).to(tl.float32).to(tl.int64)"),)),
    "widened too late": ("row_softmax", ((_X_ROW, "x_ptr + (tl.program_id(0) * stride_xm).to(tl.int64) + offs_n"),)),
    "narrowed at the end": ("row_softmax", ((_X_ROW, "x_ptr + (row * stride_xm).to(tl.int32) + offs_n"),)),
    "without sign": (
        "row_softmax",
        ((_X_ROW, "x_ptr + (row.to(tl.uint32) * stride_xm.to(tl.uint32)).to(tl.int64) + offs_n"),),
    ),
    "only the output in 32 bits": (
        "chunked_softmax",
        (("y_ptr + row * stride_ym", "y_ptr + row.to(tl.int32) * stride_ym"),),
    ),
    "columns in 16 bits": (
        "chunked_softmax",
        (
            _passes(
                "    for start_n in range(0, N, BLOCK_N):\n"
                "        offs_n = (start_n + tl.arange(0, BLOCK_N)).to(tl.int16)\n        BODY\n"
            ),
        ),
    ),
    "columns counted in 16 bits": (
        "chunked_softmax",
        (
            _passes(
                "    offs_n = tl.arange(0, BLOCK_N).to(tl.int16)\n"
                "    for _ in range(tl.cdiv(N, BLOCK_N)):\n        BODY\n        offs_n += BLOCK_N\n"
            ),
        ),
    ),
    "a counter in float32": (
        "chunked_softmax",
        (
            _passes(
                "    for i in range(tl.cdiv(N, BLOCK_N)):\n"
                "        offs_n = (i.to(tl.float32) * BLOCK_N).to(tl.int32) + 1 - 1 + tl.arange(0, BLOCK_N)\n"
                "        offs_n = (offs_n.to(tl.float32) + 0.5).to(tl.int32)\n        BODY\n"
            ),
        ),
    ),
    "rows widened after the product": (
        "tiled_softmax",
        ((_ROWS, "x_ptr + (offs_m[:, None] * stride_xm).to(tl.int64)"),),
    ),
    "the tile's first row in 32 bits": (
        "tiled_softmax",
        ((_ROWS, "x_ptr + pid * BLOCK_M * stride_xm + tl.arange(0, BLOCK_M)[:, None] * stride_xm"),),
    ),
    "a mask in float32": (
        "tiled_softmax",
        (
            (
                'mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)\n        # [BLOCK_M, BLOCK_N]\n        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)\n        m_new',
                "mask = (offs_m.to(tl.float32)[:, None] < M.to(tl.float32)) & (offs_n[None, :] < N)\n"
                '        x = tl.load(x_rows + offs_n[None, :], mask=mask, other=float("-inf")).to(tl.float32)\n        m_new',
            ),
        ),
    ),
    "an offset that grows in 32 bits": (
        "flash_attention",
        (
            (_LOOP, "    kn = tl.arange(0, BLOCK_N)[:, None] * stride_kn\n" + _LOOP),
            (_KEYS, "k = tl.load(k_ptr + kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)"),
            (_NEXT, "        m_i = m_new\n        kn += BLOCK_N * stride_kn\n    # [BLOCK_M, D]"),
        ),
    ),
    "an offset that grows in a while loop": (
        "flash_attention",
        (
            (_LOOP, "    start_n = 0\n    kn = 0\n    while start_n < N_KV:\n        cols = start_n + offs_n\n"),
            (
                _KEYS,
                "k = tl.load(k_ptr + kn + tl.arange(0, BLOCK_N)[:, None] * stride_kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)",
            ),
            (
                _NEXT,
                "        m_i = m_new\n        start_n += BLOCK_N\n        kn += BLOCK_N * stride_kn\n    # [BLOCK_M, D]",
            ),
        ),
    ),
    "keys in 32 bits": ("flash_attention", (("cols = start_n + offs_n", "cols = start_n + tl.arange(0, BLOCK_N)"),)),
    "statistics in 32 bits": ("flash_attention_heads", ((_LSE, "lse_ptr + tl.program_id(1) * N_Q + offs_m"),)),
    "a state's number in 32 bits": (
        "linear_state_prefix",
        ((_STATE, "row = group * N_CHUNKS * SIZE + chunk * SIZE + offs"),),
    ),
    "the step past a loop's end": (
        "vector_add",
        (_every_tile("pid * BLOCK_N, N, tl.num_programs(0) * BLOCK_N"),),
    ),
    "an element's number in float32": (
        "vector_add",
        ((_PID, f"{_PID}\n    offs_n = offs_n.to(tl.float32).to(tl.int32)"),),
    ),
    "a program's number in 16 bits": (
        "vector_add",
        (("pid = tl.program_id(0)", "pid = tl.program_id(0).to(tl.int16).to(tl.int32)"),),
    ),
    "the base of a descriptor in 32 bits": (
        "flash_attention_fast",
        (("head * stride_qh", "(tl.program_id(1) % H_Q) * stride_qh"),),
    ),
}

RIGHT: dict[str, tuple[str, tuple[Exchange, ...]]] = {
    "the stride widened": ("row_softmax", ((_X_ROW, "x_ptr + tl.program_id(0) * stride_xm.to(tl.int64) + offs_n"),)),
    "64 bits without sign": ("row_softmax", ((_ROW, "row = tl.program_id(0).to(tl.uint64)"),)),
    "a pointer that moves": (
        "chunked_softmax",
        (
            _passes(
                "    ptrs, offs_n = x_row + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_N)\n"
                "    for _ in range(tl.cdiv(N, BLOCK_N)):\n"
                '        x = tl.load(ptrs, mask=offs_n < N, other=float("-inf")).to(tl.float32)\n'
                "        m_i = tl.maximum(m_i, tl.max(x, axis=0))\n"
                "        ptrs += BLOCK_N\n        offs_n += BLOCK_N\n"
            ),
        ),
    ),
    "a while loop": (
        "chunked_softmax",
        (
            _passes(
                "    start = 0\n    while start < N:\n        offs_n = start + tl.arange(0, BLOCK_N)\n        BODY\n        start += BLOCK_N\n"
            ),
        ),
    ),
    "chunks by number": (
        "chunked_softmax",
        (
            _passes(
                "    for i in range(tl.cdiv(N, BLOCK_N)):\n        offs_n = i * BLOCK_N + tl.arange(0, BLOCK_N)\n        BODY\n"
            ),
        ),
    ),
    "from the last chunk on": (
        "chunked_softmax",
        (
            _passes(
                "    for i in range(tl.cdiv(N, BLOCK_N)):\n"
                "        offs_n = (tl.cdiv(N, BLOCK_N) - 1 - i) * BLOCK_N + tl.arange(0, BLOCK_N)\n        BODY\n"
            ),
        ),
    ),
    "a loop in 64 bits": (
        "chunked_softmax",
        (
            _passes(
                "    for start in range(0, N.to(tl.int64), BLOCK_N):\n        offs_n = start + tl.arange(0, BLOCK_N)\n        BODY\n"
            ),
        ),
    ),
    "clamped lanes": (
        "chunked_softmax",
        (
            _passes(
                "    for start_n in range(0, N, BLOCK_N):\n        offs_n = start_n + tl.arange(0, BLOCK_N)\n"
                '        x = tl.load(x_row + tl.minimum(offs_n, N - 1), mask=offs_n < N, other=float("-inf")).to(tl.float32)\n'
                "        m_i = tl.maximum(m_i, tl.max(x, axis=0))\n"
            ),
        ),
    ),
    "lanes sent to the first element": (
        "chunked_softmax",
        (
            _passes(
                "    for start_n in range(0, N, BLOCK_N):\n        offs_n = start_n + tl.arange(0, BLOCK_N)\n"
                '        x = tl.load(x_row + tl.where(offs_n < N, offs_n, 0), mask=offs_n < N, other=float("-inf")).to(tl.float32)\n'
                "        m_i = tl.maximum(m_i, tl.max(x, axis=0))\n"
            ),
        ),
    ),
    "bits": (
        "chunked_softmax",
        (
            _passes(
                "    for start_n in range(0, N, BLOCK_N):\n"
                "        offs_n = ((start_n >> 2) << 2) | tl.arange(0, BLOCK_N)\n        BODY\n"
            ),
        ),
    ),
    "an offset that grows in 64 bits": (
        "flash_attention",
        (
            (_LOOP, "    kn = tl.arange(0, BLOCK_N).to(tl.int64)[:, None] * stride_kn\n" + _LOOP),
            (_KEYS, "k = tl.load(k_ptr + kn + offs_d[None, :], mask=mask_n[:, None], other=0.0)"),
            (_NEXT, "        m_i = m_new\n        kn += BLOCK_N * stride_kn\n    # [BLOCK_M, D]"),
        ),
    ),
    "block pointers": (
        "flash_attention",
        (
            (
                _Q,
                "q_block = tl.make_block_ptr(q_ptr, (N_Q, D), (stride_qm, 1), ((pid_m * BLOCK_M).to(tl.int32), 0), (BLOCK_M, D), (1, 0))\n"
                '    q = tl.load(q_block, boundary_check=(0,), padding_option="zero")\n'
                "    k_block = tl.make_block_ptr(k_ptr, (N_KV, D), (stride_kn, 1), (0, 0), (BLOCK_N, D), (1, 0))",
            ),
            (_KEYS, 'k = tl.load(k_block, boundary_check=(0,), padding_option="zero")'),
            (_NEXT, "        m_i = m_new\n        k_block = tl.advance(k_block, (BLOCK_N, 0))\n    # [BLOCK_M, D]"),
        ),
    ),
    "a sum that leaves 32 bits and comes back": (
        "flash_attention_heads",
        (
            (
                "cols[None, :] - offs_m[:, None] <= length - N_Q",
                "cols[None, :].to(tl.int32) <= offs_m[:, None].to(tl.int32) + N_KV - N_Q + (length - N_KV)",
            ),
        ),
    ),
    "one program's number for batch and head": (
        "flash_attention_heads",
        ((_LSE, "lse_ptr + tl.program_id(1).to(tl.int64) * N_Q + offs_m"),),
    ),
    "the step past a loop's end in 64 bits": (
        "vector_add",
        (_every_tile("pid.to(tl.int64) * BLOCK_N, N, tl.num_programs(0) * BLOCK_N"),),
    ),
    "hints": (
        "vector_add",
        (
            (
                _PID,
                "offs_n = tl.max_contiguous(tl.multiple_of(pid * BLOCK_N, BLOCK_N) + tl.arange(0, BLOCK_N), BLOCK_N)",
            ),
        ),
    ),
    "a narrow number that stays small": (
        "causal_linear_attention_chunked",
        (("offs_c[:, None] >= offs_c[None, :]", "offs_c.to(tl.int16)[:, None] >= offs_c.to(tl.int16)[None, :]"),),
    ),
    "the last tile by division": (
        "vector_add",
        ((_PID, "last = (N - 1) // BLOCK_N\n    offs_n = tl.minimum(pid, last) * BLOCK_N + tl.arange(0, BLOCK_N)"),),
    ),
}


def source(kernel: tuple[str, tuple[Exchange, ...]]):
    """The kernel as a learner would hand it in."""
    puzzle, exchanges = kernel
    text = solution(puzzle)
    for old, new in exchanges:
        text = changed(text, old, new)
    return text
