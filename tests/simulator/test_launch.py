"""A launch: its arguments have the types that the launcher gives them, and it has to fit the kernel."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from checker.puzzle import Launch
from checker.simulator import SimulationError, simulate
from tests.simulator.launching import kernel_of, run


@triton.jit
def float_argument(y_ptr, scale, big):
    tl.store(y_ptr, scale)
    tl.store(y_ptr + 1, (big // 4096).to(tl.float64))


def test_arguments_have_the_types_the_launcher_gives_them():
    y = torch.zeros(2, dtype=torch.float64)
    run(float_argument, (1,), ("y_ptr",), {}, y_ptr=y, scale=0.1, big=2**40)
    assert y[0].item() == float(np.float32(0.1))
    assert y[1].item() == 2**28


def test_a_launch_that_does_not_fit_the_kernel(tmp_path):
    kernel = kernel_of(tmp_path, "tl.store(y_ptr + offs, x)")
    with pytest.raises(SimulationError, match="no parameter z_ptr"):
        simulate(kernel, Launch((1,), {"x_ptr": torch.zeros(1), "z_ptr": torch.zeros(1)}, {}, ()))
    with pytest.raises(SimulationError, match="y_ptr"):
        simulate(kernel, Launch((1,), {"x_ptr": torch.zeros(1)}, {}, ()))
    with pytest.raises(SimulationError, match="jit"):
        simulate(len, Launch((1,), {}, {}, ()))
