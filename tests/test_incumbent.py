"""A search that is interrupted ends with its last offer."""

import threading

import pytest
from igniter_instances import random_mps_problem
from instances import random_problem, second_type, two_type_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.incumbent import offer, run_until
from sliceplan.solver.model.plan import Status


def plans():
    return solve(random_problem(3, 1)), solve(random_problem(4, 1))


def test_a_search_that_ends_gives_what_it_found():
    one, _ = plans()
    assert run_until(threading.Event(), lambda: one) is one


def test_an_interrupted_search_gives_its_last_offer():
    one, two = plans()
    stop, never = threading.Event(), threading.Event()

    def search():
        offer(lambda: one)
        offer(lambda: two)
        stop.set()
        never.wait(60)
        return one

    assert run_until(stop, search) is two
    never.set()


def test_an_interrupted_search_without_an_offer_gives_nothing():
    stop, never = threading.Event(), threading.Event()

    def search():
        stop.set()
        never.wait(60)

    assert run_until(stop, search) is None
    never.set()


def test_what_a_search_raises_is_raised():
    def search():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_until(threading.Event(), search)


def test_offers_outside_of_an_interruptible_search_are_ignored():
    offer(lambda: pytest.fail("nobody asked"))


def test_an_interrupted_solve_has_a_plan_and_its_bound():
    """The search of this problem goes on for its whole time limit; it is stopped once it has a plan."""
    stop = threading.Event()
    threading.Timer(4.0, stop.set).start()
    profiles = [*shipped_profiles(), *second_type()]
    plan = solve(two_type_problem(100, seed=1), profiles=profiles, time_limit_s=20, stop=stop)
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert plan.runtime_s < 15


def test_an_interrupted_solve_under_mps_has_a_heuristic_plan_at_least():
    """Its search begins with a plan, so there is one from the first moment that anything was looked up."""
    stop = threading.Event()
    threading.Timer(3.0, stop.set).start()
    plan = solve(random_mps_problem(100, 0), time_limit_s=25, stop=stop)
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE
