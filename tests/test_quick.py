"""The quick checks: near tests first, a clock that stops them, nothing left out in silence."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tools import quick


def test_the_tests_of_a_room_come_before_those_of_the_rooms_that_import_it() -> None:
    rooms = [Path(test).parts[1] for test in quick.tests_for(["checker/judge/values_gate.py"])]
    order = list(dict.fromkeys(rooms))
    assert order[0] == "judge"
    assert order.index("sandbox") < order.index("grading")
    assert "simulator" not in order, "the simulator does not import the judge"


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("README.md", "tests/test_setup.py"),
        ("docs/decisions.md", "tests/notebooks/test_text.py"),
        ("notebooks/src/01_row_softmax.md", "tests/test_sync.py"),
        ("tools/sync.py", "tests/test_sync.py"),
        ("tests/test_first_cell.py", "tests/test_first_cell.py"),
        ("checker/cli.py", "tests/test_cli.py"),
    ],
)
def test_what_a_file_is_tested_by(file: str, test: str) -> None:
    assert test in quick.tests_for([file])


def test_every_test_that_it_names_exists() -> None:
    named = [quick.KILLS, *(t for tests in (*quick.TESTS_OF.values(), *quick.ELSEWHERE.values()) for t in tests)]
    assert [test for test in named if not (quick.ROOT / test).is_file()] == []


def run(tmp_path: Path, **environment: str) -> str:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('name', ['add', 'softmax', *range(18)])\ndef test_it(name):\n    pass\n"
    )
    command = [*quick.run_of("-vv", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path))]
    ran = subprocess.run(
        command, cwd=quick.ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    return ran.stdout


def test_no_test_is_begun_when_the_time_is_over(tmp_path: Path) -> None:
    late = run(tmp_path, QUICK_UNTIL="0")
    assert "8 passed" in late, "some tests are always run"
    assert "12 tests are left to .ci/run" in late
    assert "20 passed" in run(tmp_path, QUICK_UNTIL=str(time.time() + 600))


def test_the_sample_is_drawn_from_the_puzzles_at_hand_first(tmp_path: Path) -> None:
    said = run(tmp_path, QUICK_SAMPLE="1", QUICK_PUZZLES="softmax")
    assert "1 passed, 19 deselected" in said
    assert "test_it[softmax] PASSED" in said
