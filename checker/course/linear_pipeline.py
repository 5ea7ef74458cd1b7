"""Causal linear attention in three kernels: the states of all chunks, their prefix, the outputs of all chunks.

Each kernel is a puzzle. Their launches are chained here and run by whatever can run one: the simulator, the sandbox or a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from checker.course import causal_linear_attention_parallel, linear, linear_chunk_states, linear_state_prefix
from checker.course.linear import chunks
from checker.puzzle import Case, Pipeline, Puzzle, RunKernel, Scalar, Tensors

STATES, PREFIX, OUTPUTS = (
    linear_chunk_states.PUZZLE,
    linear_state_prefix.PUZZLE,
    causal_linear_attention_parallel.PUZZLE,
)
KERNELS: tuple[Puzzle, ...] = (STATES, PREFIX, OUTPUTS)
"""In the order they run. The prefix runs twice, over the state and over z."""
META = {STATES.name: ("CHUNK", "BLOCK_V"), PREFIX.name: ("BLOCK_SIZE",), OUTPUTS.name: ("CHUNK", "BLOCK_V")}
LARGEST = 1 << 25
"""Limit on the elements of one tensor, because the float64 reference is computed on the CPU."""


def pipeline_case(
    b: int, h: int, n: int, d: int, d_v: int, chunk: int = 16, block_v: int = 16, block: int = 64, **more: Any
) -> Case:
    """A case with the recurrent kernel's sizes and the tiles of all three kernels; `block` is the BLOCK_SIZE of the prefix."""
    meta = {"CHUNK": chunk, "BLOCK_V": block_v, "BLOCK_SIZE": block}
    return Case({"B": b, "H": h, "N": n, "D": d, "D_V": d_v}, meta, **more)


def chained(
    case: Case, tensors: Tensors, run: RunKernel, meta: Mapping[str, Mapping[str, Scalar]] | None = None
) -> Tensors:
    """``o_ptr``, ``s_ptr`` and ``z_ptr`` as from the recurrent kernel: the outputs, and the state after the last token.

    `tensors` are those of `linear.make`: q, k, v, o [B, H, N, D or D_V] in the case's dtype, s0 [B, H, D, D_V] and z0
    [B, H, D] in float32. Tensors passed between kernels are created here, on the device of q, filled with NaN. `meta` overrides the
    case's tile sizes by puzzle name.
    """
    b, h, _, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    heads, n_chunks = b * h, chunks(case)

    def launched(puzzle: Puzzle, at: Case, given: Tensors) -> Mapping[str, torch.Tensor]:
        tiles = {name: case.meta[name] for name in META[puzzle.name]}
        return run(puzzle.name, puzzle.launch(at, given, {**tiles, **(meta or {}).get(puzzle.name, {})}))

    def unwritten(*shape: int) -> torch.Tensor:
        return torch.full(shape, torch.nan, dtype=torch.float32, device=tensors["q_ptr"].device)

    def prefix(added: torch.Tensor, before: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The start of each chunk in the shape of `added`, and the end in the shape of `before`."""
        size = before[0, 0].numel()
        at = Case({"G": heads, "N_CHUNKS": n_chunks, "SIZE": size}, {"BLOCK_SIZE": case.meta["BLOCK_SIZE"]})
        after = launched(
            PREFIX,
            at,
            {
                "x_ptr": added.reshape(heads, n_chunks, size),
                "x0_ptr": before.contiguous().reshape(heads, size),
                "start_ptr": unwritten(heads, n_chunks, size),
                "end_ptr": unwritten(heads, size),
            },
        )
        return after["start_ptr"].reshape(added.shape), after["end_ptr"].reshape(before.shape)

    inputs = {name: tensors[name] for name in ("q_ptr", "k_ptr", "v_ptr")}
    keys_values = {name: inputs[name] for name in ("k_ptr", "v_ptr")}
    empty = {"s_ptr": unwritten(b, h, n_chunks, d, d_v), "z_ptr": unwritten(b, h, n_chunks, d)}
    added = launched(STATES, case, {**keys_values, **empty})
    s, s_end = prefix(added["s_ptr"], tensors["s0_ptr"])
    z, z_end = prefix(added["z_ptr"], tensors["z0_ptr"])
    after = launched(OUTPUTS, case, {**inputs, "o_ptr": tensors["o_ptr"], "s_ptr": s, "z_ptr": z})
    return {"o_ptr": after["o_ptr"], "s_ptr": s_end, "z_ptr": z_end}


def _check(case: Case) -> None:
    b, h, n, d, d_v = (case.sizes[name] for name in ("B", "H", "N", "D", "D_V"))
    if case.flags["PAST"] < 0:
        raise ValueError(f"PAST counts tokens and cannot be {case.flags['PAST']}")
    if case.meta["CHUNK"] < 16 or case.meta["BLOCK_V"] < 16:
        raise ValueError("CHUNK and BLOCK_V are at least 16: tensor cores take no smaller tiles")
    if (largest := b * h * n * max(d, d_v)) > LARGEST:
        raise ValueError(f"A tensor of these sizes has {largest:,} numbers, and {LARGEST:,} are the limit here")


def _remark(case: Case) -> str:
    alone = -(-case.sizes["D_V"] // case.meta["BLOCK_V"]) * case.sizes["B"] * case.sizes["H"]
    return f"One program for each head and slice of the values, as the recurrent kernel has them, would be {alone}."


PIPELINE = Pipeline(
    name="causal_linear_attention",
    title="Three kernels in four launches",
    kernels=KERNELS,
    tiles=META,
    case=pipeline_case(1, 2, 200, 16, 24, flags={"PAST": 0}),
    check=_check,
    make=linear.make,
    reference=linear.reference,
    run=chained,
    outputs={"o_ptr": "output", "s_ptr": "final state S", "z_ptr": "final z"},
    remark=_remark,
)
"""`PAST` is the number of tokens that the initial state holds, BLOCK_SIZE the prefix's tile."""
