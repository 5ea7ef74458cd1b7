"""Versions of `solutions/launchers/paged_decode.py`, wrong ones too, and how to judge one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from checker.checking import check_source
from checker.course.launchers import LAUNCHERS
from checker.judge.verdict import Verdict
from checker.sandbox import Sandbox
from checker.submission.from_path import from_path

PUZZLE = LAUNCHERS["paged_decode"]
SOLUTION = Path(__file__).parents[2] / "solutions" / "launchers" / "paged_decode.py"
TEXT = SOLUTION.read_text("utf-8")
ABOVE = "@torch.library.custom_op"


def verdict(
    text: str, cases: Sequence[int], folder: Path, sandbox: Sandbox, device: str = "cpu", seed: int | None = None
) -> Verdict:
    """The verdict on a file with this text, with some of the puzzle's cases by number."""
    file = folder / "paged_decode.py"
    file.write_text(text, "utf-8")
    (entry,) = from_path(file, LAUNCHERS)
    assert entry.source is not None, entry.error
    few = replace(PUZZLE, cases=tuple(PUZZLE.cases[i] for i in cases))
    judged = check_source(few, entry.source, device, runner=sandbox, seed=seed)
    assert judged.gates[0].status != "infra_error", judged.gates[0].detail
    return judged


class WrongLauncher(NamedTuple):
    belief: str
    old: str
    new: str
    gate: str
    says: str
    """A part of the card's message or advice."""
    cases: tuple[int, ...] = (0, 1)
    """By number, in the puzzle's table: enough to see it."""


DECODE = "decode_attention_paged_kernel[(SPLITS, B * H_KV)]("
MERGE = "merge_attention_splits_kernel[(B * H_Q,)](o_part, lse_part, o, lse, SPLITS, BLOCK_S=BLOCK_S, D=D)"
COPIES = "q, block_table = q.contiguous(), block_table.to(torch.int32).contiguous()"
FROM_COPIES_TO_OUTPUT = re.search(re.escape(COPIES) + r".*o, lse = torch.empty_like\(q\)", TEXT, re.DOTALL)[0]  # type: ignore[index]
TILE = "BLOCK_S = max(8, triton.next_power_of_2(SPLITS))"
SCRATCH = """\
o_part = torch.empty(B, H_Q, SPLITS, D, dtype=torch.float32, device=q.device)
    lse_part = torch.empty(B, H_Q, SPLITS, dtype=torch.float32, device=q.device)
    o, lse = torch.empty_like(q), torch.empty(B, H_Q, dtype=torch.float32, device=q.device)
    """
WRONG = (
    WrongLauncher(
        "The grid may have fewer splits than the scratch, if that holds zeros.",
        SCRATCH + DECODE,
        SCRATCH.replace("torch.empty(B", "torch.zeros(B") + DECODE.replace("SPLITS", "max(1, SPLITS // 2)"),
        "values",
        "The grid of decode_attention_paged_kernel is (4, 8), and has to be (9, 8) here",
        (1, 8),
    ),
    WrongLauncher(
        "The merge can have its own number of splits.",
        MERGE,
        MERGE.replace("lse, SPLITS", "lse, SPLITS + 1"),
        "values",
        "SPLITS is 1 in decode_attention_paged_kernel and 2 in merge_attention_splits_kernel",
    ),
    WrongLauncher(
        "A tile of 16 holds all splits.",
        TILE,
        "BLOCK_S = 16",
        "memory",
        "BLOCK_S is at least SPLITS",
    ),
    WrongLauncher(
        "The number of splits follows from the longest text.",
        "triton.cdiv(MAX_PAGES * PAGE, 256)",
        "triton.cdiv(int(lengths.max().item()), 256)",
        "memory",
        "item() asks for a number of an input",
    ),
    WrongLauncher(
        "torch.empty makes what the inputs are.",
        "o, lse = torch.empty_like(q), ",
        "o, lse = torch.empty(B, H_Q, D, device=q.device), ",
        "values",
        "It returned float32 2 × 4 × 16 on cpu. The output has the shape, the type and the device of q: float16",
        (1, 5),
    ),
    WrongLauncher(
        "There is a program for each text.",
        DECODE,
        DECODE.replace("B * H_KV", "B"),
        "values",
        "The grid of decode_attention_paged_kernel is (1, 1), and has to be (1, 2) here",
    ),
    WrongLauncher(
        "A block table has no gaps.",
        "q, block_table = q.contiguous(), block_table.to(torch.int32).contiguous()",
        "q, block_table = q.contiguous(), block_table.to(torch.int32)",
        "memory",
        "and decode_attention_paged_kernel takes it for B × MAX_PAGES = ",
    ),
    WrongLauncher(
        "A block table is int32, whatever its type.",
        "block_table.to(torch.int32).contiguous()",
        "block_table.contiguous().view(torch.int32)",
        "values",
        "block_table is 2 × 10 with strides (10, 1), and decode_attention_paged_kernel takes it for B × MAX_PAGES = 2 × 5",
        (1, 4),
    ),
    WrongLauncher(
        "q has no gaps.",
        "q, block_table = q.contiguous(), block_table.to(torch.int32).contiguous()",
        "block_table = block_table.to(torch.int32).contiguous()",
        "values",
        "q is 2 × 4 × 16 with strides (128, 16, 1)",
        (1, 4),
    ),
    WrongLauncher(
        "A cache of no keys needs no launch.",
        "    BLOCK_S = max",
        "    if int(lengths.sum()) == 0:\n        return o\n    BLOCK_S = max",
        "values",
        "No launch of merge_attention_splits_kernel was seen",
        (1, 3),
    ),
    WrongLauncher(
        "More splits are faster.",
        "SPLITS = max(1, min(3 * cores // (B * H_KV), triton.cdiv(MAX_PAGES * PAGE, 256)))",
        "SPLITS = 128",
        "traffic",
        "SPLITS is 128, and more than 3 make no sense",
    ),
    WrongLauncher(
        "q may be scaled where it lies.",
        "    (B, H_Q, D), (H_KV",
        "    q *= 1\n    q += 2**-9\n    q -= 2**-9\n    q[:] = q + 1e-6\n    (B, H_Q, D), (H_KV",
        "memory",
        "q_0 is an input, and was changed",
    ),
    WrongLauncher(
        "The output can be kept for the next call.",
        "o, lse = torch.empty_like(q), ",
        "o = KEPT.setdefault((q.shape, q.dtype), torch.empty_like(q))\n    lse = ",
        "values",
        "Two calls returned the same memory",
    ),
    WrongLauncher(
        "PyTorch's own attention does the same.",
        "    (B, H_Q, D), (H_KV",
        "    o = [\n"
        "        torch.nn.functional.scaled_dot_product_attention(\n"
        "            one[None, :, None],\n"
        "            *(\n"
        "                x[table.long().clamp(0, len(x) - 1)].transpose(0, 1).flatten(1, 2)[None, :, :n]\n"
        "                for x in (k_cache, v_cache)\n"
        "            ),\n"
        "            enable_gqa=True,\n"
        "        )[0, :, 0]\n"
        "        for one, table, n in zip(q, block_table, lengths, strict=True)\n"
        "    ]\n"
        "    return torch.stack(o).nan_to_num()\n    (B, H_Q, D), (H_KV",
        "memory",
        "No launch of decode_attention_paged_kernel was seen",
    ),
    WrongLauncher(
        "v lies as k does.",
        "*v_cache.stride()",
        "*k_cache.stride()",
        "values",
        "and decode_attention_paged_kernel takes it for N_PAGES × H_KV × PAGE × D = ",
        (1, 4),
    ),
    WrongLauncher(
        "A text's keys lie in a tile of 16 rows.",
        "BLOCK_G=max(16, triton.next_power_of_2(H_Q // H_KV))",
        "BLOCK_G=16",
        "memory",
        "BLOCK_G is 16, H_Q is 128 and H_KV is 1",
    ),
    WrongLauncher(
        "The parts can be as short as the output.",
        "o_part = torch.empty(B, H_Q, SPLITS, D, dtype=torch.float32",
        "o_part = torch.empty(B, H_Q, SPLITS, D, dtype=q.dtype",
        "memory",
        "o_part is float16 in decode_attention_paged_kernel, which wants float32",
        (1, 5),
    ),
    WrongLauncher(
        "There are never more than 32 splits.",
        "o_part = torch.empty(B, H_Q, SPLITS, D, ",
        "o_part = torch.empty(B, H_Q, 32, D, ",
        "memory",
        "numbers, and decode_attention_paged_kernel needs B × H_Q × SPLITS × D = ",
    ),
    WrongLauncher(
        "A GPU has a multiprocessor for each key head.",
        "SPLITS = max(1, min(3 * cores // (B * H_KV), triton.cdiv(MAX_PAGES * PAGE, 256)))",
        "SPLITS = min(3 * cores // (B * H_KV), triton.cdiv(MAX_PAGES * PAGE, 256))",
        "memory",
        "SPLITS is 0 in decode_attention_paged_kernel, which may assume: SPLITS may be any number from 1",
    ),
    WrongLauncher(
        "There are never more than 1024 queries.",
        MERGE,
        MERGE.replace("(B * H_Q,)", "(min(B * H_Q, 1024),)"),
        "memory",
        "The grid of merge_attention_splits_kernel is (1024,), and has to be (",
    ),
    WrongLauncher(
        "A new tensor like q has no gaps.",
        FROM_COPIES_TO_OUTPUT,
        f"new = torch.empty_like(q)\n    {FROM_COPIES_TO_OUTPUT}".replace(
            "o, lse = torch.empty_like(q)", "o, lse = new"
        ),
        "memory",
        "and merge_attention_splits_kernel takes it for M × D = ",
    ),
)
"""What is replaced by what, and what the card says then. `KEPT` is a dictionary above the function."""
PARTS = "o_part = torch.empty(B, H_Q, SPLITS, D, dtype=torch.float32, device=q.device)"
STATISTICS = "lse_part = torch.empty(B, H_Q, SPLITS, dtype=torch.float32, device=q.device)"
RIGHT = {
    "scratch for more splits than there are": (
        (PARTS, PARTS.replace("SPLITS", "512")),
        (STATISTICS, STATISTICS.replace("SPLITS", "512")),
    ),
    "one buffer for all scratch": (
        (PARTS, "room = torch.empty(B * H_Q * SPLITS * (D + 1), dtype=torch.float32, device=q.device)"),
        (STATISTICS, "o_part, lse_part = room[: -B * H_Q * SPLITS], room[-B * H_Q * SPLITS :]"),
    ),
    "few splits and a tile for them": (
        (
            "SPLITS = max(1, min(3 * cores // (B * H_KV), triton.cdiv(MAX_PAGES * PAGE, 256)))",
            "SPLITS = min(16, triton.cdiv(MAX_PAGES * PAGE, 256))",
        ),
        (TILE, "BLOCK_S = 16"),
    ),
    "a wide table as it is": (
        (
            COPIES,
            "q, block_table, KEYS = q.contiguous(), block_table.to(torch.int32), MAX_PAGES * PAGE\n"
            "    if block_table.stride(1) != 1 or block_table.stride(0) < MAX_PAGES:\n"
            "        block_table = block_table.contiguous()\n"
            "    MAX_PAGES = block_table.stride(0)",
        ),
        ("triton.cdiv(MAX_PAGES * PAGE, 256)", "triton.cdiv(KEYS, 256)"),
    ),
    "a padded table": (
        (
            COPIES,
            f"{COPIES}\n    block_table = torch.nn.functional.pad(block_table, (0, -MAX_PAGES % 16))\n    MAX_PAGES = block_table.shape[1]",
        ),
    ),
    "tensors in fewer dimensions": (
        (
            MERGE,
            MERGE.replace(
                "o_part, lse_part, o, lse", "o_part.flatten(0, 1), lse_part.flatten(0, 1), o.view(-1, D), lse.view(-1)"
            ),
        ),
    ),
    "caches with their heads first": (
        ("*(q, k_cache, v_cache,", "*(q, k_cache.transpose(0, 1), v_cache.transpose(0, 1),"),
    ),
    "a float32 output, then converted": (
        ("torch.empty_like(q)", "torch.empty(B, H_Q, D, device=q.device)"),
        ("    return o\n", "    return o.to(q.dtype)\n"),
    ),
}
"""Other ways to write it: what is replaced by what."""
