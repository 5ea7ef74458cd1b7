"""What the simulator costs: each kernel of the ladder traced with all checks, beside Triton's own interpreter.

    python bench/simulator.py [--repeats 5]

Prints milliseconds of CPU time (best of the repeats) and the ratio. The promise: row softmax within 100 ms, and never more
than 1.3 times what TRITON_INTERPRET=1 takes for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from checker.puzzle import Launch  # noqa: E402
from tests.simulator import kernels  # noqa: E402


def launches() -> dict[str, tuple[Any, Launch]]:
    """The kernels with the sizes their cost is quoted for."""
    m, n = 64, 1000
    x, y = torch.randn(m, n), torch.zeros(m, n)
    rows = {"x_ptr": x, "y_ptr": y, "stride_xm": n, "stride_ym": n, "N": n}
    q, k, v, o = (torch.randn(1, 512, 64) for _ in range(4))
    heads = {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": o,
        "stride_h": 512 * 64,
        "stride_n": 64,
        "N": 512,
        "scale": 0.125,
    }
    tile = {"D": 64, "BLOCK_M": 64, "BLOCK_N": 64, "IS_CAUSAL": True, "PRECISION": "ieee"}
    out = ("y_ptr",)
    return {
        "row softmax, BLOCK_N 1024": (kernels.row_softmax, Launch((m,), rows, {"BLOCK_N": 1024}, out)),
        "chunked softmax, BLOCK_N 128": (kernels.chunked_softmax, Launch((m,), rows, {"BLOCK_N": 128}, out)),
        "online softmax, BLOCK_N 128": (kernels.online_softmax, Launch((m,), rows, {"BLOCK_N": 128}, out)),
        "tiled softmax, 16 x 128": (
            kernels.tiled_softmax,
            Launch((4,), {**rows, "M": m}, {"BLOCK_M": 16, "BLOCK_N": 128}, out),
        ),
        "flash attention, causal, 512 x 64": (kernels.flash_attention, Launch((8, 1), heads, tile, ("o_ptr",))),
    }


def best(work: Callable[[], object], repeats: int) -> float:
    """The least CPU milliseconds of `repeats` runs after a first one."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        work()
        times.append(1000 * (time.process_time() - start))
    return min(times[1:])


def measure(repeats: int) -> dict[str, float]:
    """Here: the simulator, or Triton's interpreter where the environment asks for it."""
    torch.set_num_threads(1)
    out = {}
    for name, (kernel, launch) in launches().items():
        if os.environ.get("TRITON_INTERPRET") == "1":

            def work(kernel: Any = kernel, launch: Launch = launch) -> object:
                return kernel[launch.grid](**launch.arguments, **launch.meta)
        else:
            from checker.simulator import SimulateOptions, simulate

            def work(kernel: Any = kernel, launch: Launch = launch) -> object:
                return simulate(kernel, launch, SimulateOptions(events=True))

        out[name] = best(work, repeats)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print only this process's own times")
    options = parser.parse_args()
    mine = measure(options.repeats)
    if options.json:
        print(json.dumps(mine))
        return
    command = [sys.executable, __file__, "--json", "--repeats", str(options.repeats)]
    done = subprocess.run(
        command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=True, cwd=ROOT
    )
    stock = json.loads(done.stdout.splitlines()[-1])
    print(f"{'kernel':36} {'simulator':>10} {'interpreter':>12} {'ratio':>6}")
    for name, milliseconds in mine.items():
        print(f"{name:36} {milliseconds:7.0f} ms {stock[name]:9.0f} ms {milliseconds / stock[name]:6.2f}")


if __name__ == "__main__":
    main()
