"""The first choices of what to serve are valid before any program is solved, and bounds hold for them."""

import pytest
from igniter_instances import random_mps_problem
from instances import random_problem

from sliceplan.solver.check import check
from sliceplan.solver.exact.most_valuable import most_valuable
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact import unproven
from sliceplan.solver.planners.igniter import placed_on_each


class EnoughError(Exception):
    """Ends a search."""


def first_answers(resolved, number):
    """Returns what a search says first."""
    heard = []

    def listen(found):
        heard.append(found)
        if len(heard) == number:
            raise EnoughError

    with pytest.raises(EnoughError):
        most_valuable(resolved, known=placed_on_each(resolved), on_answer=listen, time_limit_s=60)
    return heard


def resolved_with(problem, count):
    (entry,) = problem.fleet
    fleet = (entry.model_copy(update={"count": count}),)
    return resolve(problem.model_copy(update={"fleet": fleet}), shipped_profiles())


def assert_served(resolved, choice):
    """The choice's GPUs serve its workloads, as the check of plans has it."""
    rest = resolved.restricted_to(choice.served)
    search = Search(stopped="interrupted", time_limit_s=60, solver=None)
    plan = unproven(rest, choice.gpus(), search)
    assert check(rest.problem, plan, shipped_profiles()) == []


@pytest.mark.parametrize(
    ("problem", "count"), [(random_problem(1500, seed=1), 400), (random_mps_problem(100, 0), 20)], ids=["mig", "mps"]
)
def test_the_first_choice_serves_a_good_part_on_the_gpus_that_there_are(problem, count):
    resolved = resolved_with(problem, count)
    (first,) = first_answers(resolved, 1)
    assert len(first.served) > len(problem.workloads) / 3
    assert_served(resolved, first)


def test_the_choice_of_the_program_is_served_by_the_gpus_that_it_gives():
    resolved = resolved_with(random_problem(40, seed=1), 8)
    found = most_valuable(resolved, on_answer=lambda _: None, time_limit_s=30)
    assert 0 < len(found.served) < 40
    assert len(found.served) == found.most
    assert_served(resolved, found)


def test_sets_that_are_not_all_prove_nothing_about_what_must_be_left_out():
    """So many different services make more sets of residents than are listed: with those alone, 43 can be served."""
    resolved = resolved_with(random_mps_problem(100, 0), 20)
    first, bounded = first_answers(resolved, 2)
    assert len(first.served) > 43
    assert len(first.served) <= bounded.most < 100


def test_under_mps_a_class_of_equal_services_is_served_in_part():
    problem = random_mps_problem(4, 0)
    same = [one.model_copy(update={"name": f"w{i}"}) for i, one in enumerate(problem.workloads * 4)]
    resolved = resolved_with(problem.model_copy(update={"workloads": tuple(same)}), 2)
    found = most_valuable(resolved, on_answer=lambda _: None, time_limit_s=10)
    assert 0 < len(found.served) < len(same)
    assert len(found.served) <= found.most
    assert_served(resolved, found)
