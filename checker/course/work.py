"""The work in a puzzle's case, and libraries that do the same work: what `bench` compares a kernel with.

Work is counted in floating-point operations of matrix products, 2·m·k·n for [m, k] by [k, n], for visible pairs only. Products that
a kernel repeats are counted once. A puzzle without products is bound by its bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from checker.course.attention_heads import key_lengths
from checker.course.attention_values import scale_of
from checker.puzzle import Case, Tensors

Call = Callable[[], object]


@dataclass(frozen=True)
class Peer:
    """A library that does the same work. `takes` says for which cases; `prepare` binds the call to tensors on a GPU."""

    name: str
    takes: Callable[[Case], bool]
    prepare: Callable[[Case, Tensors], Call]


@dataclass(frozen=True)
class Work:
    """`products` gives the floating-point operations of a case's matrix products."""

    products: Callable[[Case], int] = lambda case: 0
    peers: tuple[Peer, ...] = field(default=())


def seen_pairs(case: Case, n_kv: int) -> int:
    """Visible pairs of a query and one of `n_kv` keys in one head: all, or those under a causal mask with the ends aligned."""
    n_q = case.sizes["N_Q"]
    if not case.flags.get("IS_CAUSAL"):
        return n_q * n_kv
    first = max(0, n_q - n_kv)  # the first query that sees a key; the last query sees all keys
    return (first + n_kv - n_q + 1 + n_kv) * (n_q - first) // 2


def _attention(products: int) -> Callable[[Case], int]:
    """The operations of so many products of [N_Q, D] by [D, N_KV], or of that size, for each query head; padded keys have none."""

    def operations(case: Case) -> int:
        lengths = key_lengths(case).tolist() if "B" in case.sizes else [case.sizes["N_KV"]]
        pairs = sum(seen_pairs(case, length) for length in lengths)
        return products * 2 * case.sizes.get("H_Q", 1) * pairs * case.sizes["D"]

    return operations


def _torch_takes(case: Case) -> bool:
    """False for padded keys, and for a causal mask that is not square: torch aligns a causal mask at its start."""
    square = case.sizes["N_Q"] == case.sizes["N_KV"]
    return not case.flags.get("RAGGED") and (square or not case.flags.get("IS_CAUSAL"))


def _by_torch(case: Case, tensors: Tensors) -> Call:
    q, k, v = (tensors[name] for name in ("q_ptr", "k_ptr", "v_ptr"))
    if q.dim() == 2:
        q, k, v = (x[None, None] for x in (q, k, v))
    grouped = q.shape[1] != k.shape[1]
    if grouped and q.dtype == torch.float32:
        # no fused kernel of torch shares heads of float32; expanding them is not timed
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
        grouped = False
    causal, scale = bool(case.flags.get("IS_CAUSAL")), scale_of(case)
    return lambda: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped
    )


def _by_cudnn(case: Case, tensors: Tensors) -> Call:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    attention = _by_torch(case, tensors)

    def call() -> object:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return attention()

    return call


_SOFTMAX = Work(
    peers=(Peer("torch.softmax", lambda case: True, lambda case, t: lambda: torch.softmax(t["x_ptr"], dim=-1)),)
)
_FORWARD = Work(
    _attention(2),
    (
        Peer("torch", _torch_takes, _by_torch),
        Peer("cuDNN", lambda case: case.dtype != "float32" and _torch_takes(case), _by_cudnn),
    ),
)

WORK: dict[str, Work] = {
    **dict.fromkeys(("row_softmax", "chunked_softmax", "online_softmax", "tiled_softmax"), _SOFTMAX),
    **dict.fromkeys(
        ("flash_attention", "flash_attention_v1", "flash_attention_heads", "flash_attention_fast"), _FORWARD
    ),
    "attention_dkdv": Work(_attention(4)),
    "attention_dq": Work(_attention(3)),
}
"""By puzzle. A puzzle that is not listed has no products and no peers."""
