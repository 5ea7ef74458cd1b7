"""The reports in `reports/` and the page made from them: complete, up to date, and CPU and GPU of one mind."""

from __future__ import annotations

import json
from functools import cache

import pytest

from checker.course import LADDER, PUZZLES
from checker.misconceptions import bank
from checker.verbs.mutants import rows_of
from tools import guarded, mutant_page, mutant_reports, mutate, survivors_on_gpu
from tools.mutations import Mutation

BANK = [(puzzle.name, wrong.name) for puzzle in LADDER for wrong in bank(puzzle.name)]
REPORT = mutant_reports.load(mutant_reports.path_of("mechanical"))
GUARDED, SEMANTIC = mutant_reports.tables("guarded"), mutant_reports.tables("semantic")
SURVIVORS = [s["mutant"] for table in REPORT["puzzles"] for s in table["survived"]]
EQUIVALENT = [e["mutant"] for table in REPORT["puzzles"] for e in table["equivalent"]]


@cache
def made(puzzle: str) -> dict[str, Mutation]:
    """Every mutant of a puzzle, by its key."""
    return {m.key: m for m in mutate.generated(PUZZLES[puzzle])}


def test_the_cpu_report_holds_the_whole_bank_and_nothing_survives():
    rows = rows_of(mutant_reports.load(mutant_reports.CPU))
    assert [(row.puzzle, row.name) for row in rows] == BANK, "`make mutants` makes the report anew"
    assert [row.name for row in rows if not row.by_the_right_gate] == []


def test_the_gpu_report_agrees_with_the_cpu_and_what_it_lacks_is_pending():
    report = mutant_reports.load(mutant_reports.GPU)
    assert report["device"] == "cuda"
    rows = rows_of(report)
    seen = [(row.puzzle, row.name) for row in rows]
    assert seen == [kernel for kernel in BANK if kernel in set(seen)]
    assert [row.name for row in rows if not row.by_the_right_gate] == []
    assert mutant_reports.disagreements() == []
    pending = [f"`{puzzle}/{name}`" for puzzle, name in BANK if (puzzle, name) not in set(seen)]
    listed = mutant_page.page().partition("**Pending on a GPU:** ")[2].partition(".\n")[0]
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
        (tmp_path / path).write_text(json.dumps(report))
        monkeypatch.setattr(mutant_reports, path, tmp_path / path)
    (said,) = mutant_reports.disagreements()
    assert said == f"vector_add/no_mask: {complaint}"


def test_the_mechanical_report_is_of_these_solutions():
    the_page_says_what_is_missing(REPORT["puzzles"])
    for table in REPORT["puzzles"]:
        counted = sum(table["killed"].values()) + len(table["equivalent"]) + len(table["survived"])
        assert counted == table["made"] == len(made(table["puzzle"])), "`make mutants` makes the report anew"
        named = {entry["mutant"] for entry in (*table["equivalent"], *table["survived"])}
        assert named <= made(table["puzzle"]).keys()
    assert sum(table["made"] for table in REPORT["puzzles"]) >= 5000


def test_everything_that_survives_is_explained_once_and_nothing_else():
    explained = [key for reason in mutant_reports.reasons() for key in reason.mutants]
    assert sorted(explained) == sorted([*SURVIVORS, *of(SEMANTIC, "survived"), *of(GUARDED, "survived")])
    assert all(reason.because.endswith(".") for reason in mutant_reports.reasons())


def test_every_survivor_can_be_made_again_for_a_gpu():
    judgeable = [(kind, name) for kind, name, source in survivors_on_gpu.kernels() if source.source]
    assert judgeable == [(k, entry["mutant"]) for k in mutant_reports.KINDS for entry in mutant_reports.survivors(k)]


def test_the_page_is_what_the_reports_say():
    assert mutant_page.PAGE.read_text("utf-8") == mutant_page.page(), "`python tools/mutants.py --page` makes it anew"


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", [*SURVIVORS[::18], *EQUIVALENT[::75]])
def test_a_mutant_that_passes_does_so_again(key):
    fate = mutate.judge(made(key.partition(":")[0])[key])
    assert fate.outcome == ("survived" if key in SURVIVORS else "equivalent")


@pytest.mark.exhaustive
@pytest.mark.parametrize("nth", [1, 2], ids=["a third in", "two thirds in"])
@pytest.mark.parametrize("puzzle", [table["puzzle"] for table in REPORT["puzzles"]])
def test_a_mutant_that_was_killed_is_killed_again(puzzle, nth):
    killed = [m for key, m in made(puzzle).items() if key not in {*SURVIVORS, *EQUIVALENT}]
    assert mutate.judge(killed[len(killed) * nth // 3]).outcome == "killed"


# ---- guarded and semantic mutants --------------------------------------------------------------------------------------


def of(kind: list[dict[str, object]], outcome: str) -> list[str]:
    return [entry["mutant"] for table in kind for entry in table[outcome]]


def parts(key: str) -> tuple[str, str, str]:
    """Puzzle, misconception and guard."""
    puzzle, _, rest = key.partition(": ")
    return (puzzle, *rest.split(" if ", 1))


def the_page_says_what_is_missing(tables: list[dict[str, object]]) -> None:
    swept = [table["puzzle"] for table in tables]
    missing = [puzzle.name for puzzle in LADDER if puzzle.name not in swept]
    assert swept == [puzzle.name for puzzle in LADDER if puzzle.name in swept]
    assert not missing or f"**Not swept yet:** {', '.join(missing)}." in mutant_page.page()


def test_the_guarded_report_is_of_this_bank_and_these_guards():
    the_page_says_what_is_missing(GUARDED)
    for table in GUARDED:
        known = {guard.name: guard for guard in guarded.guards(PUZZLES[table["puzzle"]])}
        wrong = {m.name for m in bank(table["puzzle"])}
        assert sum(table["outcomes"].values()) == table["made"], "`make mutants ARGS=--guarded` makes the report anew"
        tried = {name: sum(counts.values()) for name, counts in table["kinds"].items()}
        assert {
            name: len(wrong) for name, guard in known.items() if not guarded.in_place(guard)
        }.items() <= tried.items()
        assert tried.keys() <= known.keys()
        assert max(tried.values()) <= len(wrong)
        for key in of([table], "survived"):
            _, misconception, guard = parts(key)
            assert misconception in wrong
            assert guard in tried


def test_the_semantic_report_is_of_these_solutions():
    the_page_says_what_is_missing(SEMANTIC)
    for table in SEMANTIC:
        keys = {m.key for m in mutate.semantic_mutants(PUZZLES[table["puzzle"]])}
        assert table["made"] == len(keys) == sum(table["outcomes"].values()), "`make mutants ARGS=--semantic`"
        assert {*of([table], "survived"), *of([table], "tolerated")} <= keys


def sampled(keys: list[str], count: int) -> list[str]:
    return keys[:: -(-len(keys) // count)] if keys else []


@cache
def bench(puzzle: str) -> guarded.Bench:
    return guarded.Bench(PUZZLES[puzzle])


def judged(key: str) -> str:
    puzzle, name, guard_name = parts(key)
    wrong = next(m for m in bank(puzzle) if m.name == name)
    guard = next(g for g in bench(puzzle).guards if g.name == guard_name)
    return bench(puzzle).fate(wrong, guard).outcome


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", sampled(of(GUARDED, "survived"), 2))
def test_a_guarded_kernel_that_survived_does_so_again(key):
    assert judged(key) == "survived"


ALL_KILLED = [
    f"{table['puzzle']}: {bank(table['puzzle'])[len(name) % len(bank(table['puzzle']))].name} if {name}"
    for table in GUARDED
    for name, counts in table["kinds"].items()
    if counts == {"killed": len(bank(table["puzzle"]))}
]
"""A wrong kernel for each guard under which all are killed."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", sampled(ALL_KILLED, 4))
def test_a_guarded_kernel_that_was_killed_is_killed_again(key):
    assert judged(key) == "killed"


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", sampled(of(SEMANTIC, "survived"), 2) + sampled(of(SEMANTIC, "tolerated"), 4))
def test_a_semantic_mutant_that_passes_does_so_again(key):
    puzzle = key.partition(":")[0]
    mutation = next(m for m in mutate.semantic_mutants(PUZZLES[puzzle]) if m.key == key)
    assert mutate.judge(mutation, semantically=True).outcome == (
        "survived" if key in of(SEMANTIC, "survived") else "tolerated"
    )
