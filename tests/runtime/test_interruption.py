"""A search that is interrupted, or goes on after its deadline, ends with its last offer."""

import subprocess
import sys
import threading
import time

import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import second_type, two_type_problem
from support.waiting import wait_until

from sliceplan.solver.api import WrongPlanError, solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.runtime import interruption
from sliceplan.solver.runtime.deadline import at_most_left, seconds_left, until
from sliceplan.solver.runtime.interruption import (
    GivenUpError,
    Watch,
    best_so_far,
    heard_as,
    interruptible_by,
    offer,
    runs_on,
    unheard,
)
from sliceplan.solver.runtime.progress import listening

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


def test_a_search_that_was_told_to_end_where_nothing_can_be_raised_is_told_again(monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", lambda error: ignored.append(error.exc_type))

    class Object:
        def __del__(self):
            while True:  # until it is told to end, which Python lets nobody outside know
                time.sleep(0.001)

    def search_on():
        Object()
        while True:
            time.sleep(0.001)

    assert overdue("first", search_on=search_on) == ("first", "time_limit")
    wait_until(lambda: not runs_on())
    assert ignored == [GivenUpError]


LEFT_BEHIND = """
import time
from sliceplan.solver.runtime.interruption import best_so_far

def search():
    try:
        time.sleep({seconds})
    finally:
        print("ended", flush=True)

print(best_so_far(search, lambda _: "nothing", deadline=time.monotonic()), flush=True)
"""


@pytest.mark.parametrize(("seconds", "said"), [(0.7, "nothing\nended\n"), (60, "nothing\n")])
def test_the_interpreter_ends_after_a_search_that_was_given_up_but_not_for_ever(seconds, said):
    """Else a solver that comes back to a Python that ends takes the process with it."""
    script = LEFT_BEHIND.format(seconds=seconds)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


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


def test_an_interrupted_solve_has_a_plan_and_its_bound(monkeypatch):
    """It is stopped once it has a plan, while it looks for a better one."""
    stop, never = threading.Event(), threading.Event()

    def goes_on(*_, **__):
        stop.set()
        never.wait(NEVER_S)
        raise RuntimeError("nobody was to wait for this")

    monkeypatch.setattr(decomposition, "counted_plan", goes_on)
    profiles = [*shipped_profiles(), *second_type()]
    with interruptible_by(stop):
        plan = solve(two_type_problem(100, seed=1), profiles=profiles, time_limit_s=NEVER_S)
    never.set()
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert plan.runtime_s < 15


def test_an_interrupted_solve_under_mps_has_a_heuristic_plan_at_least():
    """Its search begins with a plan, so there is one from the first moment that anything was looked up."""
    stop = threading.Event()
    threading.Timer(3.0, stop.set).start()
    with interruptible_by(stop):
        plan = solve(random_mps_problem(300, 0), time_limit_s=25)
    assert plan.search.stopped == "interrupted"
    assert plan.status is Status.FEASIBLE


@pytest.fixture
def at_once(monkeypatch):
    """Lets whoever watches see every offer as it comes."""
    monkeypatch.setattr(interruption, "WATCHED_FROM_S", 0.0)
    monkeypatch.setattr(interruption, "REST", 0)


def watched(steps, make=lambda answer: answer):
    """Returns what a search gives and what is shown of its offers: step by step, each after the one before is seen."""
    shown, failed = [], []

    def search():
        for number, answer in enumerate(steps, 1):
            offer(lambda _, answer=answer: answer)
            wait_until(lambda number=number: len(shown) + len(failed) == number)
        return "found"

    found = best_so_far(search, nothing, watch=Watch(make, shown.append, failed.append))
    return found, shown, failed


@pytest.mark.usefixtures("at_once")
def test_who_watches_is_shown_each_offer_and_not_the_answer():
    assert watched(["first", "second"]) == ("found", ["first", "second"], [])


@pytest.mark.usefixtures("at_once")
def test_what_fails_to_be_made_is_said_and_the_search_goes_on():
    found, shown, failed = watched([0, 2], lambda answer: 10 // answer)
    assert (found, shown) == ("found", [5])
    assert [type(error) for error in failed] == [ZeroDivisionError]


@pytest.mark.usefixtures("at_once")
def test_only_the_latest_of_many_offers_is_built():
    """While one is made, others come; of these the last one is next, and none is made of those between."""
    made, shown, go = [], [], threading.Event()

    def make(answer):
        made.append(answer)
        go.wait(NEVER_S)
        return answer

    def search():
        for answer in range(6):
            offer(lambda _, answer=answer: answer)
            wait_until(lambda: made)
        go.set()
        wait_until(lambda: shown and shown[-1] == 5)

    best_so_far(search, nothing, watch=Watch(make, shown.append, pytest.fail))
    assert made[0] == 0
    assert made == shown == [0, 5]


def test_a_search_that_ends_soon_builds_nothing_for_who_watches():
    found = best_so_far(
        lambda: offer(lambda _: pytest.fail("it was built")) or "found",
        nothing,
        watch=Watch(pytest.fail, pytest.fail, pytest.fail),
    )
    assert found == "found"


@pytest.mark.usefixtures("at_once")
def test_an_offer_that_is_being_built_when_the_search_ends_is_given_up():
    building = []

    def make(_):
        building.append(threading.current_thread())
        while True:
            time.sleep(0.001)

    def search():
        offer(lambda _: "first")
        wait_until(lambda: building)
        return "found"

    assert best_so_far(search, nothing, watch=Watch(make, pytest.fail, pytest.fail)) == "found"
    wait_until(lambda: not building[0].is_alive())


@pytest.mark.usefixtures("at_once")
def test_a_plan_so_far_holds_and_is_what_an_interruption_gives():
    """The search of this problem goes on for its whole time limit; it is stopped when a plan with a bound is shown."""
    problem = random_mps_problem(300, 0)
    stop, seen = threading.Event(), []

    def look(plan):
        seen.append(plan)
        if plan.gap is not None:
            stop.set()

    with interruptible_by(stop):
        plan = solve(problem, time_limit_s=25, on_plan=look)
    for so_far in seen:
        assert (so_far.status, so_far.search.stopped) == (Status.FEASIBLE, "interrupted")
        assert check(problem, so_far, shipped_profiles()) == []
        assert so_far.metrics is not None
    last = seen[-1]
    assert 0 < last.bound.cost_per_hour <= plan.bound.cost_per_hour <= plan.cost_per_hour <= last.cost_per_hour
    assert last.runtime_s <= plan.runtime_s < 25


@pytest.mark.usefixtures("at_once")
def test_a_plan_so_far_that_does_not_hold_is_not_shown(monkeypatch):
    """The first plan to be checked is made wrong on its way; the search goes on, and says so."""
    heard, seen, stop = [], [], threading.Event()

    def wrong(*_):
        monkeypatch.undo()
        raise WrongPlanError("it does not hold")

    def hear(said):
        heard.append(said.text)
        if "not shown" in said.text:
            stop.set()

    monkeypatch.setattr("sliceplan.solver.api.finishing.completed", wrong)
    with interruptible_by(stop), listening(hear):
        plan = solve(random_mps_problem(300, 0), time_limit_s=25, on_plan=seen.append)
    assert seen == []
    assert any(text.startswith("a plan so far is not shown: WrongPlanError: it does not hold") for text in heard)
    assert plan.gpus


def test_what_a_search_within_names_is_no_answer_of_the_one_around_it():
    stop, never = threading.Event(), threading.Event()

    def search():
        offer(lambda _: "around")
        with unheard():
            offer(lambda _: "within")
        stop.set()
        never.wait(NEVER_S)

    with interruptible_by(stop):
        assert best_so_far(search, nothing) == "around"
    never.set()


def test_what_a_search_within_another_names_is_told_anew():
    def search():
        offer(lambda _: "own")
        with heard_as(lambda found: f"made of {found}"):
            offer(lambda _: "first")
            offer(lambda stopped: f"second, {stopped}")
        time.sleep(5)

    found = best_so_far(search, lambda _: "nothing", deadline=time.monotonic() + 0.1)
    assert found == f"made of second, {StopReason.TIME_LIMIT}"
    with heard_as(lambda found: found):
        offer(lambda _: "to nobody")
