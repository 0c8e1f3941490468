"""The programs one after the other: a first plan early where the first of them takes long, and the best at the end."""

import time

import numpy as np
import pytest

from sliceplan.solver.exact.primal import price_and_round as programs
from sliceplan.solver.exact.primal.price_and_round import FIRST_LOOK_S, best_covers
from sliceplan.solver.exact.primal.restricted_master import Choice, ChosenCovers


@pytest.fixture(autouse=True)
def one_program(monkeypatch):
    """Lets there be one program, of which the tests say what it gives in how much time."""
    monkeypatch.setattr(programs, "_programs", lambda *_: iter([programs._ClassesProgram(None, 400, 0.0)]))


def found(choose, *, seconds, known=None, fewest_slices=True):
    """Returns what the programs give, and the costs of the plans that were told on the way."""
    told = []
    choice = best_covers(
        None,
        None,
        choose,
        known=known,
        target=9.0,
        gap=0.0,
        fewest_slices=fewest_slices,
        on_better=lambda covers: told.append(covers.cost),
        deadline=time.monotonic() + seconds,
    )
    return choice, told


def plan(cost):
    return ChosenCovers(np.zeros((0, 0), int), np.zeros(0, int), cost)


def test_a_program_that_takes_long_tells_its_first_plan_and_then_its_best():
    limits = []

    def choose(_, *, most_classes, time_limit_s):
        assert most_classes == 400
        limits.append(time_limit_s)
        is_look = time_limit_s <= FIRST_LOOK_S
        return Choice(plan(10.0 if is_look else 9.0), limited=is_look)

    choice, told = found(choose, seconds=60)
    assert (choice.covers.cost, choice.limited) == (9.0, False)
    assert told == [10.0, 9.0]
    assert limits == [FIRST_LOOK_S, pytest.approx(30, abs=5)]


def test_a_program_that_is_done_at_a_glance_is_not_begun_anew():
    calls = []
    choice, told = found(lambda *_, **__: calls.append(1) or Choice(plan(9.0), limited=False), seconds=60)
    assert (choice.covers.cost, told, len(calls)) == (9.0, [9.0], 1)


def test_where_time_is_short_no_look_is_taken():
    limits = []

    def choose(*_, time_limit_s, **__):
        limits.append(time_limit_s)
        return Choice(plan(9.0), limited=False)

    found(choose, seconds=3)
    assert len(limits) == 1
    assert limits[0] > FIRST_LOOK_S


def test_the_first_plan_is_the_answer_where_the_programs_give_none():
    def choose(*_, time_limit_s, **__):
        is_look = time_limit_s <= FIRST_LOOK_S
        return Choice(plan(10.0) if is_look else None, limited=True)

    choice, told = found(choose, seconds=60)
    assert (choice.covers.cost, choice.limited, told) == (10.0, True, [10.0])


@pytest.mark.parametrize(
    ("cost", "fewest_slices", "taken"), [(9.0, True, True), (9.5, True, True), (9.6, True, False), (9.5, False, False)]
)
def test_a_known_plan_gives_way_to_a_cheaper_one_and_where_slices_count_to_one_of_its_cost(cost, fewest_slices, taken):
    known, other = plan(9.5), plan(cost)
    choice, told = found(
        lambda *_, **__: Choice(other, limited=False), seconds=60, known=known, fewest_slices=fewest_slices
    )
    assert choice.covers is (other if taken else known)
    assert told == ([cost] if taken else [])
