"""The reports in `reports/` and the page made from them: complete, up to date, and CPU and GPU of one mind."""

from __future__ import annotations

from functools import cache

import pytest

from checker.course import LADDER, PUZZLES
from checker.grading.mutants import rows_of
from checker.misconceptions import bank
from tools import mutants, mutate
from tools.mutations import Mutation

BANK = [(puzzle.name, wrong.name) for puzzle in LADDER for wrong in bank(puzzle.name)]
REPORT = mutants.load(mutants.MECHANICAL)
SURVIVORS = [s["mutant"] for table in REPORT["puzzles"] for s in table["survived"]]
EQUIVALENT = [e["mutant"] for table in REPORT["puzzles"] for e in table["equivalent"]]


@cache
def made(puzzle: str) -> dict[str, Mutation]:
    """Every mutant of a puzzle, by its key."""
    return {m.key: m for m in mutate.generated(PUZZLES[puzzle])}


def test_the_cpu_report_holds_the_whole_bank_and_nothing_survives():
    rows = rows_of(mutants.load(mutants.CPU))
    assert [(row.puzzle, row.name) for row in rows] == BANK, "`make mutants` makes the report anew"
    assert [row.name for row in rows if not row.by_the_right_gate] == []


def test_the_gpu_report_agrees_with_the_cpu_and_what_it_lacks_is_pending():
    report = mutants.load(mutants.GPU)
    assert report["device"] == "cuda"
    rows = rows_of(report)
    seen = [(row.puzzle, row.name) for row in rows]
    assert seen == [kernel for kernel in BANK if kernel in set(seen)]
    assert [row.name for row in rows if not row.by_the_right_gate] == []
    assert mutants.disagreements() == []
    pending = [f"`{puzzle}/{name}`" for puzzle, name in BANK if (puzzle, name) not in set(seen)]
    listed = mutants.page().partition("**Pending on a GPU:** ")[2].partition(".\n")[0]
    assert listed == ", ".join(pending)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"gate": "memory"}, "stopped by memory on the machine with a GPU, by values without"),
        ({"gpu": "not visible"}, "stopped by values, but not visible on the GPU"),
        ({"gpu": None}, "not launched on the GPU"),
    ],
)
def test_a_disagreement_is_named(tmp_path, monkeypatch, change, complaint):
    entry = {"name": "no_mask", "caught": True, "gate": "values", "diagnosed_as": "no_mask", "gpu": "wrong values"}
    for path, one in (("CPU", entry), ("GPU", {**entry, **change})):
        report = {"schema": "mutants/v1", "puzzles": [{"puzzle": "vector_add", "misconceptions": [one]}]}
        (tmp_path / path).write_text(mutants.json.dumps(report))
        monkeypatch.setattr(mutants, path, tmp_path / path)
    (said,) = mutants.disagreements()
    assert said == f"vector_add/no_mask: {complaint}"


def test_the_mechanical_report_is_of_these_solutions():
    assert [table["puzzle"] for table in REPORT["puzzles"]] == [puzzle.name for puzzle in mutate.SWEPT]
    for table in REPORT["puzzles"]:
        counted = sum(table["killed"].values()) + len(table["equivalent"]) + len(table["survived"])
        assert counted == table["made"] == len(made(table["puzzle"])), "`make mutants` makes the report anew"
        named = {entry["mutant"] for entry in (*table["equivalent"], *table["survived"])}
        assert named <= made(table["puzzle"]).keys()
    assert sum(table["made"] for table in REPORT["puzzles"]) >= 5000


def test_every_survivor_is_explained_once_and_no_other():
    explained = [key for reason in mutants.reasons() for key in reason.mutants]
    assert sorted(explained) == sorted(SURVIVORS)
    assert all(reason.because.endswith(".") for reason in mutants.reasons())


def test_the_page_is_what_the_reports_say():
    assert mutants.PAGE.read_text("utf-8") == mutants.page(), "`python tools/mutants.py --page` makes it anew"


@pytest.mark.parametrize("key", [*SURVIVORS[::11], *EQUIVALENT[::40]])
def test_a_mutant_that_passes_does_so_again(key):
    fate = mutate.judge(made(key.partition(":")[0])[key])
    assert fate.outcome == ("survived" if key in SURVIVORS else "equivalent")


@pytest.mark.parametrize("nth", [1, 2], ids=["a third in", "two thirds in"])
@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_mutant_that_was_killed_is_killed_again(puzzle, nth):
    killed = [m for key, m in made(puzzle).items() if key not in {*SURVIVORS, *EQUIVALENT}]
    assert mutate.judge(killed[len(killed) * nth // 3]).outcome == "killed"
