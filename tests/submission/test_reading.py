"""Kernels from files and from live functions: the same source, the learner's own lines, and no file that stops the rest."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from checker.course import PUZZLES
from checker.submission.from_function import SubmissionError, from_function
from checker.submission.from_path import SubmittedKernel, from_path
from checker.submission.load import load_kernel
from checker.submission.reader import Reader
from checker.submission.rules import is_untouched, violations

ROOT = Path(__file__).parents[2]
PUZZLE = PUZZLES["row_softmax"]
SOLUTION = (ROOT / "solutions/row_softmax.py").read_text()
DEFINITION = SOLUTION[SOLUTION.index("@triton.jit") :]
SIGNATURE = "x_ptr, y_ptr, stride_xm, stride_ym, N, BLOCK_N: tl.constexpr"

WITH_HELPER = f"""import math
import triton
from triton import language as T, jit
import numpy as np
LOG2E: T.constexpr = T.constexpr(1.44269504)  # log2(e)


def unrelated():
    raise SystemExit("never run")


@jit
def helper(x):
    # a comment that stays
    return x * LOG2E


@triton.autotune(configs=[triton.Config({{"BLOCK_N": 128}}, num_warps=8), triton.Config({{"BLOCK_N": 2 ** 8}}, num_stages=3)], key=["N"])
@triton.jit
def row_softmax_kernel({SIGNATURE.replace("tl.", "T.")}):
    x = T.load(x_ptr)
    T.store(y_ptr, helper(x))
    # the end


row_softmax_kernel[(1,)]()
raise SystemExit("never run")
"""


def notebook(*cells: str, kind: str = "code") -> str:
    listed = [
        {"cell_type": kind, "source": cell.splitlines(keepends=True), "metadata": {}, "outputs": []} for cell in cells
    ]
    return json.dumps({"cells": listed, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def only(path: Path) -> SubmittedKernel:
    (found,) = from_path(path, PUZZLES)
    return found


def live(path: Path, name: str = "row_softmax_kernel") -> Any:
    spec = importlib.util.spec_from_file_location(f"live_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def test_file_is_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(WITH_HELPER)
    found = only(tmp_path)
    assert (found.submission, found.puzzle, found.error) == ("mine.py", "row_softmax", "")
    source = found.source
    assert source is not None
    assert [(dict(c.meta), dict(c.options)) for c in source.configs] == [
        ({"BLOCK_N": 128}, {"num_warps": 8}),
        ({"BLOCK_N": 256}, {"num_stages": 3}),
    ]
    assert violations(source, PUZZLE) == []
    for text in ("# a comment that stays", "# the end", "def helper(x):", "# log2(e)"):
        assert text in source.source
    for text in ("autotune", "numpy", "SystemExit", "math"):
        assert text not in source.source
    for number, line in enumerate(source.source.split("\n"), start=1):
        if line.strip() and "import" not in line and line != "@triton.jit":
            origin, own = source.locate(number)
            assert (origin, own, WITH_HELPER.split("\n")[own - 1]) == ("mine.py", number, line)
    kernel = load_kernel(source, tmp_path)
    assert kernel.arg_names == list(PUZZLE.parameters)


def test_live_function_and_file_give_the_same_source(tmp_path: Path) -> None:
    path = tmp_path / "same.py"
    path.write_text(WITH_HELPER[: WITH_HELPER.index("row_softmax_kernel[")])
    from_file = only(path).source
    from_live = from_function(live(path))
    assert from_file is not None
    assert (from_live.source, from_live.configs, from_live.problems) == (from_file.source, from_file.configs, ())


def test_every_solution_keeps_the_rules_and_survives_reading_and_loading(tmp_path: Path) -> None:
    solutions = list((ROOT / "solutions").glob("*.py"))
    assert len(solutions) == len(PUZZLES)
    for path in solutions:
        found = only(path)
        assert found.source is not None
        puzzle = PUZZLES[str(found.puzzle)]
        assert violations(found.source, puzzle) == []
        assert not is_untouched(found.source)
        assert load_kernel(found.source, tmp_path).arg_names == list(puzzle.parameters)


def test_notebook_takes_the_last_definition_and_steps_over_magics(tmp_path: Path) -> None:
    first = DEFINITION.replace("other=float", "other=-float")
    text = notebook(
        "%matplotlib inline\nimport triton\nimport triton.language as tl\n!pip list\nfiles = !ls\ntl.load?",
        "%%bash\nrm -rf nothing",
        first,
        "this is not ( python",
        "%%time\n" + DEFINITION,
        "check(row_softmax_kernel)",
    )
    (tmp_path / "01.ipynb").write_text(text)
    source = only(tmp_path).source
    assert source is not None
    assert "other=float" in source.source
    line = next(i for i, t in enumerate(source.source.split("\n"), 1) if "def row_softmax_kernel" in t)
    assert source.locate(line) == ("01.ipynb, cell 5", 3)


def test_broken_last_definition_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "01.ipynb").write_text(notebook(DEFINITION, DEFINITION + "    x = = 1\n"))
    found = only(tmp_path)
    assert (found.source, found.reason, found.origin) == (None, "syntax", "01.ipynb, cell 2")
    assert found.line == DEFINITION.count("\n") + 1


def test_folder_is_sorted_and_what_is_hidden_is_skipped(tmp_path: Path) -> None:
    for name in ("b/two.py", "a.py", ".hidden.py", ".ipynb_checkpoints/c.py", "__MACOSX/d.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SOLUTION)
    assert [f.submission for f in from_path(tmp_path, PUZZLES)] == ["a.py", "b/two.py"]


BAD_FILES = {
    "undecodable.py": (b"\xff\xfe\x00x", "undecodable"),
    "syntax.py": (b"def f(:\n", "syntax"),
    "empty.py": (b"", "no_kernel"),
    "other.py": (b"import triton\n@triton.jit\ndef foo(x):\n    pass\n", "no_kernel"),
    "large.py": (b"#" * (2 * 2**20 + 1), "too_large"),
    "not_json.ipynb": (b"{", "unreadable"),
    "reassigned.py": (SOLUTION.encode() + b"\nrow_softmax_kernel = print\n", "not_a_function"),
}


def test_bad_files_are_reported_and_stop_nothing(tmp_path: Path) -> None:
    for name, (data, _) in BAD_FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "zz_good.py").write_text(SOLUTION)
    (tmp_path / "link.py").symlink_to(tmp_path / "zz_good.py")
    found = {f.submission: f for f in from_path(tmp_path, PUZZLES)}
    assert {name: f.reason for name, f in found.items()} == {n: r for n, (_, r) in BAD_FILES.items()} | {
        "zz_good.py": "",
        "link.py": "unsafe",
    }
    assert found["zz_good.py"].source is not None
    assert all(f.error for n, f in found.items() if n != "zz_good.py")


PROBLEMS = {
    "numpy": ("import numpy as np", "    np.exp(1)", "names", "np"),
    "plain_helper": ("def f(x):\n    return x", "    f(1)", "helpers", "@triton.jit"),
    "libdevice": ("from triton.language.extra import libdevice", "    y = libdevice.j0(1.0)", "names", "libdevice"),
    "autotune_value": (
        "@triton.autotune(configs=[triton.Config({'BLOCK_N': int('3')})], key=[])",
        "    pass",
        "autotune",
        "literal",
    ),
    "heuristics": ("@triton.heuristics({})", "    pass", "decorators", "heuristics"),
    "jit_arguments": ("@triton.jit(noinline=True)", "    pass", "decorators", "plain @triton.jit"),
}


def test_rules_hold_around_the_kernel(tmp_path: Path) -> None:
    for name, (above, body, rule, word) in PROBLEMS.items():
        jit = "" if above.startswith("@triton.jit") else "@triton.jit\n"
        text = (
            f"import triton\nimport triton.language as tl\n{above}\n{jit}def row_softmax_kernel({SIGNATURE}):\n{body}\n"
        )
        (tmp_path / "k.py").write_text(text)
        source = only(tmp_path / "k.py").source
        assert source is not None, name
        found = violations(source, PUZZLE)
        assert any(v.rule == rule and word in v.message for v in found), name
        assert all(v.origin == "k.py" and 1 <= v.line <= text.count("\n") for v in found), name


def test_a_kernel_without_jit_is_told_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(SOLUTION.replace("@triton.jit\n", ""))
    with pytest.raises(SubmissionError, match=r"@triton\.jit on the line above"):
        from_function(live(path))
    source = only(path).source
    assert source is not None
    assert "decorators" in {v.rule for v in violations(source, PUZZLE)}


NO_KERNEL: dict[str, tuple[object, str]] = {
    "nothing": (None, r"^check needs a kernel: check\(row_softmax_kernel\)"),
    "a_number": (3, r"this is 3 \(int\)"),
    "a_class": (dict, "this is the class dict"),
    "a_lambda": (lambda grid: grid, "A kernel with a grid in brackets"),
    "a_function": (print, "print is an ordinary Python function"),
}


def test_what_is_not_a_kernel_is_said() -> None:
    for thing, words in NO_KERNEL.values():
        with pytest.raises(SubmissionError, match=words):
            from_function(thing)


def test_a_kernel_that_no_puzzle_asks_for_is_said(tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text(SOLUTION.replace("row_softmax_kernel", "row_sofmax_kernel"))
    with pytest.raises(SubmissionError, match=r"called row_sofmax_kernel\. Did you mean row_softmax_kernel\?"):
        from_function(live(path, "row_sofmax_kernel"))


def test_cells_of_a_session_give_their_number() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell("%who\nimport triton, triton.language as tl\nSCALE = tl.constexpr(2.0)", store_history=True)
        shell.run_cell("@triton.jit\ndef helper(x):\n    return x * SCALE", store_history=True)
        shell.run_cell(
            f"# mine\n@triton.jit\ndef row_softmax_kernel({SIGNATURE}):\n    tl.store(y_ptr, helper(1.0))",
            store_history=True,
        )
        count = shell.execution_count - 1
        source = from_function(shell.user_ns["row_softmax_kernel"])
    finally:
        InteractiveShell.clear_instance()
    assert violations(source, PUZZLE) == []
    lines = {text: source.locate(n) for n, text in enumerate(source.source.split("\n"), 1)}
    assert source.source.split("\n")[3] == "    tl.store(y_ptr, helper(1.0))", "line 4 is the learner's line 4"
    assert lines["    tl.store(y_ptr, helper(1.0))"] == (f"In[{count}]", 4)
    assert lines["    return x * SCALE"] == (f"In[{count - 1}]", 3)
    assert lines["SCALE = tl.constexpr(2.0)"] == (f"In[{count - 2}]", 3)


def test_a_kernel_that_a_notebook_writes_to_a_file_was_handed_in(tmp_path: Path) -> None:
    for magic, found in (
        ("%%writefile kernel.py", True),
        ("%%file -a 'my kernel.py'", True),
        ("%%writefile k.txt", False),
    ):
        cell = {
            "cell_type": "code",
            "source": f"{magic}\nimport triton\n\n\n@triton.jit\ndef vector_add_kernel(x):\n    pass\n",
        }
        (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
        with Reader() as reader:
            (inner,) = reader.read("a.ipynb", (tmp_path / "a.ipynb").read_bytes(), {"vector_add_kernel": "vector_add"})
        assert (inner.found[0].source is not None) == found, magic
        if inner.found[0].source is not None:
            assert inner.found[0].source.first_line == 5


def test_configurations_may_come_from_a_comprehension(tmp_path: Path) -> None:
    def read(configs: str) -> SubmittedKernel:
        source = SOLUTION.replace("@triton.jit", f"@triton.autotune(configs={configs}, key=[])\n@triton.jit")
        with Reader() as reader:
            (inner,) = reader.read("a.py", source.encode(), {PUZZLE.kernel: PUZZLE.name})
        return inner.found[0]

    config = 'triton.Config({"BLOCK_N": 2 * b}, num_warps=w)'
    source = read(f"[{config} for b in (64, 128) for w in [4, 8]]").source
    assert source is not None
    assert source.problems == ()
    tuned = [(one.meta["BLOCK_N"], one.options["num_warps"]) for one in source.configs]
    assert tuned == [(128, 4), (128, 8), (256, 4), (256, 8)]
    for configs in (
        f"[{config} for b in range(9) for w in [4]]",
        f"[{config} for b in (64, 128) for w in [4] if b > w]",
        f"[{config} for b in ({'8, ' * 33}) for w in [4, 8]]",
        f"[{config} for b in (open('x'),) for w in [4]]",
        f"[{config} for b in (True,) for w in [True]]",
    ):
        source = read(configs).source
        assert source is not None
        assert [problem.rule for problem in source.problems] == ["autotune"], configs
