"""The four kernels of the chunked delta rule together compute what the recurrent one does."""

from __future__ import annotations

import torch

from checker.course import delta_chunk_walk, delta_chunks, forgetting
from checker.puzzle import Case


def test_the_four_kernels_together_are_the_recurrence() -> None:
    for family in (forgetting.alike, forgetting.strengths, forgetting.mixed, forgetting.resets, forgetting.lengths):
        case = Case({"B": 1, "H": 2, "N": 45, "D": 16, "D_V": 16}, {"CHUNK": 16}, family=family, flags={"PAST": True})
        x, s0 = forgetting.drawn(case, unit=True), forgetting.past(case).double()
        t = delta_chunks.inverse(delta_chunks.matrix(x.k, x.g, x.beta, 16))
        u, w = delta_chunks.written(t, x.k, x.v, x.g, x.beta)
        inputs = {"q_ptr": x.q, "k_ptr": x.k, "u_ptr": u, "w_ptr": w, "g_ptr": x.g, "s0_ptr": s0}
        walked = delta_chunk_walk.reference(case, inputs)
        o, s = forgetting.recurrence(x.q, x.k, x.v, x.g, s0, x.beta)
        torch.testing.assert_close(walked, {"o_ptr": o, "s_ptr": s}, rtol=1e-9, atol=1e-9)
