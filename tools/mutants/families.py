"""What is special about each family of puzzles: its guards, and the names that are easily confused in its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checker.puzzle import Puzzle
from tools.mutants import guards
from tools.mutants.guards import Guard


@dataclass(frozen=True)
class Family:
    """Names in one set of `alike` are confused with one another, names in `mistaken` only in the given direction.

    Strides and names that share a word (``mask_m``, ``mask_n``) need not be listed.
    """

    guards: tuple[Guard, ...] = guards.ANY
    alike: tuple[frozenset[str], ...] = ()
    mistaken: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _groups(text: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(group.split()) for group in text.split(","))


def _strides(names: str, *others: str) -> dict[str, tuple[str, ...]]:
    return {f"stride_{name}": others for name in names.split()}


SOFTMAX = Family(
    guards.SOFTMAX,
    _groups(
        "M N, BLOCK_M BLOCK_N, x_ptr y_ptr z_ptr, m_part_ptr l_part_ptr, m_ptr l_ptr, x y, m_i m_new m_safe l_i, offs_m offs_n"
    ),
    {
        **_strides("xm ym", "N", "BLOCK_N"),
        **_strides("pm", "SPLITS", "BLOCK_S"),
        "N": ("BLOCK_N", "stride_xm"),
        "M": ("BLOCK_M",),
        "SPLITS": ("BLOCK_S", "stride_pm"),
    },
)
GRADIENT_ROWS = Family(
    guards.GRADIENT_ROWS,
    _groups("y_ptr dy_ptr dx_ptr, y dy delta"),
    {**_strides("ym dym dxm", "N", "BLOCK_N"), "N": ("BLOCK_N", "stride_ym")},
)
ATTENTION = Family(
    guards.ATTENTION,
    _groups(
        "BLOCK_M BLOCK_N, m_ptr l_ptr, q_ptr k_ptr v_ptr o_ptr, lse_ptr m_ptr, batch head head_kv, m_i m_new m_safe l_i,"
        "l_i l_new l_safe, q k v o, kv qo, s p, acc o, length end_n, rows cols offs_m offs_n, offs_d offs_m offs_n,"
        "mask_m mask_n seen"
    ),
    {
        "N_Q": ("BLOCK_M", "stride_qm"),
        "N_KV": ("BLOCK_N", "stride_kn"),
        "length": ("N_KV",),
        "end_n": ("N_KV",),
        "D": ("BLOCK_M", "BLOCK_N"),
        **_strides("qm kn vn om qh kh vh oh", "D"),
    },
)
GRADIENTS = replace(
    ATTENTION,
    alike=ATTENTION.alike
    + _groups(
        "q_ptr k_ptr v_ptr do_ptr, lse_ptr delta_ptr, dk_ptr dv_ptr dq_ptr, q k v do, s p dp ds, dk dv, lse delta,"
        "q_row k_row v_row do_row dq_row, dk_row dv_row, begin_m start_m end_m, group H_KV H_Q"
    ),
)
DELTA = Family(
    guards.DELTA,
    _groups("o_ptr do_ptr delta_ptr, batch head, o do, o_row do_row, o_ptrs do_ptrs, offs_d offs_m"),
    {"N_Q": ("BLOCK_M", "stride_om"), "D": ("BLOCK_M",), **_strides("oh om doh dom", "D")},
)
LINEAR = Family(
    guards.LINEAR,
    _groups(
        "BLOCK_M BLOCK_N, N N_CHUNKS, D D_V, CHUNK BLOCK_V, chunk head, q_ptr k_ptr v_ptr o_ptr, s0_ptr z0_ptr s_ptr z_ptr,"
        "q k v o, a q k, state z, num den, offs_v offs_d offs_m offs_n offs_c"
    ),
    {
        "N_Q": ("BLOCK_M", "stride_qm"),
        "N_KV": ("BLOCK_N", "stride_kn"),
        "length": ("N_KV",),
        "D": ("BLOCK_M", "BLOCK_N"),
        "D_V": ("BLOCK_V",),
        "N": ("CHUNK",),
        "CHUNK": ("N",),
        "N_CHUNKS": ("CHUNK",),
        "H": ("N_Q", "N_KV"),
        **_strides("qm kn vn om qh kh vh oh qn", "D"),
        "stride_on": ("D", "D_V"),
    },
)
PREFIX = Family(guards.PREFIX, _groups("SIZE N_CHUNKS, chunk group, x_ptr x0_ptr start_ptr end_ptr"))

DECODE = Family(
    guards.DECODE,
    _groups(
        "BLOCK_G BLOCK_N, o_part_ptr lse_part_ptr, q_ptr k_ptr v_ptr, batch head_kv, H_Q H_KV group, m_i m_new l_i,"
        "l_i l_safe, q k v, s p, split share, length end_n, rows cols part, offs_g offs_n offs_d, mask_g mask_n,"
        "k_row v_row, k_rows v_rows, page slot, PAGE BLOCK_N, MAX_PAGES SPLITS"
    ),
    {
        "N_KV": ("BLOCK_N", "stride_kn"),
        "length": ("N_KV",),
        "end_n": ("N_KV",),
        "D": ("BLOCK_N",),
        "SPLITS": ("BLOCK_N",),
        "share": ("BLOCK_N",),
        "MAX_PAGES": ("PAGE",),
        **_strides("kb kh kn vb vh vn", "D"),
    },
)
MERGE = Family(
    guards.MERGE,
    _groups("o_part_ptr lse_part_ptr o_ptr lse_ptr, lse_part m_i m_safe l_i, l_i l_safe, w lse_part, offs_s offs_d"),
    {"SPLITS": ("BLOCK_S", "D"), "D": ("BLOCK_S", "SPLITS")},
)
FORGETTING = replace(
    LINEAR,
    guards=guards.FORGETTING,
    alike=LINEAR.alike
    + _groups(
        "g_ptr beta_ptr, a_ptr t_ptr, t_ptr u_ptr w_ptr, g b b_end, g beta, u w, u v old, state k, row t new, i token,"
        "q_ptrs k_ptrs u_ptrs w_ptrs, q_row k_row v_row o_row"
    ),
)

BY_FAMILY = (
    (SOFTMAX, "vector_add row_softmax chunked_softmax online_softmax merge_softmax_stats"),
    (replace(SOFTMAX, guards=guards.TILES), "tiled_softmax"),
    (GRADIENT_ROWS, "softmax_backward"),
    (ATTENTION, "flash_attention flash_attention_v1 flash_attention_heads flash_attention_fast"),
    (DELTA, "attention_delta"),
    (replace(GRADIENTS, guards=guards.KEYS_DOWN), "attention_dkdv"),
    (GRADIENTS, "attention_dq"),
    (LINEAR, "linear_attention causal_linear_attention causal_linear_attention_chunked linear_chunk_states"),
    (LINEAR, "causal_linear_attention_parallel"),
    (PREFIX, "linear_state_prefix"),
    (
        replace(ATTENTION, guards=guards.WINDOW, alike=ATTENTION.alike + _groups("first start")),
        "flash_attention_window",
    ),
    (DECODE, "decode_attention_split decode_attention_paged"),
    (MERGE, "merge_attention_splits"),
    (FORGETTING, "decay_linear_attention_chunked delta_chunk_walk"),
    (replace(FORGETTING, guards=guards.TOKENS), "delta_rule_recurrent"),
    (replace(FORGETTING, guards=guards.CHUNKS), "delta_chunk_matrix triangular_inverse delta_chunk_values"),
)
FAMILIES = {puzzle: family for family, puzzles in BY_FAMILY for puzzle in puzzles.split()}


def family_of(puzzle: Puzzle) -> Family:
    """A puzzle without a family gets the guards that any kernel has, on programs and iterations."""
    return FAMILIES.get(puzzle.name, Family())
