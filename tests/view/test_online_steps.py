"""The figure of notebook 3 has the numbers that its text works out by hand, without a script too."""

from __future__ import annotations

from checker.view.online_steps import online_steps


def test_the_steps_are_those_of_the_text_and_each_score_has_a_slider() -> None:
    figure = online_steps([1, 2, 3, 4, 0, 5], chunk=2)
    first, second, third = figure.rows()
    assert first == ("1, 2", "−∞", "2", "0", "0", "1.368", "1.368")
    assert second == ("3, 4", "2", "4", "0.135", "0.185", "1.368", "1.553")
    assert third[2::4] == ("5", "1.578")
    html = figure._repr_html_()
    assert html.count('type="range"') == 6
    assert html.count('class="rises"') == 2, "the second and the third chunk raise the maximum"
    assert all(cell in html for row in figure.rows() for cell in row)
