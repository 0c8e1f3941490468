"""What the lemma says of GPUs that keep their SLOs, on GPUs that do, over all coefficients that are accepted."""

import random
from dataclasses import replace

import numpy as np
import pytest
from problems.mps_feasible import drawn

from sliceplan.solver.exact.surroundings.least_demands import guests_of, least_demands
from sliceplan.solver.exact.surroundings.possible_sets import possible


@pytest.mark.parametrize(("first", "least"), [(0, 1), (40, 1), (80, 1), (120, 4)])
def test_no_resident_takes_less_than_its_cell_says(first, least):
    """Property: in every cell that holds a GPU's surroundings, units and demands are no more than the real ones."""
    looked_at = 0
    for seed in range(first, first + 40):
        case, draw = drawn(seed, least=least), random.Random(seed)
        guests = guests_of(case.mps, case.items)
        for gpu in case.gpus:
            parts = [draw.choice((0.0, 0.5, 0.9, 1.0)) for _ in range(2)]
            low = np.array([[gpu.power_w * parts[0]], [gpu.cache * parts[1]]])
            found = least_demands(guests, np.array([draw.randint(1, len(gpu.members))]), low)
            ability = case.mps.model.ability_rps(
                np.array(gpu.members), np.array(gpu.batches), case.mps.percent(np.array(gpu.units))
            )
            real = case.mps.model.demands_at(np.array(gpu.members), ability)
            for place, w in enumerate(gpu.members):
                assert least <= found.units[0, w] <= gpu.units[place], (seed, gpu)
                for thing in range(2):
                    assert found.asked[thing, 0, w] <= real[thing][place] * (1 + 1e-9) + 1e-12, (seed, gpu)
                looked_at += 1
    assert looked_at > 300


@pytest.mark.parametrize(("first", "least"), [(0, 1), (40, 1), (80, 1), (120, 4)])
def test_no_set_that_fits_fails_the_test(first, least):
    for seed in range(first, first + 40):
        case = drawn(seed, least=least)
        guests = guests_of(case.mps, case.items)
        for gpu in case.gpus:
            assert possible(guests, np.array([sorted(gpu.members)])).all(), (seed, gpu)


def test_with_steep_power_a_smaller_share_may_be_faster_and_the_lemma_holds():
    """The clock of such GPUs falls faster than a share gains; the draws above have some of them."""
    steep = 0
    for seed in range(60):
        case = drawn(seed)
        percent = case.mps.percent(np.arange(1, case.mps.capacity_units + 1))[:, None]
        own = np.zeros(percent.shape, dtype=np.int64)
        latency = case.mps.model.predict(own, own + 4, percent).latency_ms[:, 0]
        steep += bool((np.diff(latency) > 0).any())
    assert steep >= 5


def test_a_set_with_too_much_memory_or_too_many_residents_is_not_possible():
    case = drawn(3, usual=True)
    guests = guests_of(case.mps, case.items)
    pair = np.array([sorted(next(gpu for gpu in case.gpus if len(gpu.members) > 1).members)])
    assert possible(guests, pair).all()
    assert not possible(replace(guests, memory_mib=np.full(len(guests), 0.6e9)), pair).any()
    assert not possible(replace(guests, mps=replace(case.mps, clients=1)), pair).any()
