"""Fleets under MPS of which there are only so many GPUs, by surroundings, against the program over all sets."""

import random
import time

import numpy as np
import pytest
from problems.igniter_instances import V100, random_mps_problem

from sliceplan.solver.api import solve
from sliceplan.solver.exact.fleet.first_fleet import beyond_counts, first_fleet
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices, rents_of
from sliceplan.solver.exact.fleet.fleet_by_sets import list_sets
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits
from sliceplan.solver.exact.fleet.mixed_fleet import _by_surroundings, _known
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import FleetEntry
from sliceplan.solver.performance.resolve import resolve

OTHER = "A100-40GB"


def profiles_of(slower):
    """Returns the shipped profiles of V100s, and the same on another type that takes so many times as long."""
    found = []
    for profile in shipped_profiles():
        if profile.gpu == V100 and profile.interference is not None:
            model = profile.interference.model
            active = tuple(one * (slower if i != 3 else 1) for i, one in enumerate(model.active))
            changed = profile.interference.model_copy(update={"model": model.model_copy(update={"active": active})})
            found += [profile, profile.model_copy(update={"gpu": OTHER, "interference": changed})]
    return found


def counted(services, seed, counts, price):
    """Returns a problem of whole services on V100s, and of the other type if counted: so many of each; None: any."""
    problem = random_mps_problem(services, seed)
    shared = problem.fleet[0].model_dump(mode="json")
    entries = [
        {**shared, "gpu": gpu, "count": count, "price_per_hour": usd}
        for gpu, count, usd in zip((V100, OTHER), counts, (3.06, price), strict=False)
    ]
    return problem.model_copy(update={"fleet": tuple(FleetEntry.model_validate(one) for one in entries)})


@pytest.mark.parametrize("first", [0, 14])
def test_bounds_hold_plans_keep_counts_and_what_is_impossible_is(first):
    """Property: seven to ten services, few enough for a program over all sets, which knows nothing of surroundings."""
    seen = {"plan": 0, "infeasible": 0, "open": 0}
    for seed in range(first, first + 14):
        draw = random.Random(seed)
        slower, price = draw.choice([1.0, 1.15, 1.4]), draw.choice([2.55, 3.06, 1.0])
        services, profiles = draw.randint(7, 10), profiles_of(slower)
        if seed % 2:
            # As many as are needed, or one fewer.
            needed = solve(counted(services, seed, (None,), price), profiles=profiles, time_limit_s=60).gpus_used
            counts = (max(needed - draw.choice([0, 1, 1]), 1),)
        else:
            counts = draw.choice([(1, 1), (2, 1), (1, 3), (2, 2), (None, 1), (1, None)])
        problem = counted(services, seed, counts, price)
        resolved = resolve(problem, profiles)
        by_sets = solve(problem, profiles=profiles, time_limit_s=60)
        assert by_sets.status in ("optimal", "infeasible")
        prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
        if prices.bound == np.inf:
            assert by_sets.status == "infeasible"
            continue
        near = first_fleet(resolved, prices, deadline=time.monotonic() + 60)
        near = near or beyond_counts(resolved, prices, deadline=time.monotonic() + 60)
        sets = list_sets(resolved)
        customers = customers_of(resolved, sets.shared)
        heard = []
        found = _by_surroundings(
            resolved, prices, sets, customers, _known(resolved, prices, near), heard.append, time.monotonic() + 0.5
        )
        if by_sets.status == "infeasible":
            assert found.gpus is None
            seen["infeasible" if found.stopped == "infeasible" else "open"] += 1
            continue
        assert found.stopped != "infeasible", seed
        for one in (*heard, found):
            assert one.cost_bound <= by_sets.cost_per_hour * (1 + 1e-9), seed
            if one.gpus is not None:
                assert keeps_limits(resolved, one.gpus)
                assert price_of(resolved, one.gpus) >= by_sets.cost_per_hour * (1 - 1e-9), seed
        seen["open" if found.gpus is None else "plan"] += 1
    assert seen["plan"] >= 5
    assert seen["infeasible"] >= 1


def test_rents_are_of_types_of_which_there_are_only_so_many():
    problem = counted(12, 0, (4, None), 2.0)
    resolved = resolve(problem, profiles_of(1.2))
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    rented = customers.with_rents({V100: 0.5, OTHER: 0.25})
    before, after = ({one.gpu: one.usd_per_hour for one in some.types} for some in (customers, rented))
    assert before == {V100: 3.06, OTHER: 2.0}
    assert after == {V100: 3.56, OTHER: 2.0}
    assert (customers.rent_of_all, rented.rent_of_all) == (0.0, 2.0)
    assert {one.gpu: one.available for one in rented.types} == {V100: 4.0, OTHER: np.inf}


def test_the_rent_of_a_type_is_what_the_prices_say():
    """One of the cheaper type is far too few, so a GPU of it is worth more than it costs."""
    resolved = resolve(counted(12, 0, (None, 1), 1.0), profiles_of(1.1))
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    rents = rents_of(resolved, prices)
    assert rents[V100] == 0.0
    assert 1.0 < rents[OTHER] < 2.06


@pytest.mark.parametrize("counts", [(25, 1), (24, 3)])
def test_a_plan_is_found_where_a_first_one_takes_too_many(counts):
    """A hundred services take 26 V100s, proven; packed in a moment they take more than that."""
    problem, profiles = counted(100, 0, counts, 2.55), profiles_of(1.15)
    resolved = resolve(problem, profiles)
    prices = fleet_prices(resolved, deadline=time.monotonic() + 60)
    assert first_fleet(resolved, prices, deadline=time.monotonic() + 60) is None
    near = beyond_counts(resolved, prices, deadline=time.monotonic() + 60)
    sets = list_sets(resolved)
    customers = customers_of(resolved, sets.shared)
    heard = []

    class FoundError(Exception):
        pass

    def heed(answer):
        heard.append(answer)
        if answer.gpus is not None:
            raise FoundError

    with pytest.raises(FoundError):
        _by_surroundings(
            resolved, prices, sets, customers, _known(resolved, prices, near), heed, time.monotonic() + 120
        )
    assert keeps_limits(resolved, heard[-1].gpus)
