"""The first choices of what to serve are valid before any program is solved, and bounds hold for them."""

import time

import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import problem_of, random_problem, second_type, two_type_problem

from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.exact.shedding import most_valuable as most_valuable_module
from sliceplan.solver.exact.shedding.first_choice import (
    first_choice,
    most_value,
    order_of_choice,
    prices_to_choose_by,
    prices_without_counts,
)
from sliceplan.solver.exact.shedding.longest_beginning import longer_beginnings
from sliceplan.solver.exact.shedding.most_served import most_served
from sliceplan.solver.exact.shedding.most_valuable import most_valuable
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.answers import of_known
from sliceplan.solver.planners.igniter import placed_on_each

SHIPPED = shipped_profiles()

BOTH_TYPES = [*SHIPPED, *second_type()]


class EnoughError(Exception):
    """Ends a search."""


def first_answer(resolved, is_one):
    """Returns the first thing that a search says which is so."""
    heard = []

    def listen(found):
        if is_one(found):
            heard.append(found)
            raise EnoughError

    with pytest.raises(EnoughError):
        most_valuable(resolved, known=placed_on_each(resolved), on_answer=listen, time_limit_s=60)
    return heard[0]


def resolved_with(problem, count):
    (entry,) = problem.fleet
    fleet = (entry.model_copy(update={"count": count}),)
    return resolve(problem.model_copy(update={"fleet": fleet}), shipped_profiles())


def assert_served(resolved, choice, profiles=SHIPPED):
    """The choice's GPUs serve its workloads, as the check of plans has it."""
    rest = resolved.restricted_to(choice.served)
    search = Search(stopped="interrupted", time_limit_s=60, solver=None)
    plan = of_known(rest, choice.gpus(), search)
    plan = completed(rest.problem, plan, profiles)
    assert check(rest.problem, plan, profiles) == []


@pytest.mark.parametrize(
    ("problem", "count"), [(random_problem(1500, seed=1), 400), (random_mps_problem(100, 0), 20)], ids=["mig", "mps"]
)
def test_the_first_choice_serves_a_good_part_on_the_gpus_that_there_are(problem, count):
    resolved = resolved_with(problem, count)
    first = first_answer(resolved, lambda found: found.served)
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
    assert len(first_answer(resolved, lambda found: found.served).served) > 43
    bounded = first_answer(resolved, lambda found: found.most < 100)
    assert len(bounded.served) <= bounded.most


@pytest.mark.parametrize("gpus", [1, 3, 7, 20])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_bound_by_prices_is_no_less_than_the_program_can_serve(gpus, seed):
    problem = random_problem(20, seed)
    worth = [float(w % 4) for w in range(20)]
    workloads = [one.model_copy(update={"value": v}) for one, v in zip(problem.workloads, worth, strict=True)]
    resolved = resolved_with(problem.model_copy(update={"workloads": tuple(workloads)}), gpus)
    prices = prices_without_counts(resolved, deadline=time.monotonic() + 60)
    program = most_served(resolved, worth=worth, time_limit_s=60)
    served = sum(value for value, is_served in zip(worth, program.served, strict=True) if is_served)
    assert served <= most_value(resolved, prices) <= sum(worth)
    chosen, _ = first_choice(resolved, None, prices, time_limit_s=60)
    assert sum(worth[w] for w in chosen) <= served


def test_two_thousand_services_have_a_choice_that_the_bound_by_prices_proves():
    resolved = resolved_with(random_problem(2000, seed=0), 560)
    found = most_valuable(resolved, on_answer=lambda _: None, time_limit_s=60)
    assert len(found.served) == found.most
    assert_served(resolved, found)


@pytest.mark.parametrize("counts", [(96, 20), (40, 60), (0, 90)])
def test_of_two_types_the_scarce_one_is_kept_for_those_who_need_it(counts):
    """At prices without counts alone the first choice left out many more: 35 of 300 where the program left out one."""
    resolved = resolve(_of_two_types(300, counts), BOTH_TYPES)
    found = most_valuable(resolved, enough=0.98, on_answer=lambda _: None, time_limit_s=60)
    assert 0.98 * found.most <= len(found.served) <= found.most
    assert_served(resolved, found, BOTH_TYPES)


@pytest.mark.parametrize("counts", [(0, 1), (1, 1), (2, 1)])
@pytest.mark.parametrize("seed", [1, 2])
def test_at_any_prices_the_bound_is_no_less_than_the_program_can_serve(counts, seed):
    resolved = resolve(_of_two_types(12, counts, seed), BOTH_TYPES)
    worth = [float(1 + w % 3) for w in range(12)]
    workloads = [one.model_copy(update={"value": v}) for one, v in zip(resolved.problem.workloads, worth, strict=True)]
    problem = resolved.problem.model_copy(update={"workloads": tuple(workloads)})
    resolved = resolve(problem, BOTH_TYPES)
    program = most_served(resolved, worth=worth, time_limit_s=60)
    served = sum(value for value, is_served in zip(worth, program.served, strict=True) if is_served)
    for prices in prices_to_choose_by(resolved, deadline=time.monotonic() + 60):
        most = most_value(resolved, prices)
        assert served <= most <= sum(worth)
        first = first_choice(resolved, None, prices, time_limit_s=60)
        fits = 0 if first is None else len(first[0])
        order = order_of_choice(resolved, prices)
        longer = list(longer_beginnings(resolved, order, None, fits=fits, most=most, time_limit_s=60))
        assert all(sum(worth[w] for w in chosen) <= served for chosen, _ in longer)


def _of_two_types(count, counts, seed=5):
    problem = two_type_problem(count, seed)
    fleet = [entry.model_copy(update={"count": n}) for entry, n in zip(problem.fleet, counts, strict=True)]
    return problem.model_copy(update={"fleet": tuple(fleet)})


def test_under_mps_a_class_of_equal_services_is_served_in_part():
    problem = random_mps_problem(4, 0)
    same = [one.model_copy(update={"name": f"w{i}"}) for i, one in enumerate(problem.workloads * 4)]
    resolved = resolved_with(problem.model_copy(update={"workloads": tuple(same)}), 2)
    found = most_valuable(resolved, on_answer=lambda _: None, time_limit_s=10)
    assert 0 < len(found.served) < len(same)
    assert len(found.served) <= found.most
    assert_served(resolved, found)


def test_one_service_alone_is_tried_where_nothing_is_known_to_fit(monkeypatch):
    """Both do not, the first choice has none, and a beginning of one is looked for all the same."""
    monkeypatch.setattr(most_valuable_module, "first_choice", lambda *_, **__: None)
    services = [{"model": "bert", "rate_rps": 500, "slo_ms": 300} for _ in range(2)]
    resolved = resolved_with(problem_of(services), 1)
    choices = list(most_valuable_module._first_choices(resolved, None, iter(()), 2.0, 20.0))
    assert max(len(one.served) for one in choices) == 1


@pytest.mark.parametrize("known", [[], [0]])
def test_of_very_many_services_the_large_program_is_asked_only_where_nothing_else_is_served(monkeypatch, known):
    resolved = resolved_with(problem_of([{"model": "bert", "rate_rps": 500, "slo_ms": 300} for _ in range(2)]), 1)
    first = most_valuable_module.MostValuable(known, 2.0)
    monkeypatch.setattr(most_valuable_module, "MOST_FOR_PROGRAM", 1)
    monkeypatch.setattr(most_valuable_module, "_first_choices", lambda *_: iter([first]))
    asked, program = [], most_valuable_module.most_served
    monkeypatch.setattr(most_valuable_module, "most_served", lambda *a, **k: asked.append(a) or program(*a, **k))
    found = most_valuable(resolved, on_answer=lambda _: None, time_limit_s=10)
    assert len(found.served) == 1
    assert bool(asked) == (not known)
    assert found.most == (2.0 if known else 1.0)
