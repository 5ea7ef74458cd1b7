"""One launch of 64 programs of the course's FlashAttention, in the lens or in Triton's own interpreter: the seconds it takes.

    python -m bench.lens_launch                       in the lens
    TRITON_INTERPRET=1 python -m bench.lens_launch    in the interpreter

Prints the shortest of five launches, in seconds of processor time, and fails if the numbers are wrong.
"""

from __future__ import annotations

import os
import runpy
import time
from pathlib import Path

import torch

QUERIES, KEYS, D, TILE = 4096, 512, 64, 64
SOLUTION = Path(__file__).resolve().parents[1] / "solutions" / "flash_attention.py"


def main() -> None:
    torch.set_num_threads(1)
    if not os.environ.get("TRITON_INTERPRET"):
        import checker.lens  # noqa: F401
    kernel = runpy.run_path(str(SOLUTION))["flash_attention_kernel"]
    q, k, v = torch.randn(QUERIES, D), torch.randn(KEYS, D), torch.randn(KEYS, D)
    o, seconds = torch.empty_like(q), []
    for _ in range(5):
        began = time.process_time()
        kernel[(QUERIES // TILE,)](q, k, v, o, D, D, D, D, D**-0.5, QUERIES, KEYS, BLOCK_M=TILE, BLOCK_N=TILE, D=D)
        seconds.append(time.process_time() - began)
    torch.testing.assert_close(o, torch.softmax(q @ k.T * D**-0.5, 1) @ v, rtol=0.01, atol=0.002)
    print(f"{min(seconds):.3f}")


if __name__ == "__main__":
    main()
