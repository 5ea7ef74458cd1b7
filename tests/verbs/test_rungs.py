"""The comparison at the end of a notebook: bytes of every rung, films of those that are solved."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker import workspace
from checker.verbs import rungs as module
from checker.verbs.naming import Misuse
from checker.verbs.rungs import films, moved, rungs

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
    chunked, online = rungs(SIZES).rungs
    assert (chunked.predicted, chunked.counted, chunked.own) == (4 * MATRIX, 4 * MATRIX, False)
    assert (online.predicted, online.counted, online.own) == (3 * MATRIX, 3 * MATRIX, True)


def test_the_learners_own_kernel_is_the_one_that_is_counted(space):
    again = "        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)"
    solve(space, "online_softmax", again, f"{again}\n{again}")
    (online,) = rungs({"online_softmax": SIZES["online_softmax"]}).rungs
    assert online.counted == 4 * MATRIX
    assert online.predicted == 3 * MATRIX


def test_a_plot_says_which_rungs_are_the_courses(space):
    solve(space, "online_softmax")
    shown = rungs(SIZES)
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


@pytest.mark.parametrize("sizes", [{"no_such_puzzle": {}}, {"chunked_softmax": {"K": 3}}], ids=["puzzle", "size"])
@pytest.mark.parametrize("verb", ["rungs", "films"])
def test_what_does_not_exist_is_refused(space, verb, sizes):
    with pytest.raises(Misuse, match=r"no_such_puzzle|called K"):
        getattr(module, verb)(sizes)


def test_bytes_at_several_sizes_follow_from_the_tiles(space):
    """Queries outside: Q and O once, K and V once per tile of queries; keys outside as its budget says."""
    sizes = [{"N_Q": n, "N_KV": n, "D": 16, "BLOCK_M": 16, "BLOCK_N": 16} for n in (32, 48)]
    assert moved("flash_attention", sizes) == [4 * 16 * n * (2 + 2 * n // 16) for n in (32, 48)]
    tiles = [n // 16 for n in (32, 48)]
    assert moved("flash_attention_v1", sizes) == [
        4 * n * (16 * (2 + t) + (2 * t - 1) * 18) for n, t in zip((32, 48), tiles, strict=True)
    ]


def test_the_learners_own_kernel_is_moved(space):
    line = "        tl.store(y_row + offs_n, tl.exp(x - m_i) / l_i, mask=offs_n < N)"
    solve(space, "online_softmax", line, f"{line}\n{line}")
    assert moved("online_softmax", [SIZES["online_softmax"]]) == [4 * MATRIX]


def test_moved_refuses_what_does_not_exist(space):
    with pytest.raises(Misuse, match="no_such_puzzle"):
        moved("no_such_puzzle", [{}])
    with pytest.raises(Misuse, match="called K"):
        moved("chunked_softmax", [{"K": 3}])


@pytest.mark.gpu
def test_on_a_gpu_every_rung_is_timed(space):
    solve(space, "online_softmax")
    shown = rungs({name: {**sizes, "M": 1, "N": 1000, "BLOCK_N": 256} for name, sizes in SIZES.items()})
    assert all(rung.seconds and rung.seconds > 0 for rung in shown.rungs)
    assert all(rung.timed_bytes == rung.predicted * module.GPU_ROWS for rung in shown.rungs)
    assert "GB/s" in shown._repr_html_()
