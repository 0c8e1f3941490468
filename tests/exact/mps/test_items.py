"""Into how many residents the rate of a service under MPS is split."""

import pytest
from problems.igniter_instances import FLEET
from problems.instances import problem_of

from sliceplan.solver.exact.mps.columns import enumerate_columns, item_tables
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.formats.profile_files import shipped_profiles
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
