"""Drawn problems by intervals and CBC against enumeration: costs, and layouts on which nothing overlaps."""

from fractions import Fraction
from types import SimpleNamespace

import pulp
import pytest
from oracles.mig_oracle import GEOMETRY, LOOSE, least_cost
from problems.instances import problem_of, second_type
from problems.mig_draws import small_problem

from sliceplan.solver.exact.cross_check import interval_packing as module
from sliceplan.solver.exact.cross_check.interval_packing import IntervalPacking, solve_interval_packing
from sliceplan.solver.exact.cross_check.interval_program import coupled_sizes
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable


def exact_price(resolved, gpu):
    return Fraction(f"{resolved.fleet_by_name[gpu].price_per_hour:.12g}")


def assert_holds(resolved, gpus):
    """Asserts that placements are allowed and apart, GPUs are there, and rates and replicas are as asked for."""
    carried, replicas = [0.0] * len(resolved.required_rps), [0] * len(resolved.required_rps)
    for gpu in gpus:
        taken = []
        for (k, w), start in zip(gpu.segments, gpu.starts, strict=True):
            size = resolved.sizes[k]
            assert size.gpu == gpu.gpu
            length, starts = GEOMETRY[gpu.gpu].get(size.name, (8, (0,)))
            assert start in starts
            taken += range(start, start + length)
            carried[w] += float(resolved.capacity_rps[w, k])
            replicas[w] += 1
        assert len(set(taken)) == len(taken)
    for w, workload in enumerate(resolved.problem.workloads):
        assert carried[w] >= float(resolved.required_rps[w]) * (1 - 1e-9)
        assert workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w])
    for entry in resolved.fleet:
        assert entry.available is None or sum(gpu.gpu == entry.gpu.name for gpu in gpus) <= entry.available


# Of one to four services on one to three types, with counts, and prices near each other or far apart.
@pytest.mark.parametrize("seed", [0, 10, 20, 23, 25, 29, 33, 34, 53, 55])
def test_drawn_problems_cost_what_enumeration_says(seed):
    problem, profiles = small_problem(seed)
    resolved = resolve(problem, profiles)
    strict, loose = least_cost(problem, profiles), least_cost(problem, profiles, LOOSE)
    assert not unservable(resolved)
    answer = solve_interval_packing(resolved, time_limit_s=30)
    if strict is None:
        assert (answer.stopped, answer.gpus, answer.cost_bound) == ("infeasible", None, None)
        return
    assert_holds(resolved, answer.gpus)
    cost = sum(exact_price(resolved, gpu.gpu) for gpu in answer.gpus)
    assert float(loose) * (1 - 1e-9) <= cost <= float(strict) * (1 + 1e-9)
    assert answer.stopped == "proved"
    assert answer.cost_bound == pytest.approx(float(cost), rel=1e-12)


PROFILES = shipped_profiles()
OPTIMAL, STOPPED = pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible
SERVICES = [{"model": model, "rate_rps": rate, "slo_ms": 200} for model, rate in (("resnet50", 2700), ("vgg19", 1300))]


def resolved_of(price, count=None):
    entry = {"gpu": "A100-80GB", "price_per_hour": price, "sharing": ["mig"]}
    return resolve(problem_of(SERVICES, fleet=[entry if count is None else {**entry, "count": count}]), PROFILES)


def test_prices_of_many_steps_are_counted_in_coarser_units_of_which_one_is_unsure():
    exact = module._prices(resolved_of(2.35))
    assert (exact.steps, exact.step, exact.unit, exact.units, exact.unsure) == ([1], Fraction("2.35"), 1, [1], 0)
    fleet = [
        {"gpu": gpu, "price_per_hour": usd, "sharing": ["mig"]}
        for gpu, usd in (("A100-80GB", 1.2345678), ("A30-24GB", 0.0007))
    ]
    coarse = module._prices(resolve(problem_of(SERVICES, fleet=fleet), PROFILES))
    assert coarse.steps == [6172839, 3500]
    assert coarse.unit == 7
    assert coarse.units == [881834, 500]
    assert coarse.unsure == 1
    # Ten thousand steps are stated as they are, one more in units.
    for dear, unit in ((1.0, 1), (1.0001, 1)):
        two = [{**fleet[0], "price_per_hour": dear}, {**fleet[1], "price_per_hour": 0.0001}]
        assert module._prices(resolve(problem_of(SERVICES, fleet=two), PROFILES)).unit == unit


def settled(monkeypatch, cost, least, rounds, *, fleets=((9,),)):
    """Returns how a plan of so many GPUs ends where each round of fleets ends in a status and a number of GPUs."""
    resolved, left = resolved_of(1.0), list(rounds)
    plan = solve_interval_packing(resolved, time_limit_s=20).gpus[:1]
    monkeypatch.setattr(module, "cheaper_fleets", lambda *_, **__: fleets)

    def within(_, asked):
        assert asked is fleets
        status, number = left.pop(0)
        return status, None if number is None else plan * number

    monkeypatch.setattr(module, "_within", within)
    cbc = module._Cbc(resolved, 0.0)
    found = module._settled(cbc, module._prices(resolved), least, plan * cost)
    assert not left
    return found.stopped, len(found.gpus), found.cost_bound


@pytest.mark.parametrize(
    ("cost", "least", "rounds", "answer"),
    [
        (5, 5, [], ("proved", 5, 5.0)),
        (5, 4, [(OPTIMAL, None)], ("proved", 5, 5.0)),
        (5, 4, [(OPTIMAL, 4)], ("proved", 4, 4.0)),
        (7, 4, [(OPTIMAL, 6), (OPTIMAL, 5), (OPTIMAL, None)], ("proved", 5, 5.0)),
        (7, 4, [(OPTIMAL, 6), (STOPPED, None)], ("time_limit", 6, 4.0)),
    ],
)
def test_fleets_between_the_limit_and_the_plan_are_ruled_out_or_give_a_cheaper_one(
    monkeypatch, cost, least, rounds, answer
):
    assert settled(monkeypatch, cost, least, rounds) == answer


def test_without_cheaper_fleets_a_plan_is_proven_and_with_too_many_it_is_not(monkeypatch):
    assert settled(monkeypatch, 5, 4, [], fleets=[]) == ("proved", 5, 5.0)
    assert settled(monkeypatch, 5, 4, [], fleets=None) == ("gap_left", 5, 4.0)


def test_gpus_that_are_missing_are_proven_before_anything_is_priced(monkeypatch):
    need = len(solve_interval_packing(resolved_of(2.0), time_limit_s=20).gpus)
    assert need > 1
    assert solve_interval_packing(resolved_of(2.0, need), time_limit_s=20).stopped == "proved"
    monkeypatch.setattr(module, "_prices", None)
    answer = solve_interval_packing(resolved_of(2.0, need - 1), time_limit_s=20)
    assert answer == IntervalPacking("infeasible", "CBC through PuLP: GPUs are missing, proven")


def test_gpus_of_one_type_may_be_missing_where_there_are_as_many_of_another_as_needed():
    """The first service may be on A100s alone."""
    services = [
        {**SERVICES[0], "rate_rps": 9000, "gpus": ["A100-80GB"]},
        {"model": "resnet50", "rate_rps": 10, "slo_ms": 200},
    ]
    ends = []
    for count in (1, 4):
        fleet = [
            {"gpu": "A100-80GB", "price_per_hour": 1.0, "sharing": ["mig"], "count": count},
            {"gpu": "H100-80GB-SXM", "price_per_hour": 3.0, "sharing": ["mig"]},
        ]
        resolved = resolve(problem_of(services, fleet=fleet), [*PROFILES, *second_type()])
        answer = solve_interval_packing(resolved, time_limit_s=20)
        ends.append(str(answer.stopped))
        assert answer.gpus is None or sum(gpu.gpu == "A100-80GB" for gpu in answer.gpus) <= count
    assert ends[0] == "infeasible"
    assert ends[-1] == "proved"


def test_sizes_with_engine_limits_are_told():
    sizes = [("1g", SimpleNamespace(kind="variant")), ("2g", SimpleNamespace(kind="plain")), ("whole", None)]
    resolved = SimpleNamespace(sizes=[Size(name, mig) for name, mig in sizes])
    assert coupled_sizes(resolved) == ["1g"]


class Size:
    """A size that says its name."""

    def __init__(self, name, mig):
        self.name, self.mig = name, mig

    def __str__(self):
        return self.name
