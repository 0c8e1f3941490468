"""The first plan under MPS: it holds, there is one wherever every service can be served, and nobody waits for it."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems.igniter_instances import FLEET, V100, mps_problems, random_mps_problem, table_3
from problems.instances import problem_of, random_problem
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet import first_fleet as first_fleet_module
from sliceplan.solver.exact.fleet.first_fleet import first_fleet
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.exact.mps.packed_residents import packed_on_each
from sliceplan.solver.exact.primal.cheapest_ways import CUT
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Search
from sliceplan.solver.performance.fleet_types import FleetType
from sliceplan.solver.performance.igniter_rules import IgniterDemands, demands
from sliceplan.solver.performance.mps_sharing import MpsType
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact_plans.answers import of_known
from sliceplan.solver.planners.igniter import placed_by_igniter

SEARCH = Search(stopped="time_limit", time_limit_s=1, solver=None)


def mixed(count, seed):
    """Returns services of which one half may be cut from A100s and the other may use V100s."""
    services = [*random_problem(count // 2, seed).workloads, *random_mps_problem(count // 2, seed).workloads]
    numbered = [one.model_copy(update={"name": f"w{i}"}).model_dump(mode="json") for i, one in enumerate(services)]
    return problem_of(numbered, fleet=[{"gpu": "A100-80GB", "sharing": ["mig"]}, FLEET[0]])


def first(resolved):
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    return first_fleet(resolved, prices, deadline=time.monotonic() + 60), prices.bound


def assert_holds(resolved, gpus, profiles):
    plan = completed(resolved.problem, of_known(resolved, gpus, SEARCH), profiles)
    assert check(resolved.problem, plan, profiles) == []


@pytest.mark.parametrize(
    "problem", [random_mps_problem(300, 0), table_3(25), mixed(200, 0)], ids=["mps", "table", "mixed"]
)
def test_the_first_plan_holds_and_is_near_the_bound(problem):
    resolved = resolve(problem, shipped_profiles())
    gpus, bound = first(resolved)
    assert_holds(resolved, gpus, shipped_profiles())
    assert bound <= price_of(resolved, gpus) <= 1.3 * bound


@pytest.mark.parametrize("count", [12, 100])
def test_it_packs_nearly_as_tight_as_igniter(count):
    resolved = resolve(random_mps_problem(count, 1), shipped_profiles())
    (packed,) = packed_on_each(resolved)
    by_igniter = placed_by_igniter(resolved, resolved.mps[V100])
    assert len(packed) <= 1.1 * len(by_igniter) + 1


@settings(max_examples=40, deadline=None)
@given(mps_problems())
def test_it_holds_on_fleets_that_mix_kinds_of_sharing(problem):
    """Property: whatever it gives keeps every limit of the problem."""
    resolved = resolve(problem, shipped_profiles())
    if unservable(resolved) or not resolved.mps:
        return
    gpus, bound = first(resolved)
    if gpus is not None:
        assert price_of(resolved, gpus) >= bound * (1 - 1e-9)
        assert_holds(resolved, gpus, shipped_profiles())


@settings(max_examples=40, deadline=None)
@example(5400, "absurd")  # neighbours delay each other beyond all numbers
@given(st.integers(0, 10**6), st.sampled_from(["small", "large", "absurd", "many-replicas"]))
def test_it_packs_all_that_a_type_can_host_over_all_of_what_is_accepted(seed, family):
    """Property: each GPU type that alone can serve all, by iGniter's rules or freely, gets GPUs, and these hold."""
    with small_gpus():
        problem, profiles = drawn(seed, family)
        fleet = tuple(entry.model_copy(update={"count": None}) for entry in problem.fleet)
        problem = problem.model_copy(update={"fleet": fleet})
        try:
            resolved = resolve(problem, profiles)
        except InputError:
            return
        free = problem.settings.mps_rules == "free"
        able = {
            gpu
            for gpu, mps in resolved.mps.items()
            if (not unservable(only_on(resolved, gpu)) if free else isinstance(demands(resolved, mps), IgniterDemands))
        }
        packed = packed_on_each(resolved)
        assert {gpus[0].gpu for gpus in packed} == able
        for gpus in packed:
            assert {w for gpu in gpus for w in gpu.workloads} == set(range(len(problem.workloads)))
            if len(gpus) < 500 and (free or keeps_limits(resolved, gpus)):
                assert_holds(resolved, gpus, profiles)


def only_on(resolved, gpu):
    """Returns the problem on one type under MPS, no partition of which a service has for itself."""
    return replace(resolved, mps={gpu: resolved.mps[gpu]}, capacity_rps=np.zeros_like(resolved.capacity_rps))


def test_memory_and_clients_limit_what_is_packed_together():
    tiny = {"model": "alexnet", "rate_rps": 1, "slo_ms": 100}
    (packed,) = packed_on_each(resolve(problem_of([tiny] * 60, fleet=FLEET), shipped_profiles()))
    assert max(len(gpu.residents) for gpu in packed) <= 48
    heavy = problem_of([{**tiny, "memory_mib": 5000}] * 5 + [tiny] * 2, fleet=FLEET)
    (packed,) = packed_on_each(resolve(heavy, shipped_profiles()))
    assert sorted(sum(w < 5 for w in gpu.workloads) for gpu in packed) == [2, 3]


def test_services_for_which_igniters_batch_size_or_one_gpu_is_not_enough_are_packed_too():
    """Freely: with another batch size, in parts, and with as many replicas as are asked for."""
    services = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 25, "max_replicas": 1},
        {"model": "ssd", "rate_rps": 900, "slo_ms": 200},
        {"model": "alexnet", "rate_rps": 100, "slo_ms": 30, "min_replicas": 3},
    ]
    resolved = resolve(problem_of(services, fleet=FLEET), shipped_profiles())
    gpus, _ = first(resolved)
    assert_holds(resolved, gpus, shipped_profiles())
    replicas = Counter(w for gpu in gpus for w in gpu.workloads)
    assert replicas[0] == 1 < replicas[1]
    assert replicas[2] == 3


@pytest.mark.parametrize("joint", [None, "dear", "cheap"])
@pytest.mark.parametrize("types", [1, 2])
def test_all_on_one_type_are_tried_where_services_where_they_cost_least_have_no_plan_or_types_are_several(
    monkeypatch, joint, types
):
    """The cheapest of both is taken."""
    fleet = [FLEET[0], {"gpu": "T4", "sharing": ["mps"]}][:types]
    workloads = [one.model_dump(exclude_unset=True) for one in random_mps_problem(6, 1).workloads]
    resolved = resolve(problem_of(workloads, fleet=fleet), shipped_profiles())
    packed = packed_on_each(resolved)
    assert len(resolved.mps) == types
    least = min(price_of(resolved, gpus) for gpus in packed)
    known = {None: None, "dear": [*packed[0], *packed[0]], "cheap": packed[0][:1]}[joint]
    monkeypatch.setattr(first_fleet_module, "_by_costs", lambda *_: known)
    gpus, _ = first(resolved)
    if joint == "cheap" or (joint and types == 1):
        assert gpus == known
    else:
        assert price_of(resolved, gpus) == least


@pytest.mark.parametrize(
    ("step", "found"), [("hosts_of", None), ("cheapest_types", np.full(6, CUT))], ids=["not hosted", "not covered"]
)
def test_all_on_one_type_are_tried_where_somebody_has_no_place_where_it_costs_least(monkeypatch, step, found):
    resolved = resolve(random_mps_problem(6, 1), shipped_profiles())
    expected = min(price_of(resolved, gpus) for gpus in packed_on_each(resolved))
    monkeypatch.setattr(first_fleet_module, step, lambda *_: found)
    assert price_of(resolved, first(resolved)[0]) == expected


def test_counts_that_it_does_not_keep_leave_no_first_plan():
    problem = table_3()
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 3}),)})
    assert first(resolve(few, shipped_profiles()))[0] is None


def test_the_shares_of_all_gpus_are_found_at_once(monkeypatch):
    """The work is in rounds over all GPUs, not in steps of one service: 600 services take a few dozen of them."""
    calls = []
    real = MpsType.least_shares
    monkeypatch.setattr(MpsType, "least_shares", lambda *a, **k: calls.append(a[0]) or real(*a, **k))
    packed_on_each(resolve(random_mps_problem(600, 0), shipped_profiles()))
    assert len(calls) < 100


class EnoughError(Exception):
    """Ends a search."""


@pytest.mark.parametrize("problem", [random_mps_problem(40, 0), mixed(40, 0)], ids=["mps", "mixed"])
def test_bound_and_first_plan_come_before_anything_that_takes_long(problem):
    resolved = resolve(problem, shipped_profiles())
    heard = []

    def slow():
        raise EnoughError
        yield

    with pytest.raises(EnoughError):
        solve_mixed_fleet(resolved, known=slow(), on_answer=heard.append, time_limit_s=60)
    bound, plan = heard
    assert bound.gpus is None
    # Whoever is interrupted has the last of them: time ran out, and nothing else is known.
    assert bound.stopped == plan.stopped == "time_limit"
    assert 0 < bound.cost_bound == plan.cost_bound <= price_of(resolved, plan.gpus)
    assert_holds(resolved, plan.gpus, shipped_profiles())


def told_of(monkeypatch, *, on_type, hosts, found, left=None):
    """Lets services be on types, on hosts and cut as told; returns what the cuts were asked for."""
    asked = []
    monkeypatch.setattr(first_fleet_module, "cheapest_types", lambda *_: np.array(on_type))
    monkeypatch.setattr(first_fleet_module, "hosts_of", lambda *_: hosts)
    monkeypatch.setattr(
        first_fleet_module, "cheapest_covers_of", lambda _, rows: np.outer(1 + rows, [1, 0, 2]).astype(np.int64)
    )

    def cuts(resolved, patterns, wanted, least_free, *, time_limit_s):
        asked.append(([entry.available for entry in resolved.fleet], patterns, wanted.tolist(), least_free.tolist()))
        assert time_limit_s > 0
        return found

    monkeypatch.setattr(first_fleet_module, "cheapest_cuts", cuts)
    monkeypatch.setattr(
        first_fleet_module, "cut_gpus", lambda _, used, partitions: [("cut", used, partitions.tolist())]
    )
    monkeypatch.setattr(first_fleet_module, "keeps_limits", lambda *_: left is None)
    return asked


def small_fleet(counts):
    """Returns three services on sizes 0, 1 and 3 of four, and two GPU types."""
    fleet = [
        FleetType(SimpleNamespace(name=name), 1.0, count, frozenset()) for name, count in zip("ab", counts, strict=True)
    ]
    workloads = (SimpleNamespace(),) * 3
    demands = SimpleNamespace(of=lambda rows: SimpleNamespace(can_be_covered=lambda: np.ones(len(rows), dtype=bool)))
    data = SimpleNamespace(demands=demands, sizes=np.array([0, 1, 3]), patterns=["p", "q"])
    prices = SimpleNamespace(data=data, priced=SimpleNamespace(price="price"))
    return Resolved(tuple(fleet), np.ones((3, 4)), range(4), {"a": 1}, workloads), prices


@dataclass(frozen=True)
class Resolved:
    """A problem as far as first plans look at it."""

    fleet: tuple
    capacity_rps: np.ndarray
    sizes: range
    mps: dict
    workloads: tuple


HOSTS = [SimpleNamespace(gpu="a"), SimpleNamespace(gpu="a"), SimpleNamespace(gpu="b")]


@pytest.mark.parametrize(("counts", "left"), [((None, None), [None, None]), ((5, 1), [3, 0]), ((1, None), [0, None])])
def test_cuts_are_for_those_that_are_cut_on_gpus_that_hosts_leave(monkeypatch, counts, left):
    """Services 0 and 2 are cut."""
    asked = told_of(monkeypatch, on_type=[CUT, 0, CUT], hosts=HOSTS, found=(np.array([0, 2]), None))
    resolved, prices = small_fleet(counts)
    gpus = first_fleet_module._by_costs(resolved, prices, time.monotonic() + 9)
    assert asked == [(left, ["p", "q"], [4, 0, 0, 8], [0, 0, 0, 0])]
    partitions = [[1, 0, 0, 2], [0, 0, 0, 0], [3, 0, 0, 6]]
    assert gpus == [("cut", [("q", 2)], partitions), *HOSTS]


def test_without_cuts_or_with_limits_that_are_broken_there_is_no_such_plan(monkeypatch):
    resolved, prices = small_fleet((None, None))
    told_of(monkeypatch, on_type=[CUT, 0, CUT], hosts=HOSTS, found=None)
    assert first_fleet_module._by_costs(resolved, prices, time.monotonic() + 9) is None
    told_of(monkeypatch, on_type=[CUT, 0, CUT], hosts=HOSTS, found=(np.array([1, 0]), None), left="broken")
    assert first_fleet_module._by_costs(resolved, prices, time.monotonic() + 9) is None
    # Where nobody is cut none are looked for.
    asked = told_of(monkeypatch, on_type=[0, 0, 0], hosts=HOSTS, found=None)
    assert first_fleet_module._by_costs(resolved, prices, time.monotonic() + 9) == HOSTS
    assert asked == []
