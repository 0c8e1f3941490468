"""A search that is interrupted, or goes on after its deadline, ends with its last offer."""

import threading
import time

import pytest
from igniter_instances import random_mps_problem
from instances import second_type, two_type_problem
from waiting import wait_until

from sliceplan.solver.api import solve
from sliceplan.solver.deadline import at_most_left, seconds_left, until
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.incumbent import best_so_far, interruptible_by, offer, runs_on
from sliceplan.solver.model.plan import Status

NEVER_S = 60


def nothing(_):
    return "nothing"


def test_a_search_that_ends_gives_what_it_found():
    with interruptible_by(threading.Event()):
        assert best_so_far(lambda: "found", nothing) == "found"
    assert best_so_far(lambda: "found", nothing) == "found"


def interrupted(*answers):
    """Returns what a search gives that is interrupted after it offered some answers."""
    stop, never = threading.Event(), threading.Event()

    def search():
        for answer in answers:
            offer(lambda _, answer=answer: answer)
        stop.set()
        never.wait(NEVER_S)
        return "too late"

    with interruptible_by(stop):
        found = best_so_far(search, nothing)
    assert runs_on()
    never.set()
    return found


def test_an_interrupted_search_gives_its_last_offer():
    assert interrupted("first", "second") == "second"


def test_an_interrupted_search_without_an_offer_gives_what_is_known_without_it():
    assert interrupted() == "nothing"


def test_after_an_interruption_no_search_begins():
    stop = threading.Event()
    stop.set()
    with interruptible_by(stop):
        assert best_so_far(lambda: pytest.fail("it began"), nothing) == "nothing"


def test_what_a_search_raises_is_raised():
    def search():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), interruptible_by(threading.Event()):
        best_so_far(search, nothing)


def overdue(*answers, search_on):
    """Returns what a search gives that goes on after its deadline, after it offered some answers."""

    def search():
        for answer in answers:
            offer(lambda why, answer=answer: (answer, why))
        search_on()
        return "too late"

    return best_so_far(search, lambda why: ("nothing", why), deadline=time.monotonic())


def test_a_search_that_passes_its_deadline_gives_its_last_offer_and_says_why():
    never = threading.Event()
    assert overdue("first", "second", search_on=lambda: never.wait(NEVER_S)) == ("second", "time_limit")
    assert overdue(search_on=lambda: never.wait(NEVER_S)) == ("nothing", "time_limit")
    assert runs_on()
    never.set()
    wait_until(lambda: not runs_on())


def test_a_search_that_is_given_up_ends_at_its_next_line_although_it_never_looks_at_the_clock():
    def count_for_ever():
        number = 0
        while True:
            try:
                number += 1
            except Exception:  # what ends it is none that a search could take for its own
                pytest.fail("it was kept alive")

    assert overdue("first", search_on=count_for_ever) == ("first", "time_limit")
    wait_until(lambda: not runs_on())


def test_a_search_that_keeps_its_deadline_gives_its_own_answer():
    assert best_so_far(lambda: "found", nothing, deadline=time.monotonic() + NEVER_S) == "found"


def test_parts_of_a_search_have_no_more_time_than_is_left_of_the_whole():
    """Here and in searches within it, whose own deadlines count where they are earlier."""
    end = time.monotonic() + 30

    def part():
        return at_most_left(NEVER_S), at_most_left(1), best_so_far(seconds_left, nothing, deadline=end - 20)

    capped, shorter, inner = best_so_far(part, nothing, deadline=end)
    assert 10 < capped <= 30
    assert shorter == 1
    assert inner <= 10
    with until(time.monotonic() - 1):
        assert 0 < at_most_left(NEVER_S) < 0.1
    assert at_most_left(NEVER_S) == NEVER_S


def test_an_interruption_is_told_from_a_deadline():
    stop, never = threading.Event(), threading.Event()

    def search():
        offer(lambda why: why)
        stop.set()
        never.wait(NEVER_S)

    with interruptible_by(stop):
        assert best_so_far(search, nothing, deadline=time.monotonic() + NEVER_S) == "interrupted"
    never.set()


def test_offers_outside_of_an_interruptible_search_are_ignored():
    offer(lambda _: pytest.fail("nobody asked"))


def test_an_interrupted_solve_has_a_plan_and_its_bound():
    """The search of this problem goes on for its whole time limit; it is stopped once it has a plan."""
    stop = threading.Event()
    threading.Timer(4.0, stop.set).start()
    profiles = [*shipped_profiles(), *second_type()]
    with interruptible_by(stop):
        plan = solve(two_type_problem(100, seed=1), profiles=profiles, time_limit_s=20)
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert plan.runtime_s < 15


def test_an_interrupted_solve_under_mps_has_a_heuristic_plan_at_least():
    """Its search begins with a plan, so there is one from the first moment that anything was looked up."""
    stop = threading.Event()
    threading.Timer(3.0, stop.set).start()
    with interruptible_by(stop):
        plan = solve(random_mps_problem(100, 0), time_limit_s=25)
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE
