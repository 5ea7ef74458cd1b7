"""Versions of `solutions/launchers/paged_decode.py`, wrong ones too, and how to judge one."""

from __future__ import annotations

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


def verdict(text: str, cases: Sequence[int], folder: Path, sandbox: Sandbox, device: str = "cpu") -> Verdict:
    """The verdict on a file with this text, with some of the puzzle's cases by number."""
    file = folder / "paged_decode.py"
    file.write_text(text, "utf-8")
    (entry,) = from_path(file, LAUNCHERS)
    assert entry.source is not None, entry.error
    few = replace(PUZZLE, cases=tuple(PUZZLE.cases[i] for i in cases))
    judged = check_source(few, entry.source, device, runner=sandbox)
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
        "The grid of decode_attention_paged_kernel is (9, 1), and has to be (18, 1) here",
        (1, 13),
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
        "BLOCK_S = max(8, triton.next_power_of_2(SPLITS))",
        "BLOCK_S = 16",
        "values",
        "a BLOCK_S of at least SPLITS",
        (1, 13),
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
        (1, 9),
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
        "values",
        "The block table is part of a wider one here",
        (1, 5),
    ),
    WrongLauncher(
        "A block table is int32, whatever its type.",
        "block_table.to(torch.int32).contiguous()",
        "block_table.contiguous().view(torch.int32)",
        "values",
        "The block table holds int64 here",
        (1, 6),
    ),
    WrongLauncher(
        "q has no gaps.",
        "q, block_table = q.contiguous(), block_table.to(torch.int32).contiguous()",
        "block_table = block_table.to(torch.int32).contiguous()",
        "values",
        "q is a view here",
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
        "The caches have strides of their own here",
        (1, 8),
    ),
    WrongLauncher(
        "A text's keys lie in a tile of 16 rows.",
        "BLOCK_G=max(16, triton.next_power_of_2(H_Q // H_KV))",
        "BLOCK_G=16",
        "values",
        "More than 16 query heads share a key head here",
        (1, 12),
    ),
    WrongLauncher(
        "The parts can be as short as the output.",
        "o_part = torch.empty(B, H_Q, SPLITS, D, dtype=torch.float32",
        "o_part = torch.empty(B, H_Q, SPLITS, D, dtype=q.dtype",
        "memory",
        "o_part is float16 in decode_attention_paged_kernel, which wants float32",
        (1, 9),
    ),
)
"""What is replaced by what, and what the card says then. `KEPT` is a dictionary above the function."""
