"""The programs one after the other: a first plan early where the first of them takes long, and the best at the end."""

import time
from types import SimpleNamespace

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


def of_several(monkeypatch, programs_of, choices, *, target=9.0, gap=0.0, known=None):
    """Returns what programs give whose choices are told, and how many of them were asked; short ones, without looks."""
    monkeypatch.setattr(programs, "_programs", lambda *_: iter(programs_of))
    left, asked, told = list(choices), [], []
    choice = best_covers(
        "near",
        None,
        lambda *of, **options: asked.append((*of, options["most_classes"])) or left.pop(0),
        known=known,
        target=target,
        gap=gap,
        fewest_slices=False,
        on_better=lambda covers: told.append(covers.cost),
        deadline=time.monotonic() + 3,
    )
    return choice, told, asked


def of(most, *, enough=0.0, near="of classes"):
    return programs._ClassesProgram(near, most, enough)


def test_programs_are_tried_till_one_is_near_enough_and_the_best_of_all_is_kept(monkeypatch):
    three = [of(1), of(2), of(3)]
    plans = [Choice(plan(cost), limited=False) for cost in (11.0, 12.0, 10.0)]
    found, told, asked = of_several(monkeypatch, three, plans)
    assert (found.covers.cost, found.limited, told) == (10.0, False, [11.0, 10.0])
    assert asked == [("of classes", 1), ("of classes", 2), ("of classes", 3)]
    # Near enough to the target: as was asked for, or as the program says, whichever is more.
    for gap, enough, number in (
        (0.0, 0.0, 3),
        (0.1, 0.0, 3),
        (0.34, 0.0, 1),
        (0.2, 0.34, 1),
        (0.23, 0.0, 1),
        (0.22, 0.1, 3),
    ):
        _, _, asked = of_several(monkeypatch, [of(1, enough=enough), of(2), of(3)], plans, gap=gap)
        assert len(asked) == number, (gap, enough)
    # What is known already is told to nobody.
    _, told, asked = of_several(monkeypatch, three, plans, known=plan(9.0))
    assert (len(asked), told) == (1, [])


@pytest.mark.parametrize("where", range(3))
def test_that_time_ended_a_program_or_their_sequence_is_said(monkeypatch, where):
    three = [of(1), of(2), of(3)]
    plans = [Choice(plan(11.0 - i), limited=i == where) for i in range(3)]
    assert of_several(monkeypatch, three, plans, target=1.0)[0].limited
    # None: some programs were not found in time; those behind are tried all the same.
    plans = [Choice(plan(11.0), limited=False)]
    found, _, asked = of_several(monkeypatch, [None, of(5)], plans, target=1.0)
    assert (found.limited, asked[-1]) == (True, ("of classes", 5))


def test_where_no_program_has_a_plan_there_is_one_of_the_cheapest_covers(monkeypatch):
    plans = [Choice(None, limited=False), Choice(plan(12.0), limited=True)]
    found, told, asked = of_several(monkeypatch, [of(7)], plans)
    assert (found.covers.cost, found.limited, told) == (12.0, False, [])
    assert asked == [("of classes", 7), ("near", 0)]


def test_without_time_nothing_but_the_last_resort_is_tried(monkeypatch):
    monkeypatch.setattr(programs, "_programs", lambda *_: iter([of(7)]))
    choice, _ = found(lambda *_, **__: Choice(plan(12.0), limited=False), seconds=-1)
    assert (choice.covers.cost, choice.limited) == (12.0, True)
    known = plan(20.0)
    choice, _ = found(lambda *_, **__: Choice(plan(12.0), limited=False), seconds=-1, known=known)
    assert (choice.covers is known, choice.limited) == (True, True)


PROGRAMS = programs._programs
CLASSES, SPLIT = [("near", 400), ("near", 800), ("near", 1500)], [("rounded", 0), ("rounded", 40), ("rounded", 160)]


@pytest.mark.parametrize(
    ("available", "fewest", "rounded", "expected"),
    [
        ((np.inf, np.inf), True, "rounded", [*CLASSES, *SPLIT]),
        ((np.inf, np.inf), False, "rounded", [*SPLIT, *CLASSES]),
        ((np.inf, 4.0), False, "rounded", [*SPLIT, ("near", 1500), ("near", 6000)]),
        ((np.inf, np.inf), False, None, CLASSES),
        ((np.inf, np.inf), True, TimeoutError, [*CLASSES, None]),
        ((np.inf, np.inf), False, TimeoutError, [None, *CLASSES]),
    ],
)
def test_what_a_fractional_plan_splits_comes_first_but_where_slices_count(
    monkeypatch, available, fewest, rounded, expected
):
    limits = []

    def covers(near, _, *, time_limit_s):
        limits.append(time_limit_s)
        if rounded is TimeoutError:
            raise TimeoutError
        return rounded and near.replace("near", rounded)

    monkeypatch.setattr(programs, "rounded_covers", covers)
    supply = SimpleNamespace(available=np.array(available))
    tried = list(PROGRAMS("near", supply, fewest, time.monotonic() + 60))
    assert [one and (one.near, one.most_classes) for one in tried] == expected
    assert limits == [pytest.approx(30, abs=5)]
    assert all(one.enough == (programs.GOOD_ENOUGH if one.near == "near" else 0.0) for one in tried if one)


def test_one_look_is_taken_in_all_and_none_where_a_plan_is_known(monkeypatch):
    """A look that finds none is no reason for another one."""
    limits = []

    def choose(*_, time_limit_s, **__):
        limits.append(time_limit_s)
        is_look = time_limit_s <= FIRST_LOOK_S
        return Choice(plan(10.0) if is_look else None, limited=True)

    monkeypatch.setattr(programs, "_programs", lambda *_: iter([of(1), of(2)]))
    assert found(choose, seconds=600)[0].covers.cost == 10.0
    assert [limit <= FIRST_LOOK_S for limit in limits] == [True, False, False]
    limits.clear()
    choice, told = found(choose, seconds=600, known=plan(20.0))
    assert (choice.covers.cost, told, [limit <= FIRST_LOOK_S for limit in limits]) == (20.0, [], [False, False])


def test_a_plan_of_a_program_gives_way_to_a_cheaper_one_alone(monkeypatch):
    """Where slices count, too: those of a known plan alone may be many."""
    plans = [plan(10.0), plan(10.0), plan(9.9)]
    monkeypatch.setattr(programs, "_programs", lambda *_: iter([of(1), of(2), of(3)]))
    left = iter(plans)
    choice, told = found(lambda *_, **__: Choice(next(left), limited=False), seconds=3)
    assert (choice.covers is plans[2], told) == (True, [10.0, 9.9])
