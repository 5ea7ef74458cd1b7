"""What the launchers of the fast kernels share: the tensors that they take, and memory for descriptors."""

from contextvars import ContextVar

import torch
import triton

HALVES = (torch.bfloat16, torch.float16)
_ALLOWED: ContextVar[bool] = ContextVar("_ALLOWED", default=False)


def check(dtypes: tuple[torch.dtype, ...], **tensors: torch.Tensor) -> None:
    """Raises ValueError unless all tensors have one of these types, the same one, are on one device and lie without gaps."""
    first = next(iter(tensors))
    of = tensors[first]
    for name, x in tensors.items():
        if x.dtype not in dtypes:
            known = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
            raise ValueError(f"{name} has to be {known}, not {str(x.dtype).removeprefix('torch.')}: convert it first")
        if (x.dtype, x.device) != (of.dtype, of.device):
            raise ValueError(
                f"{first} and {name} need one type and one device, and are {of.dtype} on {of.device} and {x.dtype} on {x.device}"
            )
        if not x.is_contiguous():
            raise ValueError(f"{name} has gaps between its rows or heads: pass {name}.contiguous()")


def check_heads(**tensors: torch.Tensor) -> tuple[int, int, int, int]:
    """B, H, N and D of tensors of one shape: bf16 or fp16, D 64 or 128, without gaps. Raises ValueError for others."""
    if len(shapes := {x.shape for x in tensors.values()}) > 1 or any(
        len(s) != 4 or s[3] not in (64, 128) for s in shapes
    ):
        told = ", ".join(f"{name} {[*x.shape]}" for name, x in tensors.items())
        raise ValueError(f"all have to have one shape [B, H, N, 64 or 128], not {told}")
    check(HALVES, **tensors)
    b, h, n, d = next(iter(tensors.values())).shape
    return b, h, n, d


def check_grouped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[int, int, int, int, int, int]:
    """B, H_Q, H_KV, N_Q, N_KV and D of q [B, H_Q, N_Q, D] and k, v [B, H_KV, N_KV, D], as `check_heads` takes them.

    Raises ValueError for others, and where H_Q is no multiple of H_KV.
    """
    if k.shape != v.shape or q.dim() != 4 or k.dim() != 4 or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]):
        raise ValueError(
            f"q has to be [B, H_Q, N_Q, D], k and v [B, H_KV, N_KV, D], not {[*q.shape]}, {[*k.shape]} and {[*v.shape]}"
        )
    (b, h_q, n_q, d), (h_kv, n_kv) = q.shape, k.shape[1:3]
    _check_sharing(h_q, h_kv, d)
    check(HALVES, q=q, k=k, v=v)
    return b, h_q, h_kv, n_q, n_kv, d


def _check_sharing(h_q: int, h_kv: int, d: int) -> None:
    if d not in (64, 128) or not h_kv or h_q % h_kv:
        raise ValueError(
            f"D has to be 64 or 128 and is {d}; {h_q} query heads have to share {h_kv} heads of keys evenly"
        )


def check_paged(
    q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, block_table: torch.Tensor, lengths: torch.Tensor
) -> None:
    """Raises ValueError unless q is [B, H_Q, D], the caches are [N_PAGES, H_KV, PAGE, D] and the others as `paged_decode` takes them."""
    if k_cache.shape != v_cache.shape or q.dim() != 3 or k_cache.dim() != 4 or q.shape[2] != k_cache.shape[3]:
        raise ValueError(
            "q has to be [B, H_Q, D], k_cache and v_cache [N_PAGES, H_KV, PAGE, D], not "
            f"{[*q.shape]}, {[*k_cache.shape]} and {[*v_cache.shape]}"
        )
    _check_sharing(q.shape[1], k_cache.shape[1], q.shape[2])
    row = (slice(1),) * 3  # strides between rows are free
    check(HALVES, q=q, k_cache=k_cache[row], v_cache=v_cache[row])
    check((torch.int32,), block_table=block_table, lengths=lengths)
    if block_table.dim() != 2 or lengths.shape != q.shape[:1] or block_table.shape[:1] != q.shape[:1]:
        raise ValueError(
            f"for {q.shape[0]} queries, block_table has to be [{q.shape[0]}, MAX_PAGES] and lengths [{q.shape[0]}], not "
            f"{[*block_table.shape]} and {[*lengths.shape]}"
        )
    if lengths.device != q.device:
        raise ValueError(f"block_table and lengths have to be on {q.device}, not {lengths.device}")


def check_statistics(b: int, h: int, n: int, **tensors: torch.Tensor) -> None:
    """Raises ValueError unless each is [b, h, n] float32 without gaps."""
    check((torch.float32,), **tensors)
    for name, x in tensors.items():
        if x.shape != (b, h, n):
            raise ValueError(f"{name} has to be {[b, h, n]}, not {[*x.shape]}")


def allow_descriptors() -> None:
    """Lets launches ask for the memory in which a kernel makes its descriptors. Each thread needs it, once: autograd has its own."""
    if not _ALLOWED.get():
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
        _ALLOWED.set(True)


def multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count
