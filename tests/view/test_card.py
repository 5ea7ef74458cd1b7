"""The verdict card, on a page and in a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from checker.judge.verdict import Diagnosis, GateResult, GateWarning, Unreached, Verdict
from checker.puzzle import Family
from checker.simulator.trace import Finding
from checker.view.card import card_html
from checker.view.card_content import Excerpt, card_of, compared, window
from checker.view.terminal import print_card
from tests.view import verdicts
from tests.view.pages import HOSTILE, Page

EVERY = verdicts.every()


def card_text(verdict: Verdict, width: int = 80) -> str:
    """What a terminal of that width shows, without colours."""
    out = io.StringIO()
    print_card(verdict, Console(file=out, width=width, highlight=False, color_system=None, force_terminal=False))
    return out.getvalue()


def with_gate(verdict: Verdict, name: str, **changes: object) -> Verdict:
    """The verdict with something of one gate changed."""
    gates = (replace(gate, **changes) if gate.gate == name else gate for gate in verdict.gates)  # type: ignore[arg-type]
    return replace(verdict, gates=tuple(gates))


def gate_of(verdict: Verdict, name: str) -> GateResult:
    return next(gate for gate in verdict.gates if gate.gate == name)


def test_cards_are_well_formed_and_a_terminal_says_the_same_in_eighty_columns() -> None:
    for name, verdict in EVERY.items():
        html, text = card_html(verdict), card_text(verdict, 80)
        page, flat = Page(html), " ".join(text.split())
        assert len(html) < 45_000, name
        assert page.harmless, name
        assert all(attrs.get("aria-label") for tag, attrs in page.tags if tag == "figure")
        assert max(map(len, text.splitlines())) <= 80
        assert "\x1b" not in text
        if verdict.status == "not_attempted":
            continue
        if verdict.failure is not None:
            assert " ".join(verdict.failure.message.split()) in flat
            assert verdict.failure.message.replace("`", "") in page.words
        assert all(gate.gate in flat for gate in verdict.gates)


def test_wrong_values_are_shown_beside_the_right_ones_with_the_belief() -> None:
    html = card_html(verdicts.wrong_values())
    assert html.count('class="wrong first"') == 1
    assert "<b>You may have assumed:</b>" in html
    assert "<b>In fact:</b>" in html
    assert "masked lanes zero" in html


def test_a_card_explains_two_mistakes_in_turn() -> None:
    verdict = verdicts.wrong_values()
    assert verdict.diagnosis is not None
    both = replace(verdict.diagnosis, second=Diagnosis("no_factor", "sums add up.", "the old sum shrinks.", "why?"))
    text = " ".join(card_text(replace(verdict, diagnosis=both)).split())
    assert "two known mistakes in one: masked lanes zero; no factor" in text
    assert text.index("1. You may have assumed") < text.index("2. You may have assumed: sums add up.")
    assert "why?" not in text, "one thing to do at a time"


@pytest.mark.parametrize("render", [card_html, card_text])
def test_the_card_lists_the_other_findings(render: Callable[[Verdict], str]) -> None:
    assert render(verdicts.memory_fault()).count("Programs 1 and 2 both store") == 1


@pytest.mark.parametrize("render", [card_html, card_text])
def test_the_card_says_once_which_case_failed_and_what_its_only_element_is(render: Callable[[Verdict], str]) -> None:
    message = f"Program 4 reads 27 elements past the end of x ({verdicts.CASE.name})."
    fault = with_gate(verdicts.memory_fault(), "memory", case=verdicts.CASE, message=message)
    assert " ".join(render(fault).split()).count(verdicts.CASE.name) == 1
    assert "expected" in render(verdicts.wrong_values())
    assert "expected" not in render(verdicts.wrong_values(shape=(1, 1)))


def test_a_green_card_says_what_was_not_done() -> None:
    quiet = replace(verdicts.passed(), gates=verdicts.passed().gates[:5])
    assert "It was not run on a GPU" in card_html(quiet)
    assert "It was not run on a GPU" in " ".join(card_text(quiet).split())
    html = card_html(verdicts.passed())
    assert "not run: gpu" in html


@pytest.mark.parametrize("render", [lambda verdict: Page(card_html(verdict)).words, card_text])
def test_what_no_case_reached_is_said_at_the_foot_without_blame(render: Callable[[Verdict], str]) -> None:
    marks = tuple(Unreached(10 + n, f"stride_{n} == 0", "was never true") for n in range(5))
    one = " ".join(render(replace(verdicts.passed(), unreached=marks[:1], cases_run=85)).split()).replace("`", "")
    foot = "Line 10: stride_0 == 0 was never true in 85 cases. What your kernel does then has not been tried."
    assert one.endswith(foot)
    tried = replace(marks[0], aimed=16, reached=3)
    aimed = " ".join(render(replace(verdicts.passed(), unreached=(tried,), cases_run=101)).split()).replace("`", "")
    assert aimed.endswith(
        "Line 10: stride_0 == 0 was true in 3 of 16 more cases aimed at it, and your kernel is right in all."
    )
    many = " ".join(render(replace(verdicts.passed(), unreached=marks, cases_run=85)).split())
    assert many.count("What your kernel does then") == 3
    assert "2 more conditions" in many
    assert "does then" not in render(verdicts.passed())


def test_the_card_of_an_infrastructure_failure_does_not_blame_the_learner() -> None:
    html = card_html(EVERY["infra_error"])
    assert "says nothing about your kernel" in html
    assert "0 of 2" not in html


def hostile(**more: object) -> Verdict:
    case = replace(verdicts.CASE, family=Family(HOSTILE, label=HOSTILE), dtype=HOSTILE, layout=HOSTILE)
    gate = GateResult(
        "compile",
        "compile_error",
        HOSTILE,
        line=1,
        detail=HOSTILE + "\nend",
        advice=HOSTILE,
        case=case,
        findings=(Finding("race", 1, tensor=HOSTILE),),
        warnings=(GateWarning(HOSTILE),),
    )
    verdict = Verdict(HOSTILE, HOSTILE, "compile_error", "cpu", 1.0, 0, 2, (replace(gate, **more),))  # type: ignore[arg-type]
    return replace(
        verdict, source=f"{HOSTILE}\n'{HOSTILE}' # {HOSTILE}", diagnosis=Diagnosis(HOSTILE, HOSTILE, HOSTILE)
    )


def test_everything_of_the_learners_stays_text() -> None:
    page = Page(card_html(hostile()))
    assert page.harmless
    # title, message, three in the source, three in the diagnosis, advice, finding, warning
    assert page.text.count(HOSTILE) == 11
    mismatch = replace(verdicts.mismatch(), output=HOSTILE)
    traffic = {HOSTILE: gate_of(verdicts.passed(), "traffic").traffic["x_ptr"]}
    more = Page(card_html(hostile(mismatch=mismatch, traffic=traffic)))
    assert more.harmless
    assert more.text.count(HOSTILE) == 13, "map, traffic"


def test_print_card_is_plain_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_card(verdicts.wrong_values())
    out = capsys.readouterr().out
    assert "gives wrong numbers" in out
    assert "\x1b" not in out
    colours = io.StringIO()
    print_card(verdicts.wrong_values(), Console(file=colours, force_terminal=True, color_system="standard"))
    assert "\x1b" in colours.getvalue()
    markup = "[bold]not bold[/bold] [/x]"
    assert markup in card_text(verdicts.simple("runtime_error", markup)), "rich's markup is not obeyed"


def test_excerpt_uses_the_learners_own_numbers() -> None:
    verdict = replace(EVERY["timeout"], source="a\nb\nc\n", first_line=40)

    def excerpts(line: int | None) -> list[Excerpt]:
        return [part for part in card_of(with_gate(verdict, "values", line=line)).parts if isinstance(part, Excerpt)]

    (shown,) = excerpts(41)
    assert [(row.number, row.text, row.here) for row in shown.lines] == [
        (40, "a", False),
        (41, "b", True),
        (42, "c", False),
    ]
    assert excerpts(39) == excerpts(43) == excerpts(None) == []


def test_the_window_holds_the_first_wrong_element() -> None:
    for shape in ((97,), (5, 37), (2, 3, 6, 8)):
        mismatch = verdicts.mismatch(shape)
        view = window(mismatch, most=3)
        r, c = view.first
        assert view.wrong[r][c]
        assert (view.rows[r], view.cols[c]) == (0 if len(shape) == 1 else mismatch.first[-2], mismatch.first[-1])
        assert view.expected[r][c] != view.got[r][c]
        assert max(len(view.rows), len(view.cols)) <= 3


def test_the_tables_say_what_their_rows_and_columns_are() -> None:
    for shape, at, axes in (((5, 37), "", "row ↓ column →"), ((2, 3, 6, 8), " [1, 0, :, :]", "row ↓ column →")):
        mismatch = verdicts.mismatch(shape)
        for table in compared(mismatch, window(mismatch, most=3)):
            assert (table.name.removeprefix("expected").removeprefix("got"), table.axes) == (at, axes)
    keys = replace(verdicts.mismatch(), axes=("key", "value"))
    assert card_html(verdicts.wrong_values()).count("row ↓ column →") == 2
    for table in compared(keys, window(keys, most=3)):
        assert table.axes == "key ↓ value →"


def test_a_card_offers_no_film_of_a_launch_too_large_to_make() -> None:
    fault = verdicts.memory_fault()
    wrapped = GateResult("memory", "failed", "It wraps around.", case=verdicts.CASE, findings=(Finding("wrap", 22),))
    for verdict, offered in (
        (verdicts.stopped(replace(wrapped, findings=fault.failure.findings)), True),
        (verdicts.stopped(wrapped), False),
    ):
        assert ("Film it" in {getattr(part, "label", "") for part in card_of(verdict).parts}) is offered
