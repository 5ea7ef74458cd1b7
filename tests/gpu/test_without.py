"""What `checker.gpu` says and translates on any machine."""

from __future__ import annotations

import pytest

from checker import gpu
from checker.sandbox import Sandbox
from tests.sandbox.conftest import kernel, launch


def test_without_a_gpu_a_launch_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "available", lambda: False)
    (result,) = Sandbox().launch(kernel(), [launch()])
    assert result.status == "infra_error"
    assert "no GPU" in result.message


def test_the_answers_about_the_device_agree() -> None:
    assert gpu.available() == bool(gpu.device_name()) == bool(gpu.capability())


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (
            RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered"),
            "runtime_error",
            "outside its tensors",
        ),
        (RuntimeError("CUDA error: misaligned address"), "runtime_error", "outside its tensors"),
        (
            RuntimeError("out of resource: shared memory, Required: 262144, Hardware limit: 101376"),
            "resource_limit",
            "smaller tiles",
        ),
        (OSError(27, "File too large"), "resource_limit", "smaller tiles"),
        (RuntimeError("CUDA out of memory. Tried to allocate 80.00 GiB"), "resource_limit", "free memory"),
        (RuntimeError("CUDA error: device-side assert triggered"), "runtime_error", "device_assert"),
        (RuntimeError("CUDA error: unspecified launch failure"), "runtime_error", "crashed on the GPU"),
        (ValueError("something new"), "runtime_error", "something new"),
    ],
    ids=lambda v: str(v)[:40],
)
def test_the_drivers_words_in_ours(error: Exception, status: str, words: str) -> None:
    explained = gpu._explain(error)
    assert explained.status == status
    assert words in explained.message
    assert str(error) in explained.detail


@pytest.mark.parametrize("grid", [(0,), (1, 70_000), (2**31,), (4, 0, 1)], ids=str)
def test_a_grid_that_no_gpu_takes(grid: tuple[int, ...]) -> None:
    with pytest.raises(gpu.GpuError, match="programs along axis"):
        gpu._check_grid(grid)
