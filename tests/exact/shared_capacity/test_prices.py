"""What prices of rates and replicas prove of a plan, and prices between others, by hand and by a plan's own sum."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity.prices import MasterPrices, limit_at

PRICES = MasterPrices(np.array([1.0, 2.0]), np.array([3.0, 0.0]), np.array([0.0, 5.0]))


def problem(rates, replicas):
    """Returns services with rates, and the least and greatest replicas of each."""
    workloads = [SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in replicas]
    return SimpleNamespace(required_rps=np.array(rates), problem=SimpleNamespace(workloads=workloads))


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_rates_and_least_replicas_take_off_what_they_are_paid_and_greatest_ones_add(unit):
    """GPUs 3 x 7 + 1 x 8, rates 1 x 10 and 2 x 20, four replicas at most of the one and two at least of the other."""
    prices = MasterPrices(unit * PRICES.of_rate, unit * PRICES.of_more, unit * PRICES.of_less)
    found = limit_at(
        problem([10.0, 20.0], [(1, 4), (2, None)]), prices, {"A": 7 * unit, "B": 8 * unit}, {"A": 3, "B": 1, "C": 9}
    )
    assert found == pytest.approx((29 - 50 + 12 - 10) * unit)
    # Rounding of the sum never lowers it.
    assert (29 - 50 + 12 - 10) * unit < found


@pytest.mark.parametrize("seed", range(5))
def test_no_plan_carries_more_than_the_limit_where_no_content_is_worth_more_than_its_gpu(seed):
    """Property: of drawn contents, counts and prices; the rates and replicas are those that the plan just has."""
    draw = np.random.default_rng(seed)
    rates, residents = draw.uniform(0, 9, (6, 2)), draw.integers(0, 3, (6, 2))
    weights, times = draw.uniform(0.5, 2, 2), draw.integers(0, 3, 6)
    prices = MasterPrices(*draw.uniform(0, 4, (3, 2)))
    price, charge = prices.of(weights)
    assert price == pytest.approx(weights + prices.of_rate)
    assert charge == pytest.approx(prices.of_more - prices.of_less)
    worth = max(0.0, float((rates @ price - residents @ charge).max()))
    held = (times @ residents).tolist()
    found = limit_at(
        problem(times @ rates, [(one, one) for one in held]), prices, {"A": worth}, {"A": int(times.sum())}
    )
    assert found >= float(weights @ (times @ rates)) * (1 - 1e-12)


@pytest.mark.parametrize("part", [0.0, 0.25, 1.0])
def test_prices_between_are_so_far_on_the_way(part):
    other = MasterPrices(np.array([5.0, 2.0]), np.array([7.0, 4.0]), np.array([8.0, 1.0]))
    found = PRICES.between(other, part)
    assert found.of_rate == pytest.approx([1 + 4 * part, 2])
    assert found.of_more == pytest.approx([3 + 4 * part, 4 * part])
    assert found.of_less == pytest.approx([8 * part, 5 - 4 * part])
