"""What the compiler may do with the order of lanes, the simulator does."""

import pytest
import torch

from tests.simulator.launching import elementwise, kernel_of

HALVES = "first, last = tl.load(x_ptr + tl.arange(0, 8)), tl.load(x_ptr + 8 + tl.arange(0, 8))"


@pytest.mark.parametrize(
    "shuffled",
    [
        "tl.cat(first, last, can_reorder=True)",
        "tl.reshape(tl.reshape(x, (4, 4), can_reorder=True), (16,))",
        "tl.ravel(tl.reshape(x, (2, 8)), can_reorder=True)",
    ],
)
def test_lanes_that_may_be_reordered_change_their_places_and_stay_the_same_lanes(shuffled, tmp_path):
    """A kernel that relies on their order passes by luck; one that only adds them up is right."""
    x = torch.arange(16.0)
    in_order = elementwise(kernel_of(tmp_path, HALVES, f"tl.store(y_ptr + offs, {shuffled})"), x)
    assert not (in_order == x).any()
    assert sorted(in_order.tolist()) == x.tolist()
    total = elementwise(kernel_of(tmp_path, HALVES, f"tl.store(y_ptr + offs, tl.sum({shuffled}))"), x)
    assert (total == x.sum()).all()


def test_a_reshape_keeps_the_order_unless_it_may_not(tmp_path):
    x = torch.rand(16)
    kernel = kernel_of(tmp_path, "tl.store(y_ptr + offs, tl.reshape(tl.reshape(x, (4, 4)), (16,)))")
    assert torch.equal(elementwise(kernel, x), x)
