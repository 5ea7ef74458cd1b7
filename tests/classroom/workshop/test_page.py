"""The page in a real browser: projector and instructor, light and dark, hostile names, and an instructor who acts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from classroom.workshop.belief_films import BeliefFilms
from classroom.workshop.schedule import Item
from tests.classroom.workshop.conftest import Start, event, wrong

EVIL = "<img src=x onerror=alert(1)>"
FILM = (
    "<!doctype html><title>film</title><body><p>moving</p><div class=tbt-film tabindex=0></div>"
    "<script>addEventListener('keydown', (event) => event.key === ' ' && document.body.append(' played'))</script></body>"
)


@pytest.mark.browser
def test_the_pages_show_the_room_and_act_on_it(
    start: Start, chrome: Any, browser_thread: ThreadPoolExecutor, tmp_path: Path
) -> None:
    films = BeliefFilms(tmp_path / "films", lambda puzzle, name: FILM)
    items = [
        Item(0, 20, "Rows", puzzles=["row_softmax"], question="What is the softmax of 103, 102, 101?"),
        Item(20, 9, "Rest", kind="demonstration"),
    ]
    board = start(items=items, films=films)
    learners = [board.join(name=f"{EVIL} {n}") for n in range(7)]
    for one in learners[:4]:
        board.send(one["token"], wrong(), event("hand"))
    board.send(learners[4]["token"], event("hand"))
    problems: list[str] = []

    def page(role: str, theme: str) -> Any:
        made = chrome.new_context(color_scheme=theme, viewport={"width": 1280, "height": 800}).new_page()
        made.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.accept()))
        made.on("pageerror", lambda error: problems.append(str(error)))
        made.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        made.goto(f"{board.url}#{role}={board.live.token_of(role)}")  # type: ignore[arg-type]
        return made

    screen, teacher = page("screen", "dark"), page("teacher", "light")
    screen.get_by_text("What the room believes now").wait_for()
    assert screen.locator(".strips .shape.trying").count() == 4
    assert screen.locator(".belief .holders").inner_text() == "4"
    assert EVIL not in screen.content()
    assert "onerror" not in screen.content()
    assert board.live.token_of("screen") not in screen.url
    screen.get_by_role("button", name="Watch it fail").click()
    shown = screen.frame_locator("dialog iframe")
    shown.locator(".tbt-film:focus").wait_for(state="attached")
    screen.keyboard.press("Space")  # goes to the film instead of the Close button
    assert shown.get_by_text("played").inner_text()
    screen.keyboard.press("Escape")
    screen.locator("dialog").wait_for(state="hidden")

    assert teacher.locator("td.who").first.inner_text().startswith(EVIL)
    teacher.locator("#queue").get_by_role("button", name="I go").first.click()
    teacher.locator("#queue").get_by_text("the instructor goes").wait_for()
    teacher.get_by_role("button", name="Begin").click()
    screen.get_by_text("20 min left").wait_for()
    screen.get_by_text("Now: Rows (exercise)").wait_for()
    teacher.get_by_text("Next: Rest (you show)").wait_for()
    screen.get_by_text("What is the softmax of 103").wait_for()
    for n, one in enumerate(learners):
        board.ask("guess", {"text": EVIL if n < 3 else "the same" if n < 5 else f"{n}"}, one["token"])
    screen.get_by_text("2 other answers").wait_for()
    assert screen.locator(".poll .answers").all_inner_texts() == ["3", "2"]
    screen.screenshot(path=str(tmp_path / "poll.png"))
    teacher.locator("#push-text").fill("Look at exp(89).")
    teacher.get_by_role("button", name="Write to them").click()
    teacher.get_by_role("button", name="Send").click()
    teacher.get_by_text("Sent to 4 learners.").wait_for()
    assert board.send(learners[0]["token"])[1]["messages"][0]["text"] == "Look at exp(89)."

    teacher.get_by_role("button", name="Choose 2 who did nothing").click()
    problems_before = len(problems)
    teacher.get_by_role("button", name="Remove 2").click()
    teacher.get_by_text("5 learners").wait_for()
    assert problems[problems_before:] == ["Remove 2 learners and everything stored about them?"]
    del problems[problems_before:]

    board.send(learners[0]["token"], event(puzzle="row_softmax", status="passed"))
    teacher.locator("#queue").get_by_text("passed since").wait_for()
    screen.locator(".strips .shape.passed").first.wait_for()  # through the stream, without a reload
    assert screen.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert teacher.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert teacher.title() == "A class: teacher"
    board.teach("close", {"on": False})
    for made in (screen, teacher):
        made.get_by_text("The class is over.").wait_for()
    assert problems == []
    for made in (screen, teacher):
        made.context.close()
