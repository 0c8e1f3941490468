"""A search that is interrupted ends with its last offer."""

import threading

import pytest
from igniter_instances import random_mps_problem
from instances import second_type, two_type_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.incumbent import best_so_far, interruptible_by, offer, runs_on
from sliceplan.solver.model.plan import Status

NEVER_S = 60


def nothing():
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
            offer(lambda answer=answer: answer)
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


def test_offers_outside_of_an_interruptible_search_are_ignored():
    offer(lambda: pytest.fail("nobody asked"))


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
