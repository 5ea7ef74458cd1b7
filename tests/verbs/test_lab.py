"""What notebook cells use besides the verbs: comparisons, films, figures, pipelines, and kernels to call."""

from __future__ import annotations

import math

import pytest
import torch
import triton
import triton.language as tl

from checker import gpu, lab
from checker.lab import bytes_moved, compare, errors, films, operations, relative_error, timed
from checker.verbs.arguments import UnavailableHere, UsageError

ONLINE = [{"M": 2, "N": 37, "BLOCK_N": 16}]
SIZES = {"chunked_softmax": ONLINE[0], "online_softmax": ONLINE[0]}
SMALL = {"chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}}
MATRIX = 2 * 37 * 4  # bytes
STORE = "        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)"

pytestmark = pytest.mark.usefixtures("space")


class TestCompare:
    def test_bytes_are_predicted_and_counted_and_the_courses_kernels_marked(self, solve):
        solve("online_softmax")
        result = compare(SIZES)
        chunked, online = result.kernels
        assert (chunked.predicted, chunked.counted, chunked.own) == (4 * MATRIX, 4 * MATRIX, False)
        assert (online.predicted, online.counted, online.own) == (3 * MATRIX, 3 * MATRIX, True)
        assert "chunked_softmax *" in result._repr_html_()
        assert "online_softmax *" not in result._repr_html_()
        assert "the course's solution" in repr(result)

    def test_the_learners_own_kernel_is_counted(self, solve):
        solve("online_softmax", STORE, f"{STORE}\n{STORE}")
        (online,) = compare({"online_softmax": SIZES["online_softmax"]}).kernels
        assert (online.predicted, online.counted) == (3 * MATRIX, 4 * MATRIX)
        assert bytes_moved("online_softmax", ONLINE) == [4 * MATRIX]


class TestFilms:
    @pytest.fixture
    def outputs(self, monkeypatch):
        """The HTML of everything that is shown."""
        outputs = []
        monkeypatch.setattr(lab.display, "show", lambda thing: outputs.append(thing.html()))
        return outputs

    def test_only_solved_puzzles_are_filmed(self, solve, capsys):
        films(SMALL)
        assert "once your kernel has passed" in capsys.readouterr().out
        solve("chunked_softmax")
        films(SMALL)
        assert "film of chunked_softmax" in capsys.readouterr().out

    def test_a_kernel_that_no_longer_runs_gets_its_card(self, solve, capsys):
        solve("chunked_softmax", "l_i = 0.0", "l_i = tl.zeros((3,), tl.float32)")
        films(SMALL)
        shown = capsys.readouterr().out
        assert "film of" not in shown
        assert "Chunked softmax does not compile" in shown

    def test_films_side_by_side_are_one_output_in_a_notebook(self, outputs):
        films({"feature_slices": {"N": 3}, **SMALL}, together=True)
        (html,) = outputs
        assert html.startswith('<div class="tbt-linked"')
        assert html.count('class="tbt-film"') == 1
        assert "atomic update" in html
        assert html.index("tbt-film") < html.index("once your kernel has passed")

    def test_a_wrong_kernel_plays_together_with_the_learners(self, solve, outputs):
        solve("online_softmax")
        sizes = {"N": 6, "BLOCK_N": 4}
        films({"chunked_softmax/chunk_local_max": sizes, "online_softmax": sizes}, together=True)
        (html,) = outputs
        assert 'class="tbt-linked"' in html
        assert html.count('class="tbt-film') == 2
        assert html.count('class="verdict"') == 1, "the mistake does not pass"
        assert html.count("float32, ascending rows") >= 2, "both kernels work on the same row"
        with pytest.raises(
            UsageError, match=r"no wrong kernel called nothing_wrong. Its wrong kernels are .*chunk_local_max"
        ):
            films({"chunked_softmax/nothing_wrong": sizes})


class TestFigures:
    def test_the_picture_of_memories_marks_a_kernels_bytes(self):
        assert "HBM: 80 GB, 3.35 TB/s, 834 cycles away" in lab.memory_hierarchy().alt
        alt = lab.memory_hierarchy("row_softmax", {"M": 1 << 20, "N": 4096, "BLOCK_N": 4096}).alt
        assert "one program loads: 16,384 B." in alt
        assert "all tensors: 34.4 GB." in alt
        assert "At HBM's bandwidth that takes 10.26 ms." in alt

    def test_a_demonstration_is_filmed_and_counted_without_being_solved(self, capsys):
        films({"feature_slices": {"N": 5}})
        assert "film of feature_slices" in capsys.readouterr().out
        n, d, d_v, slices = 5, 8, 4, 2
        assert bytes_moved("feature_slices", [{"N": n}]) == [4 * n * (2 * d + slices * d_v + 2 * slices * (d_v + 1))]
        feature = 2 * 4 + 4 * d_v + 3  # φ of key and query, state and its share, z and its share
        per_program = 4 * feature + d_v + 1  # and the atomic additions
        assert operations("feature_slices", [{"N": n}]) == [n * slices * per_program]
        assert max(errors("feature_slices", [{"N": n}], output="den_ptr")) < 1e-6
        (kernel,) = compare({"feature_slices": {}}).kernels
        assert "*" not in kernel.label
        assert kernel.counted == kernel.predicted

    def test_bytes_at_several_sizes_follow_from_the_tiles(self):
        """Queries outside: Q and O once, K and V once per tile of queries; keys outside as its budget says."""
        sizes = [{"N_Q": n, "N_KV": n, "D": 16, "BLOCK_M": 16, "BLOCK_N": 16} for n in (32, 48)]
        assert bytes_moved("flash_attention", sizes) == [4 * 16 * n * (2 + 2 * n // 16) for n in (32, 48)]
        tiles = [n // 16 for n in (32, 48)]
        expected = [4 * n * (16 * (2 + t) + (2 * t - 1) * 18) for n, t in zip((32, 48), tiles, strict=True)]
        assert bytes_moved("flash_attention_v1", sizes) == expected

    def test_operations_of_dots_and_of_lanes_are_counted(self):
        """Rows of 37 in tiles of 16: three steps each of 5 and then of 3 operations a lane, and per step 4 for the row itself."""
        assert operations("online_softmax", ONLINE) == [2 * (3 * 16 * (4 + 3) + 3 * 5)]
        sizes = {"N_Q": 32, "N_KV": 48, "D": 16, "BLOCK_M": 16, "BLOCK_N": 16}
        pairs, tile = 2 * 3, 16 * 16
        dots, lanes = 2 * (2 * 16 * tile), 5 * tile + 16 * 5 + 16 * 16
        assert operations("flash_attention", [sizes]) == [pairs * (dots + lanes) + 2 * 16 * 16]

    def test_an_error_is_relative_and_hides_no_nan(self):
        one, inf, nan = torch.ones(2), torch.inf, torch.nan
        assert relative_error(torch.tensor([3.0, 5.0]), torch.tensor([3.0, 4.0])) == pytest.approx((1 / 25) ** 0.5)
        assert relative_error(torch.tensor([-inf, 1.0]), torch.tensor([-inf, 1.0])) == 0
        assert math.isnan(relative_error(torch.tensor([nan, 1.0]), one))
        assert relative_error(torch.zeros(2), torch.zeros(2)) == 0
        assert relative_error(one, torch.zeros(2)) == inf

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here, and the times are tested below")
    def test_without_a_gpu_nothing_is_timed_but_sizes_are_checked(self):
        assert timed("online_softmax", [{}]) is None
        with pytest.raises(UsageError, match="called K"):
            timed("online_softmax", [{"K": 1}])

    def test_any_kernel_is_compiled_for_a_gpu_that_is_not_here(self):
        @triton.jit
        def copy(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
            lanes = tl.arange(0, BLOCK_N)
            tl.store(y_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < N), mask=lanes < N)

        row = torch.empty(1)
        arguments = {"x_ptr": row, "y_ptr": row, "N": 100}
        made = lab.compile_for("H100", copy, arguments, {"BLOCK_N": 128}, num_warps=2)
        assert made.ok
        assert (made.facts["num_warps"], made.facts["spilled_bytes"]) == (2, 0)
        with pytest.raises(UsageError, match="no GPU called H1000"):
            lab.compile_for("H1000", copy, arguments, {"BLOCK_N": 128})


@pytest.mark.parametrize(
    ("function", "arguments", "complaint"),
    [
        ("compare", [{"no_such_puzzle": {}}], "no_such_puzzle"),
        ("compare", [{"chunked_softmax": {"K": 3}}], "called K"),
        ("films", [{"chunked_softmax": {"K": 3}}], "called K"),
        (
            "compare",
            [["linear_attention"]],
            r"takes puzzles with their sizes, as in compare\({'vector_add': {'N': 10}}\)",
        ),
        ("compare", [{"linear_attention": {"D": 20}}], "D is 16, 32, 64 or 128, not 20"),
        ("films", [{"feature_slices": 3}], "not as 3"),
        ("bytes_moved", ["linear_attention", {"N_Q": 16}], "takes a list of sizes, even for one"),
        ("timed", ["linear_attention", ["N_Q"]], "not as 'N_Q'"),
        ("timed", ["online_softmax", [{}], "float64"], "no 'float64' tensors"),
        (
            "bytes_moved",
            ["causal_linear_attention_chunked", [{"CHUNK": 8}]],
            "CHUNK = 8, .* does not compile for any GPU",
        ),
        ("errors", ["online_softmax", [{}], "", "x_ptr"], "no output called x_ptr. Its outputs are y_ptr"),
        ("pipeline", ["no_such_pipeline"], "no pipeline called no_such_pipeline. The pipelines are causal_linear"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_with_an_explanation(function, arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        getattr(lab, function)(*arguments)


def test_a_kernel_that_does_not_run_says_so(solve):
    solve("online_softmax", "l_i = 0.0", "l_i = tl.zeros((3,), tl.float32)")
    with pytest.raises(UsageError, match="online_softmax_kernel did not run at M = 2, N = 37"):
        operations("online_softmax", ONLINE)


def pipeline(*arguments, **sizes):
    return lab.pipeline("causal_linear_attention", *arguments, **sizes)


class TestPipeline:
    def test_it_is_close_to_float64(self):
        for dtype, tolerance in (("float32", 2e-3), ("float16", 2e-3), ("bfloat16", 1e-2)):
            result = pipeline(dtype, N=75, PAST=9)
            kernels = ["linear_chunk_states", *["linear_state_prefix"] * 2, "causal_linear_attention_parallel"]
            assert [step.puzzle for step in result.steps] == kernels
            assert set(result.errors) == {"o_ptr", "s_ptr", "z_ptr"}
            assert 0 < max(result.errors.values()) < tolerance

    def test_programs_and_bytes_of_each_launch_are_counted(self):
        """Two heads, 40 tokens in 3 chunks, D = 16, D_V = 24 in two slices, float32."""
        result = pipeline(N=40)
        assert [step.programs for step in result.steps] == [3 * 2 * 2, 6 * 2, 1 * 2, 3 * 2 * 2]
        k, v, s, z = 2 * 40 * 16 * 4, 2 * 40 * 24 * 4, 2 * 3 * 16 * 24 * 4, 2 * 3 * 16 * 4
        moved = [2 * k + v + s + z, 2 * s + 2 * s // 3, 2 * z + 2 * z // 3, 4 * k + 2 * v + s + 2 * z]
        assert [step.moved for step in result.steps] == moved
        assert result.moved == sum(moved)

    def test_the_learners_own_kernels_run_and_the_rest_is_marked(self, solve):
        """The prefix is wrong on purpose, to see that the next kernel uses its output."""
        solve("linear_state_prefix", "state += tl.load", "state -= tl.load")
        result = pipeline(N=40)
        assert [step.own for step in result.steps] == [False, True, True, False]
        assert min(result.errors.values()) > 0.1
        assert "linear_chunk_states *" in result._repr_html_()
        assert "linear_state_prefix *" not in result._repr_html_()
        assert "would be 4." in result._repr_html_()
        assert repr(result).startswith("<three kernels in four launches, ")
        assert "the course's solution" in repr(result)

    def test_a_kernel_runs_in_its_own_configuration_unless_a_tile_is_named(self, solve):
        tuned = '@triton.autotune(configs=[triton.Config({"BLOCK_SIZE": 128}, num_warps=4)], key=[])\n@triton.jit'
        solve("linear_state_prefix", "@triton.jit", tuned)
        assert [step.programs for step in pipeline(N=40).steps[1:3]] == [3 * 2, 1 * 2]
        assert [step.programs for step in pipeline(N=40, BLOCK_SIZE=32).steps[1:3]] == [12 * 2, 1 * 2]

    def test_bad_arguments_are_refused(self):
        for arguments, complaint in (
            ({"M": 3}, "pipeline has no size called M"),
            ({"N": 0}, "N must be a whole number"),
            ({"D": 48}, "D is 16, 32, 64 or 128, not 48"),
            ({"CHUNK": 24}, "power of two"),
            ({"N": 10_000_000}, "480,000,000 numbers"),
            ({"CHUNK": 8}, "at least 16"),
            ({"PAST": -1}, "cannot be -1"),
            ({"dtype": "float64"}, "no 'float64' tensors"),
        ):
            with pytest.raises(UsageError, match=complaint):
                pipeline(**arguments)


def test_the_card_of_a_wrong_kernel_is_shown_and_is_no_attempt(capsys):
    lab.card("row_softmax/not_normalised")
    assert "known mistake: not normalised" in " ".join(capsys.readouterr().out.split())
    assert not list(lab.workspace.find().ours.glob("passed/*"))
    with pytest.raises(UsageError, match="no wrong kernel called unheard_of"):
        lab.card("row_softmax/unheard_of")


class TestKernels:
    X = torch.randn(3, 7, generator=torch.Generator().manual_seed(1))

    def given(self):
        return {"x_ptr": self.X, "y_ptr": torch.full((3, 9), torch.nan)[:, :7]}

    def test_a_kernel_can_be_called_repeatedly_on_any_tensors(self, solve):
        solve("row_softmax")
        with lab.kernels("row_softmax", "chunked_softmax", device="cpu") as run:
            assert run.not_solved == ["chunked_softmax"]
            for more in (0.0, 1.0):
                given = self.given() | {"x_ptr": self.X + more}
                after = run("row_softmax", given, M=3, N=7, BLOCK_N=8)
                torch.testing.assert_close(after["y_ptr"], torch.softmax(self.X, dim=-1))
                assert given["y_ptr"].isnan().all(), "the caller's tensors stay as they were"
            after = run("chunked_softmax", self.given(), M=3, N=7, BLOCK_N=4)
            torch.testing.assert_close(after["y_ptr"], torch.softmax(self.X, dim=-1))

    def test_the_next_launch_runs_after_one_that_failed(self, solve):
        line = "    offs_n = tl.arange(0, BLOCK_N)\n"
        solve("row_softmax", line, line + "    tl.static_assert(BLOCK_N < 16)\n")
        with lab.kernels("row_softmax", device="cpu") as run:
            with pytest.raises(UsageError, match="row_softmax_kernel did not run"):
                run("row_softmax", self.given(), M=3, N=7, BLOCK_N=16)
            after = run("row_softmax", self.given(), M=3, N=7, BLOCK_N=8)
        torch.testing.assert_close(after["y_ptr"], torch.softmax(self.X, dim=-1))

    def test_calls_that_cannot_work_say_why(self):
        with lab.kernels("row_softmax", device="cpu") as run:
            with pytest.raises(UsageError, match="needs y_ptr as well"):
                run("row_softmax", {"x_ptr": self.X}, M=3, N=7, BLOCK_N=8)
            with pytest.raises(UsageError, match="not among these kernels: row_softmax"):
                run("online_softmax", self.given(), M=3, N=7, BLOCK_N=8)
            with pytest.raises(UsageError, match="no size"):
                run("row_softmax", self.given(), M=3, N=7, BLOCK_S=8)
        with pytest.raises(UsageError, match="order must be"):
            lab.kernels("row_softmax", order="backwards")
        with pytest.raises(UsageError, match="device must be"):
            lab.kernels("row_softmax", device="tpu")
        if not gpu.available():
            with pytest.raises(UnavailableHere):
                lab.kernels("row_softmax", device="cuda")
