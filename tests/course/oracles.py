"""What each puzzle computes, written a second time in float64 from PyTorch's own operations, apart from the course's references."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import elu, scaled_dot_product_attention

from checker.course.attention_values import scale_of
from checker.puzzle import Case, Tensors


def softmax(case: Case, x: Tensors) -> Tensors:
    weights = torch.exp(x["x"] - x["x"].amax(-1, keepdim=True))
    return {"y": weights / weights.sum(-1, keepdim=True)}


def merge_softmax_stats(case: Case, x: Tensors) -> Tensors:
    m = x["m_part"].amax(-1)
    l = torch.exp(torch.logsumexp(x["m_part"] - m[:, None] + x["l_part"].log(), -1))  # m first: it may be 3e38
    return {"m": m, "l": torch.where(m == -torch.inf, 0.0, l)}


def attention(case: Case, x: Tensors) -> Tensors:
    """Output, log-sum-exp, maximum and sum of q [..., N_Q, D]; queries that see no key get 0 and -inf."""
    q, k, v, seen = _expanded(case, x)
    o = scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=_scale(case))
    s = (q @ k.mT * _scale(case)).masked_fill(~seen, -torch.inf)
    m = s.amax(-1)
    l = torch.exp(s - m[..., None]).sum(-1)
    return {"o": torch.where(seen.any(-1)[..., None], o, 0.0), "lse": torch.logsumexp(s, -1), "m": m, "l": l}


def attention_window(case: Case, x: Tensors) -> Tensors:
    """One batch after another, with its keys alone and the sink as the first score; the window is a band of the matrix."""
    q, k, v, _ = _expanded(case, x)
    outputs, sums = [], []
    for batch, length in enumerate(x["key_lengths"].tolist()):
        last = length - q.shape[-2]
        band = torch.ones(q.shape[-2], length).tril(last).triu(last - case.sizes["WINDOW"] + 1)
        s = q[batch] @ k[batch, :, :length].mT * _scale(case) + band.log()
        scores = torch.cat([x["sinks"][:, None, None].expand(*s.shape[:-1], 1), s], -1)
        outputs.append(torch.softmax(scores, -1).nan_to_num(0.0)[..., 1:] @ v[batch, :, :length])
        sums.append(torch.logsumexp(scores, -1))
    return {"o": torch.stack(outputs), "lse": torch.stack(sums)}


def decode_attention_split(case: Case, x: Tensors) -> Tensors:
    """Each split of each batch alone, from a slice of its keys."""
    splits, group = case.sizes["SPLITS"], case.sizes["H_Q"] // case.sizes["H_KV"]
    b, h_q, d = x["q"].shape
    k, v = (x[name].repeat_interleave(group, dim=1) for name in "kv")
    o = torch.zeros(b, h_q, splits, d, dtype=torch.float64)
    lse = torch.full((b, h_q, splits), -torch.inf, dtype=torch.float64)
    for batch, length in enumerate(x["key_lengths"].tolist()):
        for split, own in enumerate(torch.arange(length).split(max(-(-length // splits), 1)) if length else ()):
            s = torch.einsum("hd,hnd->hn", x["q"][batch], k[batch, :, own]) * _scale(case)
            o[batch, :, split] = torch.einsum("hn,hnd->hd", torch.softmax(s, -1), v[batch, :, own])
            lse[batch, :, split] = torch.logsumexp(s, -1)
    return {"o_part": o, "lse_part": lse}


def decode_attention_paged(case: Case, x: Tensors) -> Tensors:
    """Each text's keys are put together one by one, by looking up the page of each; the rest is the same."""
    page, longest = case.sizes["PAGE"], max(*x["key_lengths"].tolist(), 1)
    whole = {name: torch.zeros(case.sizes["B"], case.sizes["H_KV"], longest, case.sizes["D"]).double() for name in "kv"}
    for batch, length in enumerate(x["key_lengths"].tolist()):
        for j in range(length):
            at = int(x["block_table"][batch, j // page])
            for name in "kv":
                whole[name][batch, :, j] = x[name][at, :, j % page]
    return decode_attention_split(case, {**x, **whole})


def merge_attention_splits(case: Case, x: Tensors) -> Tensors:
    """One split after another into a running pair, as in the recurrence."""
    o, lse = torch.zeros_like(x["o_part"][:, 0]), torch.full_like(x["lse_part"][:, 0], -torch.inf)
    for split in range(case.sizes["SPLITS"]):
        new = torch.logaddexp(lse, x["lse_part"][:, split])
        old, added = (torch.exp((part - new).nan_to_num(nan=-torch.inf)) for part in (lse, x["lse_part"][:, split]))
        part = torch.where(added[:, None] > 0, x["o_part"][:, split], 0.0)
        o, lse = old[:, None] * o + added[:, None] * part, new
    return {"o": o, "lse": lse}


def attention_gradients(case: Case, x: Tensors) -> Tensors:
    """By automatic differentiation. The log-sum-exp and Δ are computed anew, so the given ones are checked too."""
    x = {name: tensor.clone().requires_grad_() if name in "qkv" else tensor for name, tensor in x.items()}
    q, k, v, seen = _expanded(case, x)
    some = seen.any(-1, keepdim=True)
    s = (q @ k.mT * _scale(case)).masked_fill(~seen & some, -torch.inf)
    o = torch.softmax(s, -1) * some @ v
    dq, dk, dv = torch.autograd.grad(o, (x["q"], x["k"], x["v"]), x["do"])
    return {"dq": dq, "dk": dk, "dv": dv}


def linear_attention(case: Case, x: Tensors) -> Tensors:
    """All weights written out."""
    seen = torch.arange(case.sizes["N_KV"]) < x["key_lengths"][:, None]
    weights = (elu(x["q"]) + 1) @ (elu(x["k"]) + 1).mT * seen[:, None, None, :]
    return {"o": weights @ x["v"] / (weights.sum(-1, keepdim=True) + 1e-6)}


def causal_linear_attention(case: Case, x: Tensors) -> Tensors:
    """All weights written out; the earlier text is known by its state only."""
    q, k, v = elu(x["q"]) + 1, elu(x["k"]) + 1, x["v"]
    weights = (q @ k.mT).tril()
    den = weights.sum(-1) + (q @ x["z0"][..., None])[..., 0] + 1e-6
    o = (weights @ v + q @ x["s0"]) / den[..., None]
    return {"o": o, "s": x["s0"] + k.mT @ v, "z": x["z0"] + k.sum(-2)}


def linear_chunk_states(case: Case, x: Tensors) -> Tensors:
    member = torch.arange(case.sizes["N"]) // case.meta["CHUNK"]
    chosen = (member == torch.arange(int(member[-1]) + 1)[:, None]).double()  # [N_CHUNKS, N]
    k = elu(x["k"]) + 1
    return {"s": torch.einsum("cn,bhnd,bhnv->bhcdv", chosen, k, x["v"]), "z": torch.einsum("cn,bhnd->bhcd", chosen, k)}


def linear_state_prefix(case: Case, x: Tensors) -> Tensors:
    start, state = torch.empty_like(x["x"]), x["x0"].clone()
    for chunk in range(case.sizes["N_CHUNKS"]):
        start[:, chunk] = state
        state = state + x["x"][:, chunk]
    return {"start": start, "end": state}


def causal_linear_attention_parallel(case: Case, x: Tensors) -> Tensors:
    """From the first chunk's state alone: those of the others follow from it, and so they are checked too."""
    return causal_linear_attention(case, x | {"s0": x["s"][:, :, 0], "z0": x["z"][:, :, 0]})


def _left(alpha: torch.Tensor) -> torch.Tensor:
    """[..., N, 1 + N]: what is left when token i comes, of the start and of each token up to it, product by product; 0 for later ones."""
    row = torch.ones_like(alpha[..., :1])
    rows = []
    for i in range(alpha.shape[-1]):
        row = torch.cat((alpha[..., i, None] * row, torch.ones_like(row[..., :1])), dim=-1)
        rows.append(row)
    return torch.stack([torch.nn.functional.pad(row, (0, len(rows) + 1 - row.shape[-1])) for row in rows], dim=-2)


def decay_linear_attention(case: Case, x: Tensors) -> Tensors:
    """All weights written out."""
    q, k, v, left = x["q"], x["k"], x["v"], _left(x["g"].exp())
    o = (q @ k.mT * left[..., 1:]) @ v + left[..., :1] * (q @ x["s0"])
    return {"o": o, "s": left[..., -1:, :1] * x["s0"] + (k * left[..., -1, 1:, None]).mT @ v}


def delta_rule(case: Case, x: Tensors) -> Tensors:
    """What all tokens write is the solution of one triangular system; then as with decays alone."""
    k, beta, left = x["k"], x["beta"][..., None], _left(x["g"].exp())
    system = torch.eye(k.shape[-2]).double() + (beta * (k @ k.mT) * left[..., 1:]).tril(-1)
    written = torch.linalg.solve_triangular(system, beta * (x["v"] - left[..., :1] * (k @ x["s0"])), upper=False)
    return decay_linear_attention(case, x | {"v": written})


def _in_chunks(case: Case, x: torch.Tensor) -> torch.Tensor:
    """[B, H, N, ...] as [B, H, N_CHUNKS, CHUNK, ...], zeros past the end."""
    b, h, n, *rest = x.shape
    chunk = case.meta["CHUNK"]
    out = torch.zeros(b, h, -(-n // chunk) * chunk, *rest, dtype=x.dtype)
    out[:, :, :n] = x
    return out.unflatten(2, (-1, chunk))


def delta_chunk_matrix(case: Case, x: Tensors) -> Tensors:
    """The square of the whole text, of which only the blocks on the diagonal are kept."""
    whole = (-x["beta"][..., None] * (x["k"] @ x["k"].mT) * _left(x["g"].exp())[..., 1:]).tril(-1)
    columns = (
        _in_chunks(case, _in_chunks(case, whole).flatten(2, 3).mT).flatten(2, 3).mT
    )  # a multiple of CHUNK each way
    chunk = case.meta["CHUNK"]
    blocks = columns.unflatten(-2, (-1, chunk)).unflatten(-1, (-1, chunk))  # [B, H, c, CHUNK, c, CHUNK]
    return {"a": torch.diagonal(blocks, dim1=2, dim2=4).movedim(-1, 2)}


def triangular_inverse(case: Case, x: Tensors) -> Tensors:
    one = torch.eye(case.meta["CHUNK"]).double()
    u = torch.linalg.solve_triangular(one - x["a"], _in_chunks(case, x["v"]), upper=False)
    t = torch.linalg.solve_triangular(one - x["a"], one.expand(x["a"].shape), upper=False)
    return {"t": t, "u": u.flatten(2, 3)[:, :, : case.sizes["N"]]}


def delta_chunk_values(case: Case, x: Tensors) -> Tensors:
    alpha = torch.cumprod(_in_chunks(case, x["g"]).exp(), dim=-1)
    beta, k, v = (_in_chunks(case, x[name]) for name in ("beta", "k", "v"))
    u = torch.einsum("bhcij,bhcj,bhcjv->bhciv", x["t"], beta, v)
    w = torch.einsum("bhcij,bhcj,bhcjd->bhcid", x["t"], beta * alpha, k)
    return {name: y.flatten(2, 3)[:, :, : case.sizes["N"]] for name, y in (("u", u), ("w", w))}


def delta_chunk_walk(case: Case, x: Tensors) -> Tensors:
    """Every chunk is a text of its own, whose values are known once its start is."""
    chunk, state, outputs = case.meta["CHUNK"], x["s0"], []
    for start in range(0, case.sizes["N"], chunk):
        part = {name: x[name][:, :, start : start + chunk] for name in ("q", "k", "u", "w", "g")}
        text = part | {"v": part["u"] - part["w"] @ state, "s0": state}
        after = decay_linear_attention(case, text)
        outputs.append(after["o"])
        state = after["s"]
    return {"o": torch.cat(outputs, dim=2), "s": state}


ORACLES: dict[str, Callable[[Case, Tensors], Tensors]] = {
    "vector_add": lambda case, x: {"z": x["x"] + x["y"]},
    "tile_copy": lambda case, x: {"y": x["x"] + 0.0},
    "score_tile": lambda case, x: {"s": scale_of(case) * torch.einsum("md,nd->mn", x["q"], x["k"])},
    **dict.fromkeys(("row_softmax", "chunked_softmax", "online_softmax", "tiled_softmax"), softmax),
    "merge_softmax_stats": merge_softmax_stats,
    **dict.fromkeys(
        ("flash_attention", "flash_attention_v1", "flash_attention_heads", "flash_attention_fast"), attention
    ),
    "flash_attention_window": attention_window,
    "decode_attention_split": decode_attention_split,
    "decode_attention_paged": decode_attention_paged,
    "merge_attention_splits": merge_attention_splits,
    "softmax_backward": lambda case, x: {"dx": torch._softmax_backward_data(x["dy"], x["y"], -1, torch.float64)},
    "attention_delta": lambda case, x: {"delta": torch.einsum("...d,...d->...", x["o"], x["do"])},
    **dict.fromkeys(("attention_dkdv", "attention_dq"), attention_gradients),
    "linear_attention": linear_attention,
    **dict.fromkeys(("causal_linear_attention", "causal_linear_attention_chunked"), causal_linear_attention),
    "linear_chunk_states": linear_chunk_states,
    "linear_state_prefix": linear_state_prefix,
    "causal_linear_attention_parallel": causal_linear_attention_parallel,
    "decay_linear_attention_chunked": decay_linear_attention,
    "delta_rule_recurrent": delta_rule,
    "delta_chunk_matrix": delta_chunk_matrix,
    "triangular_inverse": triangular_inverse,
    "delta_chunk_values": delta_chunk_values,
    "delta_chunk_walk": delta_chunk_walk,
}


def _scale(case: Case) -> float:
    return float(case.flags.get("SCALE", 0.0)) or case.sizes["D"] ** -0.5


def _expanded(case: Case, x: Tensors) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """q, the keys and values of every query head, and which keys a query sees; under a causal mask the last query sees the batch's last key."""
    k, v = x["k"], x["v"]
    if k.dim() == 4 and k.shape[1] != x["q"].shape[1]:
        k, v = (t.repeat_interleave(x["q"].shape[1] // k.shape[1], dim=1) for t in (k, v))
    n_q, n_kv = x["q"].shape[-2], k.shape[-2]
    masks = []
    for length in x["key_lengths"].tolist() if "key_lengths" in x else [n_kv]:
        seen = torch.ones(n_q, length, dtype=torch.bool)
        seen = seen.tril(length - n_q) if case.flags.get("IS_CAUSAL") else seen
        masks.append(torch.nn.functional.pad(seen, (0, n_kv - length)))
    every = torch.stack(masks)[:, None] if k.dim() == 4 else masks[0]
    return x["q"], k, v, every.expand(*x["q"].shape[:-1], n_kv)
