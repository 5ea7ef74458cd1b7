"""`checker.gpu` on any machine: it explains a missing GPU, the driver's errors and impossible grids."""

from __future__ import annotations

import pytest

from checker import gpu
from checker.sandbox import Sandbox
from tests.sandbox.conftest import kernel, launch


def test_without_a_gpu_a_launch_is_not_the_learners_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "available", lambda: False)
    (result,) = Sandbox().launch(kernel(), [launch()])
    assert result.status == "infra_error"
    assert "no GPU" in result.message


def test_the_answers_about_the_device_agree() -> None:
    assert gpu.available() == bool(gpu.device_name()) == bool(gpu.capability())


ERRORS = (
    (RuntimeError("Triton Error [CUDA]: an illegal memory access"), "runtime_error", "outside its tensors"),
    (RuntimeError("CUDA error: misaligned address"), "runtime_error", "outside its tensors"),
    (RuntimeError("out of resource: shared memory, Required: 262144"), "resource_limit", "smaller tiles"),
    (OSError(27, "File too large"), "resource_limit", "smaller tiles"),
    (RuntimeError("CUDA out of memory. Tried to allocate 80.00 GiB"), "resource_limit", "free memory"),
    (RuntimeError("CUDA error: device-side assert triggered"), "runtime_error", "device_assert"),
    (RuntimeError("CUDA error: unspecified launch failure"), "runtime_error", "crashed on the GPU"),
    (ValueError("something new"), "runtime_error", "something new"),
)


def test_the_drivers_errors_are_explained() -> None:
    for error, status, words in ERRORS:
        explained = gpu._explain(error)
        assert explained.status == status
        assert words in explained.message
        assert str(error) in explained.detail


def test_a_grid_that_no_gpu_accepts_is_refused() -> None:
    for grid in ((0,), (1, 70_000), (2**31,), (4, 0, 1)):
        with pytest.raises(gpu.GpuError, match="programs along axis"):
            gpu._check_grid(grid)
