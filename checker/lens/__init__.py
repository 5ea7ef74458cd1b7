"""Any Triton kernel, without a GPU.

After ``import checker.lens``, a launch on CPU tensors runs in the simulator, in this process, and writes its outputs as a GPU would:

    kernel[grid](x, y, N, BLOCK_N=64)

What goes wrong in it is shown as one short message, and what the first and the last programs print. On a machine with a GPU,
launches on CUDA tensors stay Triton's own. A film shows every step of the launches inside it:

    with checker.lens.film() as films:
        kernel[grid](x, y, N, BLOCK_N=8)

`triton_hooks` is where launches come in, `launch` checks them, `session` simulates them, `words` and `report` say what was seen,
and `filming` films it.
"""

from __future__ import annotations

from checker.lens import triton_hooks
from checker.lens.launch import KernelStopped, LaunchError
from checker.lens.session import Filming as film
from checker.lens.session import current, lens

__all__ = ["KernelStopped", "LaunchError", "film", "lens"]

triton_hooks.install(current)
