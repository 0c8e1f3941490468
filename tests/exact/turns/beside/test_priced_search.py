"""Whole GPUs filled by prices: what fits, beside figures of iGniter's model that are worked out one by one."""

import math
import random
import time
from itertools import product

import numpy as np
import pytest
from oracles import igniter_scalar
from oracles.turns_beside_igniter import fewest_slowed
from problems.instances import problem_of
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.exact.turns.beside import filled_gpus as filling
from sliceplan.solver.exact.turns.beside.filled_gpus import Filler, fitted
from sliceplan.solver.exact.turns.beside.priced_search import PricedSearch
from sliceplan.solver.exact.turns.beside.tables import Items, Tables
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.turns.turn_rule import turn_rule

V100 = "V100-SXM2-16GB"
MODELS = ("alexnet", "resnet50", "vgg19", "ssd")


def services(count, seed, high=100, **settings):
    draw = random.Random(seed)
    workloads = [
        {
            "model": draw.choice(MODELS),
            "rate_rps": round(math.exp(draw.uniform(math.log(1), math.log(high))), 3),
            "slo_ms": round(draw.uniform(40, 200), 1),
        }
        for _ in range(count)
    ]
    return problem_of(workloads, fleet=[{"gpu": V100, "sharing": ["mps"]}], **{"turns": "fixed", **settings})


def tables_of(problem, profiles, owner=None):
    """Returns the tables of services, or of parts of them; the second: rates of items."""
    resolved, rule = resolve(problem, profiles), turn_rule(problem)
    [mps] = resolved.mps.values()
    owner = np.arange(len(resolved.required_rps)) if owner is None else np.array(owner)
    rates = resolved.required_rps[owner] / np.bincount(owner)[owner]
    limit = resolved.limit_ms[owner]
    return Tables(Items(mps.restricted_to(owner), owner, rates, rule.slo_ms[owner], limit, rule.slots_kept))


def late(problem, profiles, tables, gpu):
    """Returns items that are late or carry too little, by every choice of who runs at once."""
    known = {one.model: one.interference for one in profiles if one.gpu == problem.fleet[0].gpu}
    items, found = tables.items, []
    batch = [
        [int(tables.batches[tables.kind[i]][b]) for i, b in zip(one.items, one.batches, strict=True)]
        for one in gpu.shares
    ]
    worst, least_rps = {}, {}
    for together in product(*(range(len(one.items)) for one in gpu.shares)):
        running = [
            (
                known[problem.workloads[items.owner[one.items[k]]].model].model,
                batch[j][k],
                items.mps.percent_of(one.units),
            )
            for j, (one, k) in enumerate(zip(gpu.shares, together, strict=True))
        ]
        for j, (k, figures) in enumerate(
            zip(together, igniter_scalar.predict(next(iter(known.values())).gpu, running), strict=True)
        ):
            worst[j, k] = max(worst.get((j, k), 0), figures.latency_ms)
            least_rps[j, k] = min(least_rps.get((j, k), np.inf), figures.throughput_rps)
    for j, share in enumerate(gpu.shares):
        own = [worst[j, k] for k in range(len(share.items))]
        for k, i in enumerate(share.items):
            workload = problem.workloads[items.owner[i]]
            slo_ms = workload.slo_ms * problem.settings.slo_fraction
            if share.length < 0:
                in_time, rps = own[k] <= slo_ms * (1 + 1e-6), least_rps[j, k]
            else:
                after = own[k] if problem.settings.turns == "fixed" else sum(own)
                in_time, rps = sum(own) + after <= 2 * slo_ms * (1 + 1e-6), 1000 * batch[j][k] / sum(own)
            if not in_time or rps < items.rate_rps[i] * (1 - 1e-6):
                found.append(i)
    return found


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_what_fits_holds_beside_any_choice_of_who_runs_at_once(turns):
    """Property: random contents of random shares."""
    profiles, shared, rounds, refused = shipped_profiles(), 0, 0, 0
    for seed in range(40):
        problem = services(12, seed, high=400, turns=turns)
        tables, draw = tables_of(problem, profiles), random.Random(seed)
        contents = [[] for _ in range(draw.randint(1, 4))]
        for i in draw.sample(range(12), draw.randint(len(contents), 9)):
            min(contents, key=lambda own: (len(own) > 0, draw.random())).append(i)
        gpu = fitted(tables, [tuple(sorted(own)) for own in contents], tables.around(1, np.zeros(1)).caps)
        if gpu is None:
            refused += 1
            continue
        assert not late(problem, profiles, tables, gpu), seed
        assert gpu.units <= tables.units
        assert [one.items for one in gpu.shares] == [tuple(sorted(own)) for own in contents]
        shared += len(gpu.shares) > 1
        rounds += any(one.length >= 0 for one in gpu.shares)
    assert shared > 8
    assert rounds > 8
    assert refused > 2


def test_clients_memory_and_choices_that_check_does_not_try_fit_nothing(monkeypatch):
    problem = services(6, 1, high=3)
    tables = tables_of(problem, shipped_profiles())
    contents, least = [(0, 1), (2, 3), (4,)], tables.around(1, np.zeros(1)).caps
    assert fitted(tables, contents, least) is not None
    monkeypatch.setattr(filling, "MOST_CHOICES", 3)
    assert fitted(tables, contents, least) is None
    monkeypatch.setattr(filling, "MOST_CHOICES", 4)
    assert fitted(tables, contents, least) is not None
    object.__setattr__(tables.items.mps, "demand_mib", np.full(6, 1000.0))
    object.__setattr__(tables.items.mps, "memory_mib", 4999.0)
    assert fitted(tables, contents, least) is None
    object.__setattr__(tables.items.mps, "memory_mib", 5000.0)
    assert fitted(tables, contents, least) is not None
    object.__setattr__(tables.items.mps, "clients", 2)
    assert fitted(tables, contents, least) is None


def test_gpus_are_filled_with_what_is_dear_and_leaves_no_room_for_what_is_left():
    """Each of the items that are left fits none of its shares beside the others, nor one of its own."""
    profiles = shipped_profiles()
    problem = services(40, 3)
    tables = tables_of(problem, profiles)
    around = tables.around(3, 3 * tables.asks[:, :, :, 12].max(axis=(0, 2)) * 0.4)
    price = np.where(np.arange(40) < 20, 0.05, 0.0001)
    gpu = Filler(tables).filled(around, price, np.ones(40, dtype=bool), 0.2 / tables.units)
    assert not late(problem, profiles, tables, gpu)
    assert sum(i < 20 for i in gpu.items) > 10
    own = [one.items for one in gpu.shares]
    more = 0
    for i in set(range(20)).difference(gpu.items):
        ways = [[*own, (i,)], *([*own[:j], (*own[j], i), *own[j + 1 :]] for j in range(len(own)))]
        more += any(fitted(tables, way, gpu.asks) is not None for way in ways)
    assert more == 0
    few = np.zeros(40, dtype=bool)
    few[[1, 4]] = True
    assert Filler(tables).filled(around, price, few, 0.0).items == (1, 4)
    assert Filler(tables).filled(around, price, np.zeros(40, dtype=bool), 0.0) is None


def test_parts_of_a_service_are_never_two_on_a_share():
    profiles = shipped_profiles()
    problem = services(10, 2)
    tables = tables_of(problem, profiles, owner=[i // 2 for i in range(20)])
    search, several = PricedSearch(tables), 0
    for plan in search.plans(time.monotonic() + 4):
        assert sorted(i for one in plan for i in one.items) == list(range(20))
        for share in (share for one in plan for share in one.shares):
            owners = [int(tables.items.owner[i]) for i in share.items]
            assert len(set(owners)) == len(owners)
            several += len(owners) > 1
        assert not any(late(problem, profiles, tables, one) for one in plan)
    assert several


@pytest.mark.parametrize("seed", [1, 2])
def test_plans_have_every_item_once_in_ever_fewer_gpus_and_hold(seed):
    profiles = shipped_profiles()
    problem = services(40, seed, high=600)
    tables = tables_of(problem, profiles)
    search, before = PricedSearch(tables), np.inf
    for plan in search.plans(time.monotonic() + 10):
        assert len(plan) < before
        before = len(plan)
        assert sorted(i for one in plan for i in one.items) == list(range(40))
        assert not any(late(problem, profiles, tables, one) for one in plan)
    assert search.in_fractions <= before
    assert before <= np.ceil(search.in_fractions) + 1


def test_many_items_are_filled_gpu_after_gpu_and_those_that_fit_nowhere_not_at_all(monkeypatch):
    monkeypatch.setattr("sliceplan.solver.exact.turns.beside.priced_search.TOGETHER", 20)
    profiles = shipped_profiles()
    tables = tables_of(services(30, 5), profiles)
    search = PricedSearch(tables)
    [*plans] = search.plans(time.monotonic() + 3)
    assert sorted(i for one in plans[-1] for i in one.items) == list(range(30))
    assert search.in_fractions == np.inf
    assert not list(PricedSearch(tables_of(services(3, 5, high=1e5), profiles)).plans(time.monotonic() + 3))


def test_few_services_on_small_gpus_take_the_fewest_where_each_stands_on_one():
    """Beside the fewest that trying all contents finds, parts of services on several GPUs too."""
    same = seen = 0
    with small_gpus():
        for seed in range(24):
            problem, profiles, units = slowed_turns(seed)
            tables = tables_of(problem, profiles)
            plans = list(PricedSearch(tables).plans(time.monotonic() + 2))
            if not plans:
                continue
            best = fewest_slowed(problem, profiles, units, 4, 2)
            assert len(plans[-1]) >= (3 if best is None else best), seed
            seen += best is not None
            same += len(plans[-1]) == best
    assert seen > 8
    assert same >= 0.8 * seen
