"""What people call planners."""

from sliceplan.solver.api import planner_names
from sliceplan.solver.wording.planner_words import MOST_LETTERS, PLAIN, RULES_OF, plain_and_own_name, plain_name


def test_every_planner_is_called_something_of_its_own_that_has_room_beside_bars():
    assert set(PLAIN) == set(RULES_OF) == set(planner_names())
    assert len(set(PLAIN.values())) == len(PLAIN)
    assert all(len(words) <= MOST_LETTERS for words in PLAIN.values())


def test_a_planner_that_is_not_shipped_keeps_its_name():
    assert plain_name("ours") == plain_and_own_name("ours") == "ours"
    assert plain_and_own_name("whole-gpu") == "whole GPUs per service (common practice): whole-gpu"
