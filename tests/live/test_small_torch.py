"""The small torch of the live page is as good as torch: every kernel gets the same card, word for word."""

from __future__ import annotations

import json

import pytest
import torch

from checker.live import small_torch
from tests.pure_triton.conftest import Run
from tools.site import LIVE

SMALL = small_torch.module()


def test_solution_and_some_wrong_kernels_get_the_same_verdicts(without_triton: Run) -> None:
    the_same_verdicts(without_triton, "quick")


def the_same_verdicts(without_triton: Run, share: str) -> None:
    small, real = (
        json.loads(without_triton("tests.live.verdicts", torch, share, *LIVE)) for torch in ("small", "real")
    )
    assert [real[puzzle][0] for puzzle in LIVE] == ["passed"] * len(LIVE)
    assert len(real) > 15
    assert small == real


def test_generators_draw_the_same_numbers() -> None:
    for seed in (0, 123_456_789, 2**33 + 7):
        for dtype in ("float32", "float64"):
            ours, own = SMALL.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
            for shape in ((3, 1), (15, 1), (16, 1), (17, 3), (100, 7)):
                for draw in ("rand", "randn"):
                    mine = getattr(SMALL, draw)(*shape, generator=ours, dtype=getattr(SMALL, dtype)).numpy()
                    theirs = getattr(torch, draw)(*shape, generator=own, dtype=getattr(torch, dtype)).numpy()
                    assert mine == pytest.approx(theirs, rel=1e-5 if dtype == "float32" else 1e-13), (seed, draw, shape)


@pytest.mark.parametrize(
    "expression",
    [
        "t.arange(5) / 2",
        "t.arange(5) * 0.5",
        "t.zeros(3, dtype=t.float16) + 1.5",
        "t.ones(3, dtype=t.float16) * t.tensor(2.0, dtype=t.float64)",
        "t.tensor([True, False]) + 1",
        "t.tensor([1.5, 2]) > 1",
        "t.where(t.arange(3) > 1, -t.inf, t.zeros(3, dtype=t.float64))",
        "t.full((2, 3), 7).sum(dim=-1)",
        "t.arange(6).reshape(2, 3).T.as_strided((3,), (2,))",
        "t.arange(12).view(3, 4)[1:, ::2].expand(2, 2, 2)",
        "t.tensor([[1.0, t.nan], [t.inf, 0.0]]).nan_to_num(posinf=0.0)",
        "t.arange(4, dtype=t.float32).to(t.bfloat16).view(t.int16)",
    ],
)
def test_types_values_and_strides_are_those_of_torch(expression: str) -> None:
    mine, theirs = eval(expression, {"t": SMALL}), eval(expression, {"t": torch})
    assert (str(mine.dtype), tuple(mine.shape)) == (str(theirs.dtype), tuple(theirs.shape))
    assert (mine.stride(), mine.storage_offset()) == (theirs.stride(), theirs.storage_offset())
    assert (
        mine.tolist() == pytest.approx(theirs.tolist(), nan_ok=True)
        if mine.ndim == 1
        else mine.tolist() == theirs.tolist()
    )
