"""The first choices of what to serve are valid before any program is solved, and bounds hold for them."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import problem_of, random_problem, second_type, two_type_problem

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.exact.mps.columns import Column
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


def worth_of(*worth, least=1, most=None, **more):
    workloads = [SimpleNamespace(worth=float(one), min_replicas=least, max_replicas=most) for one in worth]
    settings = SimpleNamespace(keeps_spares=False)
    return SimpleNamespace(problem=SimpleNamespace(workloads=workloads, settings=settings), **more)


def on(gpu, *workloads):
    return MpsGpu(gpu, tuple(Resident(w, 1, 50.0) for w in workloads))


@pytest.mark.parametrize(
    ("available", "served"),
    [
        # The first GPU carries 7, the second 2 + 3, the third 3 + 3, the fourth, of another type, 1.
        ({"A": 3, "B": 1}, [0, 1, 2, 3, 4]),
        ({"A": None, "B": 0}, [0, 1, 2, 3]),
        ({"A": 2, "B": 1}, [0, 3, 4]),
        ({"A": 1, "B": 1}, [0, 4]),
        ({"A": 0, "B": None}, [4]),
    ],
)
def test_the_gpus_of_most_value_are_kept_and_of_a_workload_on_two_each_counts_a_half(available, served):
    gpus = [on("A", 1, 2), on("A", 0), on("A", 2, 3), on("B", 4)]
    fleet = {gpu: SimpleNamespace(available=count) for gpu, count in available.items()}
    found = most_valuable_module._on_their_best(worth_of(7, 2, 6, 3, 1, fleet_by_name=fleet), gpus, 19.0)
    assert (found.served, found.most) == (served, 19.0)
    # They are numbered among those that are served, whoever else was on their GPUs.
    left = [[served[one.workload] for one in gpu.residents] for gpu in found.gpus()]
    assert left == [kept for gpu in gpus if (kept := [w for w in gpu.workloads if w in served])]


@pytest.mark.parametrize(
    ("least", "most", "served"), [(1, None, [0, 1]), (2, None, [1]), (3, None, []), (1, 1, [0]), (1, 2, [0, 1])]
)
def test_who_has_too_few_replicas_on_them_or_too_many_is_not_served(least, most, served):
    """One has one, the next has two, one of them beside the first; another one of the same GPU is a replica, too."""
    fleet = {"A": SimpleNamespace(available=None)}
    resolved = worth_of(1, 1, 1, least=least, most=most, fleet_by_name=fleet)
    assert most_valuable_module._on_their_best(resolved, [on("A", 0, 1), on("A", 1)], 3.0).served == served
    assert most_valuable_module._on_their_best(resolved, [on("A", 0, 1, 1)], 3.0).served == served


def test_of_two_choices_the_better_one_is_taken_with_the_lower_bound_of_the_two():
    better, choice = most_valuable_module._better, most_valuable_module.MostValuable
    one, other = choice([0, 1], 9.0), choice([2], 8.0)
    for worth, served in (((1, 1, 3), [2]), ((1, 1, 2), [0, 1]), ((1, 2, 2), [0, 1])):
        found = better(worth, one, other)
        assert (found.served, found.most) == (served, 8.0)
    found = better((1, 1, 2), other, one)
    assert (found.served, found.most) == ([2], 8.0)


def choices(monkeypatch, *, bounds, known=(), first=None, mps=(), seconds=60.0):
    """Returns the first choices where prices have these bounds, and what the others were asked with."""
    asked = {}

    def longer(_, order, rules, *, fits, most, **__):
        asked["longer"] = (order, rules, fits, most)
        yield [0, 1, 2], "longer"

    def first_of(_, rules, prices, **__):
        asked["first"] = (prices, rules)
        return first

    patched = {
        "prices_to_choose_by": lambda *_, **__: iter(range(len(bounds))),
        "most_value": lambda _, prices: bounds[prices],
        "first_choice": first_of,
        "longer_beginnings": longer,
        "order_of_choice": lambda _, prices: f"order {prices}",
        "_on_their_best": lambda _, gpus, most: most_valuable_module.MostValuable([gpus], most),
        "_built_gpus": lambda part, built: (part, built),
    }
    for name, value in patched.items():
        monkeypatch.setattr(most_valuable_module, name, value)
    resolved = worth_of(1, 1, 1, mps=mps, restricted_to=lambda rows: rows)
    found = most_valuable_module._first_choices(resolved, "rules", iter(known), 3.0, seconds)
    return [(one.served, one.most, one.gpus()) for one in found], asked


def test_first_come_known_gpus_then_bounds_then_what_fits_at_the_prices_that_prove_most(monkeypatch):
    found, asked = choices(monkeypatch, bounds=[2.5, 1.5, 2.0], first=([1], "built"))
    assert found == [
        *(([], most, []) for most in (2.5, 1.5, 1.5)),
        ([1], 1.5, ([1], "built")),
        ([0, 1, 2], 1.5, ([0, 1, 2], "longer")),
    ]
    assert asked == {"first": (1, "rules"), "longer": ("order 1", "rules", 1, 1.5)}
    # No bound is above what all are worth; of equal ones the last is taken, and where none fit, none are known to.
    found, asked = choices(monkeypatch, bounds=[4.0, 4.0])
    assert found == [([], 3.0, []), ([], 3.0, []), ([0, 1, 2], 3.0, ([0, 1, 2], "longer"))]
    assert asked == {"first": (1, "rules"), "longer": ("order 1", "rules", 0, 3.0)}


@pytest.mark.parametrize(("seconds", "later"), [(60.0, [5, 6]), (-1.0, [])])
def test_of_known_gpus_the_first_come_before_bounds_and_the_others_while_there_is_time(monkeypatch, seconds, later):
    """Under MPS no longer beginnings are looked for: these are of partitions alone."""
    found, asked = choices(monkeypatch, bounds=[2.0], known=[4, 5, 6], mps={"A": None}, seconds=seconds)
    assert [(served, most) for served, most, _ in found] == [([4], 3.0), ([], 2.0), *(([w], 2.0) for w in later)]
    assert "longer" not in asked


@pytest.mark.parametrize(
    ("enough", "proves", "most", "served"),
    [
        (1.0, True, 4.0, [0, 1, 2, 3]),  # the program serves all, and says so
        (0.5, True, 6.0, [0, 1, 2]),  # what is known is half of the bound: enough
        (0.51, True, 4.0, [0, 1, 2, 3]),
        (1.0, False, 5.0, [0, 1, 2, 3]),  # of sets that are not all the program proves nothing, the fluid does
    ],
)
def test_a_choice_that_is_not_near_its_bound_is_bettered_by_the_program(monkeypatch, enough, proves, most, served):
    told, programs = [], []

    def program(_, *, shared, **options):
        programs.append((shared, options.get("spare")))
        if shared == "fluid":
            return SimpleNamespace(most=5.0)
        found = SimpleNamespace(served=[True] * 4, most=4.0)
        options["on_answer"](SimpleNamespace(served=[True, False, False, False], most=4.5))
        return found

    choice = most_valuable_module.MostValuable
    patched = {
        "spare_rules": lambda _: None,
        "_first_choices": lambda *_: iter([choice([0, 1, 2], 7.0), choice([3], 6.0)]),
        "_shared_part": lambda *_: ("items", "sets", proves),
        "as_fluid": lambda _: "fluid",
        "most_served": program,
        "_gpus_for": lambda _, items, __, served: (items, served),
    }
    for name, value in patched.items():
        monkeypatch.setattr(most_valuable_module, name, value)
    resolved = worth_of(1, 1, 1, 3)
    found = most_valuable(resolved, enough=enough, on_answer=told.append, time_limit_s=60.0)
    assert (found.served, found.most) == (served, most)
    # Of equal value the first that was found stays; a bound above what all are worth is none.
    heard = [(one.served, one.most) for one in told]
    assert heard[:2] == [([0, 1, 2], 6.0)] * 2
    if len(served) == 4:
        assert found.gpus() == ("items", served)
        assert heard[2:] == ([([0, 1, 2], 4.5)] if proves else [([0, 1, 2], 5.0), ([0, 1, 2], 5.0)])
    assert (
        programs
        == [[], [("sets", None)], [("fluid", None), ("sets", None)]][0 if len(served) < 4 else 1 if proves else 2]
    )


@pytest.mark.parametrize(("rules", "asked"), [(None, [["gpus"]]), ("rules", [[]])])
def test_mps_keeps_no_partitions_free_so_known_gpus_are_no_choice_then(monkeypatch, rules, asked):
    """The sets of residents of those that were looked at are columns of the program, too."""
    seen = []

    def first_choices(_, own_rules, known, *__):
        assert own_rules == rules
        list(known)
        return iter(())

    patched = {
        "spare_rules": lambda _: rules,
        "_first_choices": first_choices,
        "_shared_part": lambda _, placed: seen.append(list(placed)) or ((), None, True),
        "most_served": lambda *_, spare, **__: SimpleNamespace(served=[spare is not None], most=1.0),
    }
    for name, value in patched.items():
        monkeypatch.setattr(most_valuable_module, name, value)
    found = most_valuable(worth_of(1), known=["gpus"], on_answer=lambda _: None, time_limit_s=60.0)
    assert seen == asked
    assert found.served == ([0] if rules else [])


def column(*items, batches=()):
    return Column("A", items, batches, 10)


@pytest.mark.parametrize(
    ("splits", "complete", "possible", "proves"),
    [(False, True, True, True), (True, True, True, False), (False, False, True, False), (False, True, False, False)],
)
def test_sets_bound_the_value_where_they_are_all_and_each_can_be_and_no_rate_is_split(
    monkeypatch, splits, complete, possible, proves
):
    sets = [
        SimpleNamespace(columns=[column(0), column(1)], complete=True),
        SimpleNamespace(columns=[column(0, 1, batches=() if possible else None)], complete=complete),
    ]
    patched = {
        "mps_items": lambda *_, **__: SimpleNamespace(items="items", splits=splits),
        "item_tables": lambda *_: range(2),
        "enumerate_columns": sets.__getitem__,
        "columns_of_gpus": lambda *of: of[2],
        "by_columns": lambda *of: of[2],
    }
    for name, value in patched.items():
        monkeypatch.setattr(most_valuable_module, name, value)
    known = [[column(1), column(1, 1)], [column(2, 2, batches=None)]]
    items, columns, is_bound = most_valuable_module._shared_part(SimpleNamespace(mps={"A": None}), known)
    assert (items, is_bound) == ("items", proves)
    # Each once, and those that can be on a GPU.
    assert columns == [column(0), column(1), *([column(0, 1)] if possible else []), column(1, 1)]
    assert most_valuable_module._shared_part(SimpleNamespace(mps={}), ()) == ((), None, True)


def test_residents_of_whom_nobody_is_served_are_left_out(monkeypatch):
    """Services 1 and 3 are served, and are numbered so."""
    monkeypatch.setattr(most_valuable_module, "cut_gpus", lambda rest, _, rows, *__: [(rest, rows.tolist())])
    monkeypatch.setattr(most_valuable_module, "shared_gpus", lambda *of: [(of[2].columns, of[2].residents)])
    shared = SimpleNamespace(columns="columns", residents={7: [0, 1, 3], 8: [2]})
    found = SimpleNamespace(shared=shared, patterns=(), partitions=np.array([[0], [1], [2], [3]]), spares=None)
    resolved = SimpleNamespace(restricted_to=lambda rows: rows)
    gpus = most_valuable_module._gpus_for(resolved, (), found, [1, 3])
    assert gpus == [([1, 3], [[1], [3]]), ("columns", {7: [0, 1], 8: []})]


def test_known_gpus_are_looked_for_no_longer_than_half_of_the_time(monkeypatch):
    """Each takes 12 of 60 s to be found: the first at once, two within the half, and one that goes beyond it."""
    now = [0.0]

    def slow():
        for one in range(9):
            now[0] += 12.0
            yield one

    monkeypatch.setattr(most_valuable_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    found, _ = choices(monkeypatch, bounds=[2.0], known=slow(), mps={"A": None})
    assert [served for served, *_ in found] == [[0], [], [1], [2]]


@pytest.mark.parametrize(
    ("patterns", "partitions", "spares", "gpus"),
    [
        ("cuts", "rows", None, ("part", "cuts", "rows", None)),
        ("cuts", "rows", SimpleNamespace(free="free"), ("part", "cuts", "rows", "free")),
        (None, "rows", None, []),
        ("cuts", None, None, []),
    ],
)
def test_a_plan_that_was_built_is_its_cut_gpus_with_what_is_kept_free(monkeypatch, patterns, partitions, spares, gpus):
    monkeypatch.setattr(most_valuable_module, "cut_gpus", lambda *of: of)
    built = SimpleNamespace(patterns=patterns, partitions=partitions, spares=spares)
    assert most_valuable_module._built_gpus("part", built) == gpus
