"""What guests take at least in cells, one batch size after the other, and the surroundings of a plan."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.mps_feasible import drawn

from sliceplan.solver.exact.surroundings import least_demands as module
from sliceplan.solver.exact.surroundings.customers import totals_of
from sliceplan.solver.exact.surroundings.least_demands import (
    GREATEST,
    TOO_MUCH,
    guests_of,
    least_demands,
    least_in,
    least_percent,
)


def by_hand(guests, guest, residents, totals):
    """Returns the fewest units of one guest, the least that it asks, and its share, of one batch size at a time."""
    mps = guests.mps
    units, asked, share = TOO_MUCH, [np.inf] * len(totals), 100.0
    for batch, budget in zip(guests.batch[guest].tolist(), guests.budget_ms[guest].tolist(), strict=True):
        if batch == 0:
            continue
        who = np.array([guests.workload[guest]])
        percent = mps.model.percent_needed_among(
            who,
            np.array([batch]),
            np.array([budget]),
            totals=tuple(np.array([one]) for one in totals),
            residents=np.array([residents]),
        )
        share = min(share, float(percent[0]))
        for own in range(mps.least_units, mps.capacity_units + 1):
            if own * mps.unit_percent >= percent[0] - 1e-9:
                ability = mps.model.ability_rps(who, np.array([batch]), np.array([own * mps.unit_percent]))
                asks = [float(one[0]) for one in mps.model.demands_at(who, ability)]
                units, asked = min(units, own), [min(a, b) for a, b in zip(asked, asks, strict=True)]
                break
    return units, asked, share


@pytest.mark.parametrize("seed", range(8))
def test_they_are_the_least_over_the_batch_sizes_that_a_share_of_a_gpu_is_enough_for(monkeypatch, seed):
    """Property: in surroundings from none to more than a GPU stands; a few batch sizes at a time."""
    monkeypatch.setattr(module, "TOGETHER", 40)
    case, draw = drawn(seed, usual=seed % 2 == 0, least=1 + seed % 3), np.random.default_rng(seed)
    guests = guests_of(case.mps, case.items)
    residents = np.array([1, 2, 3, 4, 4])
    totals = np.array([[0.0, 60.0, 150.0, 300.0, 1e6], [0.0, 5.0, 20.0, 60.0, 1e5]]) * draw.uniform(0.5, 1)
    found = least_demands(guests, residents, totals)
    share = least_percent(guests, residents, totals)
    every = np.arange(len(guests))
    for cell in range(5):
        for guest in every.tolist():
            units, asked, percent = by_hand(guests, guest, int(residents[cell]), totals[:, cell])
            assert found.units[cell, guest] == units
            assert share[cell, guest] == pytest.approx(percent)
            for thing in range(2):
                told = found.asked[thing, cell, guest]
                if units == TOO_MUCH or asked[thing] > GREATEST:
                    assert told == 0
                else:
                    # No more than that, but for little.
                    assert asked[thing] * (1 - 2e-6) <= told <= asked[thing]
    assert (found.units[0] < TOO_MUCH).any()
    # A set's residents take what the cell says in which the set is.
    pairs = np.array([(a, b) for a in every.tolist() for b in every.tolist() if a < b])
    own = least_in(guests, pairs, np.tile(totals[:, [1]], len(pairs)))
    assert np.array_equal(own.units, found.units[1][pairs])
    assert np.array_equal(own.asked, found.asked[:, 1][:, pairs])


def test_some_guests_are_those_of_the_rows():
    case = drawn(2, usual=True)
    guests, rows = guests_of(case.mps, case.items), np.array([4, 1, 1])
    some = guests.of(rows)
    assert [item.workload for item in some.items] == some.workload.tolist() == guests.workload[rows].tolist()
    assert len(some) == 3
    assert guests.things == some.things == 2
    for name in ("batch", "budget_ms", "memory_mib"):
        assert np.array_equal(getattr(some, name), getattr(guests, name)[rows])


def test_surroundings_of_a_plan_are_sums_over_the_residents_of_each_gpu_of_the_type():
    case = drawn(2, usual=True)
    model, gpus, expected = case.mps.model, [], []
    for one in case.gpus:
        residents = [
            SimpleNamespace(workload=w, batch=b, percent=float(case.mps.percent(np.array([u]))[0]))
            for w, b, u in zip(one.members, one.batches, one.units, strict=True)
        ]
        gpus += [SimpleNamespace(gpu="GPU", residents=residents), SimpleNamespace(gpu="other", residents=residents)]
        expected.append((len(residents), one.power_w, one.cache))
    assert len({number for number, *_ in expected}) > 1
    found = totals_of(SimpleNamespace(mps={"GPU": case.mps, "other": None}), gpus, "GPU")
    assert model is case.mps.model
    assert [(number, *asked.tolist()) for number, asked in found] == [
        (number, pytest.approx(power), pytest.approx(cache)) for number, power, cache in expected
    ]
