"""What tells that a picture of the tour has grown old: a line that is gone, or one that is new."""

import pytest

from .tour import FOLDER, as_compared, changes


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("Saved 2026-11-28 13:05:01, found after 3.2 s", "Saved DATE, found after TIME"),
        ("$13.72 per hour, 4 GPUs", "$13.72 per hour, 4 GPUs"),
        ("0.113", "TIME"),
        ("12,500 ms", "TIME"),
        ("4 services", "4 services"),
    ],
)
def test_times_and_dates_are_left_out_of_what_is_compared_and_figures_are_not(text, compared):
    assert as_compared(text) == compared


def test_figures_of_a_search_on_its_way_are_left_out():
    assert as_compared("12 GPUs, $1,041.17, 3 more", with_figures=False) == "NUMBER GPUs, $NUMBER NUMBER more"


def test_a_line_that_is_gone_and_one_that_is_new_make_a_picture_old():
    drawn = {"Plan", "Solve", "at the edge"}
    as_it_was = [("Plan", 40.0), ("Solve", 300.0), ("at the edge", 905.0), ("below", 1000.0)]
    assert changes(drawn, as_it_was) == ([], [])
    assert changes(drawn, as_it_was[1:]) == (["Plan"], [])
    assert changes(drawn, [*as_it_was, ("Compare", 200.0)]) == ([], ["Compare"])
    assert changes(drawn, [*as_it_was, ("low", 800.0)]) == ([], [])


def test_every_picture_has_its_lines():
    pictures = {path.stem for path in FOLDER.glob("*.png")}
    assert pictures
    assert {path.stem for path in FOLDER.glob("*.txt")} == pictures
