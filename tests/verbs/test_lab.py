"""The comparison at the end of a notebook: bytes of every rung, films of those that are solved."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from checker import lab, workspace
from checker.course import LADDER, PUZZLES
from checker.lab import bytes_moved, compare, errors, films, operations, relative_error, timed
from checker.submission.from_path import from_path
from checker.verbs.arguments import UsageError
from checker.verbs.bench import timed_launch
from tests.judge.helpers import solution

ROOT = Path(__file__).resolve().parents[2]
SIZES = {
    "chunked_softmax": {"M": 2, "N": 37, "BLOCK_N": 16},
    "online_softmax": {"M": 2, "N": 37, "BLOCK_N": 16},
}
MATRIX = 2 * 37 * 4  # bytes


@pytest.fixture
def space(tmp_path, monkeypatch):
    monkeypatch.setenv(workspace.HOME_VARIABLE, str(tmp_path))
    return workspace.find()


def solve(space, puzzle: str, old: str = "", new: str = "") -> None:
    """Keep the course's solution, changed where asked, as a kernel of the learner's that passed."""
    text = (ROOT / "solutions" / f"{puzzle}.py").read_text()
    assert old in text
    workspace.keep_copy(space.ours / "passed", puzzle, text.replace(old, new) if old else text)


def test_the_bytes_are_counted_and_those_predicted(space):
    solve(space, "online_softmax")
    chunked, online = compare(SIZES).kernels
    assert (chunked.predicted, chunked.counted, chunked.own) == (4 * MATRIX, 4 * MATRIX, False)
    assert (online.predicted, online.counted, online.own) == (3 * MATRIX, 3 * MATRIX, True)


def test_the_learners_own_kernel_is_the_one_that_is_counted(space):
    again = "        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)"
    solve(space, "online_softmax", again, f"{again}\n{again}")
    (online,) = compare({"online_softmax": SIZES["online_softmax"]}).kernels
    assert online.counted == 4 * MATRIX
    assert online.predicted == 3 * MATRIX


def test_a_plot_says_which_rungs_are_the_courses(space):
    solve(space, "online_softmax")
    shown = compare(SIZES)
    html = shown._repr_html_()
    assert "chunked_softmax *" in html
    assert "online_softmax *" not in html
    assert "the course's solution" in repr(shown)


def test_a_rung_that_is_not_solved_is_not_filmed(space, capsys):
    films({"chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}})
    assert "once your kernel has passed" in capsys.readouterr().out


def test_a_solved_rung_is_filmed(space, capsys):
    solve(space, "chunked_softmax")
    films({"chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}})
    assert "film of chunked_softmax" in capsys.readouterr().out


def test_a_kernel_that_no_longer_runs_gets_its_card(space, capsys):
    """A file in the folder of those that passed, changed by hand."""
    solve(space, "chunked_softmax", "l_i = 0.0", "l_i = tl.zeros((3,), tl.float32)")
    films({"chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}})
    shown = capsys.readouterr().out
    assert "film of" not in shown
    assert "Chunked softmax does not compile" in shown


def test_a_demonstration_is_filmed_and_counted_without_being_solved(space, capsys):
    films({"feature_slices": {"N": 5}})
    assert "film of feature_slices" in capsys.readouterr().out
    n, d, d_v, slices = 5, 8, 4, 2
    assert bytes_moved("feature_slices", [{"N": n}]) == [4 * n * (2 * d + slices * d_v + 2 * slices * (d_v + 1))]
    feature = 2 * 4 + 4 * d_v + 3  # φ of key and query, state and its share, z and its share
    per_program = 4 * feature + d_v + 1  # and the atomic additions
    assert operations("feature_slices", [{"N": n}]) == [n * slices * per_program]
    assert max(errors("feature_slices", [{"N": n}], output="den_ptr")) < 1e-6
    (rung,) = compare({"feature_slices": {}}).kernels
    assert "*" not in rung.label
    assert rung.counted == rung.predicted


def test_films_stand_beside_each_other_in_a_notebook(space, monkeypatch):
    """One output below the cell, and in it the demonstration's film and a sentence for what is not solved."""
    outputs = []
    monkeypatch.setattr(lab.display, "show", lambda thing: outputs.append(thing.html()))
    films({"feature_slices": {"N": 3}, "chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}}, beside=True)
    (html,) = outputs
    assert html.startswith('<div style="display:grid')
    assert html.count('class="tbt-film ') == 1
    assert "atomic update" in html
    assert html.index("tbt-film") < html.index("once your kernel has passed")


def test_films_beside_each_other_are_lines_in_a_terminal(space, capsys):
    names = {"feature_slices": {"N": 3}, "chunked_softmax": {"M": 2, "N": 7, "BLOCK_N": 4}}
    films(names, beside=True)
    first, second = capsys.readouterr().out.strip().splitlines()
    assert "film of feature_slices" in first
    assert "once your kernel has passed" in second


@pytest.mark.parametrize("sizes", [{"no_such_puzzle": {}}, {"chunked_softmax": {"K": 3}}], ids=["puzzle", "size"])
@pytest.mark.parametrize("verb", ["compare", "films"])
def test_what_does_not_exist_is_refused(space, verb, sizes):
    with pytest.raises(UsageError, match=r"no_such_puzzle|called K"):
        getattr(lab, verb)(sizes)


@pytest.mark.parametrize(
    ("verb", "arguments", "complaint"),
    [
        ("compare", [["linear_attention"]], "takes puzzles with their sizes"),
        ("films", [["linear_attention"]], "takes puzzles with their sizes"),
        ("compare", [{"linear_attention": {"D": 20}}], "D is 16, 32, 64 or 128, not 20"),
        ("films", [{"feature_slices": 3}], "and this is 3"),
        ("bytes_moved", ["linear_attention", {"N_Q": 16}], "takes a list of sizes, even for one"),
        ("operations", ["linear_attention", "N_Q"], "takes a list of sizes, even for one"),
        ("timed", ["linear_attention", ["N_Q"]], "this is 'N_Q'"),
        ("bytes_moved", ["linear_attention", [{"D": 20}]], "D is 16, 32, 64 or 128, not 20"),
        ("errors", ["linear_attention", [{"D": 20}]], "D is 16, 32, 64 or 128, not 20"),
        ("bytes_moved", ["causal_linear_attention_chunked", [{"CHUNK": 8}]], "CHUNK = 8 .* compiles for no GPU"),
        ("errors", ["linear_attention", [{"BLOCK_N": 8}]], "BLOCK_N = 8 .* compiles for no GPU"),
    ],
    ids=str,
)
def test_sizes_that_cannot_be_had_are_refused_in_words(space, verb, arguments, complaint):
    with pytest.raises(UsageError, match=complaint):
        getattr(lab, verb)(*arguments)


def test_small_tiles_that_compile_are_counted(space):
    """Queries in tiles of 8 are padded by the tensor cores; a recurrent kernel has no `tl.dot` at all."""
    assert bytes_moved("linear_attention", [{"BLOCK_M": 8}]) == bytes_moved("linear_attention", [{}])
    assert bytes_moved("causal_linear_attention", [{"BLOCK_V": 16}]) < bytes_moved(
        "causal_linear_attention", [{"BLOCK_V": 4}]
    )


def test_bytes_at_several_sizes_follow_from_the_tiles(space):
    """Queries outside: Q and O once, K and V once per tile of queries; keys outside as its budget says."""
    sizes = [{"N_Q": n, "N_KV": n, "D": 16, "BLOCK_M": 16, "BLOCK_N": 16} for n in (32, 48)]
    assert bytes_moved("flash_attention", sizes) == [4 * 16 * n * (2 + 2 * n // 16) for n in (32, 48)]
    tiles = [n // 16 for n in (32, 48)]
    assert bytes_moved("flash_attention_v1", sizes) == [
        4 * n * (16 * (2 + t) + (2 * t - 1) * 18) for n, t in zip((32, 48), tiles, strict=True)
    ]


def test_the_learners_own_kernel_is_moved(space):
    line = "        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)"
    solve(space, "online_softmax", line, f"{line}\n{line}")
    assert bytes_moved("online_softmax", [SIZES["online_softmax"]]) == [4 * MATRIX]


def test_moved_refuses_what_does_not_exist(space):
    with pytest.raises(UsageError, match="no_such_puzzle"):
        bytes_moved("no_such_puzzle", [{}])
    with pytest.raises(UsageError, match="called K"):
        bytes_moved("chunked_softmax", [{"K": 3}])


def test_work_is_that_of_dots_and_of_lanes(space):
    """Rows of 37 in tiles of 16: three steps each of 5 and then of 3 operations a lane, and per step 4 for the row itself."""
    assert operations("online_softmax", [SIZES["online_softmax"]]) == [2 * (3 * 16 * (4 + 3) + 3 * 5)]
    sizes = {"N_Q": 32, "N_KV": 48, "D": 16, "BLOCK_M": 16, "BLOCK_N": 16}
    pairs, tile = 2 * 3, 16 * 16
    dots, lanes = 2 * (2 * 16 * tile), 5 * tile + 16 * 5 + 16 * 16
    assert operations("flash_attention", [sizes]) == [pairs * (dots + lanes) + 2 * 16 * 16]


def test_an_error_is_that_of_the_whole_output(space):
    """The root mean square, against the reference from the rounded inputs: recomputed here from the kernel's own output."""
    sizes = [{"M": 3, "N": n, "BLOCK_N": 16} for n in (16, 50)]
    exact, coarse = errors("online_softmax", sizes), errors("online_softmax", sizes, dtype="bfloat16")
    assert all(0 < e < 1e-6 for e in exact)
    assert all(2**-11 < e < 2**-8 for e in coarse), "rounding the output to 8 bits of mantissa"


def test_an_error_is_relative_and_nothing_is_hidden():
    assert relative_error(torch.tensor([3.0, 5.0]), torch.tensor([3.0, 4.0])) == pytest.approx((1 / 25) ** 0.5)
    assert relative_error(torch.tensor([-torch.inf, 1.0]), torch.tensor([-torch.inf, 1.0])) == 0
    assert math.isnan(relative_error(torch.tensor([torch.nan, 1.0]), torch.tensor([1.0, 1.0])))
    assert relative_error(torch.zeros(2), torch.zeros(2)) == 0
    assert relative_error(torch.ones(2), torch.zeros(2)) == math.inf


def test_the_learners_own_kernel_is_the_one_with_the_error(space):
    solve(space, "online_softmax", "tl.exp(x - m_i) / l_i", "tl.exp(x - m_i) / l_i * 1.25")
    (error,) = errors("online_softmax", [SIZES["online_softmax"]])
    assert error == pytest.approx(0.25, rel=1e-5)


def test_flags_are_sizes_too(space):
    """Causal, only the tiles on and below the diagonal are needed: 3 of 4."""
    sizes = {"N_Q": 32, "N_KV": 32, "BLOCK_M": 16, "BLOCK_N": 16}
    whole, causal = (bytes_moved("flash_attention_heads", [{**sizes, "IS_CAUSAL": flag}])[0] for flag in (False, True))
    keys_and_values = 2 * 16 * 16 * 4  # bytes of one tile of each
    assert whole - causal == keys_and_values
    (error,) = errors("flash_attention_heads", [{**sizes, "IS_CAUSAL": False}], output="lse_ptr")
    assert error < 1e-3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dtype": "float64"}, "no 'float64' tensors. Its types are float32"),
        ({"output": "x_ptr"}, "no output called x_ptr. Its outputs are y_ptr"),
    ],
    ids=["dtype", "output"],
)
def test_errors_of_what_is_not_there_are_refused(space, arguments, words):
    with pytest.raises(UsageError, match=words):
        errors("online_softmax", [{}], **arguments)


def test_a_kernel_that_does_not_run_says_so(space):
    solve(space, "online_softmax", "l_i = 0.0", "l_i = tl.zeros((3,), tl.float32)")
    with pytest.raises(UsageError, match="online_softmax_kernel did not run at M = 2, N = 37"):
        operations("online_softmax", [SIZES["online_softmax"]])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here, and the times are tested below")
def test_without_a_gpu_nothing_is_timed_and_sizes_are_read_all_the_same(space):
    assert timed("online_softmax", [{}]) is None
    with pytest.raises(UsageError, match="called K"):
        timed("online_softmax", [{"K": 1}])
    with pytest.raises(UsageError, match="float64"):
        timed("online_softmax", [{}], dtype="float64")


@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_what_is_timed_has_work_for_every_multiprocessor(puzzle):
    """The outermost size is made larger, and with it the grid."""
    case = puzzle.film.case
    times = lab.growth([puzzle], [case], "")
    name, large = lab.grown(case, "", times)
    assert large.sizes[name] == times * case.sizes[name]
    programs, tensors = launched(puzzle, large)
    assert programs >= 1024
    assert max(tensors) <= lab.LARGEST


def launched(puzzle, case) -> tuple[int, list[int]]:
    launch = timed_launch(puzzle, solution(puzzle.name), case)
    return math.prod(launch.grid), [t.numel() for t in launch.arguments.values() if isinstance(t, torch.Tensor)]


def test_all_rungs_grow_as_much_and_as_asked():
    puzzles = [PUZZLES["flash_attention_heads"], PUZZLES["flash_attention_v1"]]
    small = [puzzle.film.case for puzzle in puzzles]
    wide = [small[0], replace(small[1], sizes={**small[1].sizes, "N_Q": 1 << 14})]
    assert lab.growth(puzzles, small, "N_KV") == lab.GROWN
    times = lab.growth(puzzles, wide, "N_KV")
    assert times == lab.LARGEST // (16 << 14)
    assert lab.grown(wide[1], "N_KV", times)[1].sizes == {"H": 1, "N_Q": 1 << 14, "N_KV": 64 * times, "D": 16}
    with pytest.raises(UsageError, match=r"flash_attention_v1 has no size B to grow\. Its sizes are H, N_Q, N_KV, D"):
        lab.growth(puzzles, small, "B")


def test_a_kernel_is_timed_in_its_own_configuration_except_for_what_is_named(tmp_path):
    text = (ROOT / "solutions" / "online_softmax.py").read_text()
    configs = "@triton.autotune([triton.Config({'BLOCK_N': 64}, num_warps=8)], key=['N'])\n@triton.jit"
    (tmp_path / "online_softmax.py").write_text(text.replace("@triton.jit", configs))
    puzzle = PUZZLES["online_softmax"]
    source = from_path(tmp_path / "online_softmax.py", [puzzle])[0].source
    free, named = (timed_launch(puzzle, source, puzzle.film.case, names) for names in ((), ("BLOCK_N",)))
    assert (free.meta["BLOCK_N"], named.meta["BLOCK_N"]) == (64, puzzle.film.case.meta["BLOCK_N"])
    assert free.options["num_warps"] == named.options["num_warps"] == 8


@pytest.mark.gpu
def test_on_a_gpu_every_rung_is_timed(space):
    solve(space, "online_softmax")
    shown = compare({name: {**sizes, "M": 1, "N": 1000, "BLOCK_N": 256} for name, sizes in SIZES.items()})
    assert all(rung.seconds and rung.seconds > 0 for rung in shown.kernels)
    assert all(rung.timed_bytes == rung.predicted * lab.GROWN for rung in shown.kernels)
    assert "GB/s" in shown._repr_html_()
    assert "with M = 4,096" in shown._repr_html_()


@pytest.mark.gpu
@pytest.mark.parametrize("puzzle", LADDER, ids=lambda p: p.name)
def test_on_a_gpu_every_puzzle_can_be_a_rung(space, puzzle):
    (rung,) = compare({puzzle.name: {}}).kernels
    assert rung.seconds
    assert rung.seconds > 0
    assert rung.grown == next(iter(puzzle.film.case.sizes))


@pytest.mark.gpu
def test_on_a_gpu_more_keys_take_longer(space):
    sizes = [{"N_Q": 4096, "N_KV": n, "D": 64, "BLOCK_M": 64, "BLOCK_N": 64} for n in (1024, 16384)]
    short, long = timed("flash_attention", sizes, dtype="float16")
    assert 0 < short < long
