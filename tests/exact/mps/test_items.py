"""Into how many residents the rate of a service under MPS is split."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import FLEET, V100
from problems.instances import problem_of

from sliceplan.solver.exact.mps import items as module
from sliceplan.solver.exact.mps.columns import enumerate_columns, item_tables
from sliceplan.solver.exact.mps.items import SPLIT_FROM, classes_of, least_part, mps_items
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.alone import alone_on, at_every_share
from sliceplan.solver.performance.resolve import resolve


def recipes(rate_rps, *, parts, **limits):
    """Returns for each recipe of a service the parts of its rate, the greatest first."""
    problem = problem_of([{"model": "vgg19", "rate_rps": rate_rps, "slo_ms": 40, **limits}], fleet=FLEET)
    found = mps_items(resolve(problem, shipped_profiles()), parts=parts)
    (one,) = found.classes
    split = [sorted((found.items[item].part for item in recipe), reverse=True) for recipe in one.recipes]
    assert all(sum(own) == pytest.approx(1) for own in split)
    return sorted(split), found.splits


def equal(number):
    return pytest.approx([1 / number] * number)


def test_a_service_that_fits_a_gpu_is_whole_or_split_in_two_where_parts_are_asked_for():
    assert recipes(250, parts=False) == ([[1.0]], True)
    split, _ = recipes(250, parts=True)
    assert split == [equal(2), pytest.approx([2 / 3, 1 / 3]), [1.0]]
    assert recipes(250, parts=True, max_replicas=1) == ([[1.0]], False)


@pytest.mark.parametrize(("least", "numbers"), [(2, [3, 2]), (3, [4, 3])])
def test_with_a_least_number_of_replicas_it_has_that_or_one_more(least, numbers):
    split, _ = recipes(250, parts=True, min_replicas=least)
    assert [own for own in split if len(set(own)) == 1] == [equal(number) for number in numbers]


def test_of_more_than_a_gpu_carries_gpus_are_full_but_for_a_rest_or_alike():
    split, _ = recipes(900, parts=False)
    full, alike = max(split, key=lambda own: own[0]), min(split, key=lambda own: own[0])
    assert alike == equal(len(alike))
    assert len(full) == len(alike)
    assert full[:-1] == pytest.approx([full[0]] * (len(full) - 1))
    assert full[-1] < full[0]


def test_under_igniters_rules_gpus_of_a_service_alone_are_shared_with_nobody():
    """More than a GPU carries: full GPUs, and what is left beside others."""
    small = {"model": "alexnet", "rate_rps": 50, "slo_ms": 60}
    large = {"model": "vgg19", "rate_rps": 2500, "slo_ms": 40}
    resolved = resolve(problem_of([small, large], fleet=FLEET, mps_rules="igniter"), shipped_profiles())
    found = mps_items(resolved, parts=False)
    (recipe,) = found.classes[1].recipes
    alone = [found.items[item].dedicated for item in recipe]
    assert len(alone) > 2
    assert alone == [True] * (len(alone) - 1) + [False]
    assert not any(found.items[item].dedicated for item in found.classes[0].recipes[0])
    for table in item_tables(resolved, found):
        for column in enumerate_columns(table).columns:
            assert len(column.items) == 1 or not any(found.items[item].dedicated for item in column.items)


def test_recipes_have_no_more_residents_than_replicas_are_allowed():
    split, _ = recipes(1500, parts=False)
    fewest = len(split[0])
    assert fewest > 2
    assert all(len(own) == fewest for own in split)
    assert recipes(1500, parts=False, max_replicas=fewest) == (split, True)
    assert recipes(1500, parts=True, max_replicas=fewest - 1) == ([], True)
    assert recipes(250, parts=True, max_replicas=2)[0] == [equal(2), pytest.approx([2 / 3, 1 / 3]), [1.0]]


@pytest.mark.parametrize("beyond", [0.0, 1e-12, 1e-6])
def test_of_just_as_much_as_two_gpus_carry_no_rest_is_left(beyond):
    resolved = resolved_of({"rate_rps": 900})
    (mps,) = resolved.mps.values()
    greatest = float(alone_on(mps, resolved.limit_ms).greatest_rps[0])
    rate = 2 * greatest * (1 + beyond)
    split, _ = recipes(rate, parts=False)
    if beyond < 1e-9:
        assert all(own == equal(2) for own in split)
    else:
        assert equal(3) in split
        assert [len(own) for own in split] == [3, 3]
        assert min(split[-1]) == pytest.approx(beyond, rel=0.1)


def resolved_of(*workloads, rules="free", fleet=FLEET):
    common = {"model": "vgg19", "slo_ms": 40}
    problem = problem_of([{**common, **one} for one in workloads], fleet=fleet, mps_rules=rules)
    return resolve(problem, shipped_profiles())


@pytest.mark.parametrize("rules", ["free", "igniter"])
def test_who_is_too_slow_on_a_type_has_no_recipe_there(rules):
    resolved = resolved_of({"rate_rps": 10, "slo_ms": 0.5}, {"rate_rps": 10}, rules=rules)
    slow, other = mps_items(resolved, parts=True).classes
    assert (slow.members, slow.recipes) == ((0,), ())
    assert other.recipes
    elsewhere = resolved_of({"rate_rps": 10, "gpus": ["A100-80GB"]}, fleet=[*FLEET, {"gpu": "A100-80GB"}], rules=rules)
    found = mps_items(elsewhere, parts=True)
    assert (found.items, found.classes[0].recipes) == ((), ())
    assert not found.splits, "nobody is split who is on no GPU under MPS"


@pytest.mark.parametrize(("needs", "is_split"), [(SPLIT_FROM, False), (SPLIT_FROM * (1 + 1e-9), True), (1.0, True)])
def test_only_who_needs_more_than_a_part_of_a_gpu_is_split(monkeypatch, needs, is_split):
    monkeypatch.setattr(module, "least_part", lambda *_: needs)
    assert (len(recipes(100, parts=True)[0]) > 1) == is_split
    assert recipes(100, parts=False)[0] == [[1.0]]


@pytest.mark.parametrize("rate", [1, 60, 250, 10_000])
def test_what_a_workload_needs_alone_is_the_least_over_its_batch_sizes(rate):
    resolved = resolved_of({"rate_rps": 5}, {"rate_rps": rate})
    (mps,) = resolved.mps.values()
    every = at_every_share(mps, 1)
    enough = (every.latency_ms <= resolved.limit_ms[1]) & (every.throughput_rps >= resolved.required_rps[1])
    units = np.broadcast_to(every.units, enough.shape)[enough]
    assert least_part(resolved, mps, 1) == (units.min() / mps.capacity_units if units.size else np.inf)


def test_workloads_are_alike_that_differ_in_their_names_alone():
    one, other = {"rate_rps": 100}, {"rate_rps": 100, "slo_ms": 41}
    assert classes_of(resolved_of(one, other, one, {"rate_rps": 101}, other, one)) == [(0, 2, 5), (1, 4), (3,)]


def test_an_item_is_listed_once_whoever_of_a_workloads_recipes_has_it():
    """Items carry what they say of their workload's rate, with all that a resident needs; classes have their own."""
    resolved = resolved_of({"rate_rps": 250, "min_replicas": 2}, {"rate_rps": 260}, {"rate_rps": 250})
    (mps,) = resolved.mps.values()
    found = mps_items(resolved, parts=True)
    assert len(set(found.items)) == len(found.items)
    for one in found.classes:
        w = one.members[0]
        assert len(one.recipes) == len({tuple(sorted(Counter(recipe).items())) for recipe in one.recipes})
        for recipe in one.recipes:
            for item in (found.items[i] for i in recipe):
                assert (item.gpu, item.workload, item.dedicated) == (V100, w, False)
                assert item.required_rps == pytest.approx(item.part * resolved.required_rps[w])
                assert item.limit_ms == resolved.limit_ms[w]
                assert item.batches == tuple(mps.batches[w].tolist())
                assert item.memory_mib == mps.demand_mib[w]


def test_under_igniters_rules_the_parts_of_a_recipe_make_up_the_rate_with_one_batch_size_each():
    resolved = resolved_of({"rate_rps": 2500}, {"rate_rps": 50}, rules="igniter")
    found = mps_items(resolved, parts=False)
    for one in found.classes:
        (recipe,) = one.recipes
        own = [found.items[i] for i in recipe]
        assert sum(item.part for item in own) == pytest.approx(1, rel=0.01)
        assert all(0 < item.part <= 1 and len(item.batches) == 1 for item in own)
        assert sum(item.required_rps for item in own) == pytest.approx(float(resolved.required_rps[one.members[0]]))
    assert not found.splits


def test_rates_below_one_are_split_as_others_are(monkeypatch):
    """A GPU carries 0.4 requests/s alone."""
    monkeypatch.setattr(module, "alone_on", lambda *_: SimpleNamespace(greatest_rps=np.array([0.4])))
    assert recipes(1.0, parts=False)[0] == [equal(3), pytest.approx([0.4, 0.4, 0.2])]
    assert recipes(0.4, parts=False)[0] == [[1.0]]
