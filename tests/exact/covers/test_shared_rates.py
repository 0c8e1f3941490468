"""What residents take at least for a part of a rate, against every number of whole units on every type."""

from itertools import product

import numpy as np
import pytest

from sliceplan.solver.exact.covers.shared_rates import SharedRates

NEVER = np.inf


def rates(fluid, least, units):
    return SharedRates(np.array([fluid]), np.array([least]), np.array(units, dtype=float))


def by_trying(fluid, least, units, rest, price):
    """Returns the least cost of units that carry the rest, each type with none or with the least share and more."""
    types = []
    for f, at_least, of_gpu, usd in zip(fluid, least, units, price, strict=True):
        choices = [(0.0, 0.0)]
        if f < NEVER:
            numbers = range(round(at_least * of_gpu), int(max(rest * f, at_least) * of_gpu) + 3)
            choices += [(n / of_gpu / f, n / of_gpu * usd) for n in numbers]
        types.append(choices)
    tried = [tuple(map(sum, zip(*one, strict=True))) for one in product(*types)]
    return min((cost for part, cost in tried if part >= rest - 1e-9), default=NEVER)


def drawn(draw, types):
    """Returns f, l, U and prices of some types, f of a fraction of a unit up to three GPUs."""
    units = draw.choice([3, 4, 7, 11], types).tolist()
    fluid = [float(draw.uniform(0.2 / of_gpu, draw.choice([0.5, 3.0]))) for of_gpu in units]
    least = [int(draw.integers(1, of_gpu + 1)) / of_gpu for of_gpu in units]
    gone = [types > 1 and draw.random() < 0.15 for _ in units]
    fluid = [NEVER if out else f for f, out in zip(fluid, gone, strict=True)]
    least = [NEVER if out else own for own, out in zip(least, gone, strict=True)]
    return fluid, least, units, draw.uniform(0.1, 3.0, types)


@pytest.mark.parametrize("types", [1, 2, 3])
def test_nothing_that_carries_a_rest_costs_less_than_is_said(types):
    """Property; on one type it is just what costs least, on several no less than as a fluid."""
    draw = np.random.default_rng(types)
    above = 0
    for _ in range(150):
        fluid, least, units, price = drawn(draw, types)
        rest = float(draw.uniform(0.01, 1.0))
        cost, taken = rates(fluid, least, units).taken(np.array([rest]), price)
        tried = by_trying(fluid, least, units, rest, price)
        assert cost[0] <= tried * (1 + 1e-9), (fluid, least, units, rest, price)
        if tried == NEVER:
            assert cost[0] == NEVER
            continue
        assert taken[0] @ price == pytest.approx(cost[0])
        as_fluid = min(f * rest * usd for f, usd in zip(fluid, price, strict=True))
        above += cost[0] > as_fluid * 1.05
        if types == 1:
            assert cost[0] == pytest.approx(tried)
    assert above > 50


@pytest.mark.parametrize("types", [1, 2, 3])
def test_no_part_of_a_rate_costs_less_than_its_part_of_a_fluid_less_rounding(types):
    """Property: also of rates just above a whole number of units, by as much as rounding forgives."""
    draw, forgiven = np.random.default_rng(20 + types), 0
    for _ in range(400):
        fluid, least, units, price = drawn(draw, types)
        if draw.random() < 0.7:
            beyond = draw.uniform(0, 2e-6, types)
            whole = [max(round(f * of_gpu), 1) if f < NEVER else f for f, of_gpu in zip(fluid, units, strict=True)]
            fluid = [(n + more) / of_gpu for n, of_gpu, more in zip(whole, units, beyond, strict=True)]
        rest = draw.choice([1.0, draw.uniform(1e-8, 1.0)], 1)
        found = rates(fluid, least, units)
        cost, _ = found.taken(rest, price)
        assert cost[0] >= float(np.min(found.at_least[0] * price)) * rest[0] * (1 - 1e-12)
        forgiven += cost[0] < float(np.min(found.gpus[0] * price)) * rest[0] * (1 - 1e-9)
    assert forgiven > 3


def test_units_are_not_rounded_up_for_what_rounding_may_miss():
    found = rates([0.5], [0.1], [10])
    assert found.taken(np.array([1.0 + 1e-7]), np.ones(1))[0] == pytest.approx(0.5)
    assert found.taken(np.array([1.0 + 1e-5]), np.ones(1))[0] == pytest.approx(0.6)


def test_on_two_types_a_rest_may_cost_less_than_on_either():
    """Property: where one type has few units and another small shares, which then carry what is beyond a whole unit."""
    draw, both = np.random.default_rng(3), 0
    for _ in range(60):
        units = [2, 20]
        fluid, least = [float(draw.uniform(0.5, 2.0)), float(draw.uniform(0.5, 2.0))], [0.5, 0.05]
        price = np.array([1.0, draw.uniform(1.0, 2.0) * fluid[0] / fluid[1]])
        rest = float(draw.uniform(0.3, 1.0))
        cost, taken = rates(fluid, least, units).taken(np.array([rest]), price)
        assert cost[0] <= by_trying(fluid, least, units, rest, price) * (1 + 1e-9)
        assert taken[0] @ price == pytest.approx(cost[0])
        both += bool((taken[0] > 0).all())
    assert both > 5, both


def test_what_it_costs_is_concave_in_prices():
    """So the demand at some prices bounds what it costs at all others from above."""
    draw = np.random.default_rng(7)
    for _ in range(100):
        fluid, least, units, price = drawn(draw, 3)
        if NEVER in fluid:
            continue
        found, rest = rates(fluid, least, units), draw.uniform(0.01, 1.0, 1)
        _, taken = found.taken(rest, price)
        other = price * draw.uniform(0.3, 3.0, 3)
        assert found.taken(rest, other)[0][0] <= taken[0] @ other * (1 + 1e-9)
