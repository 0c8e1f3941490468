"""What prices prove of the most requests/s, against every plan of drawn problems."""

from fractions import Fraction

import numpy as np
import pytest
from problems.drawn_cuts import CUTS, drawn_cuts, most_of, told

from sliceplan.solver.exact.capacity import price_limit as module
from sliceplan.solver.exact.capacity.price_limit import PriceLimit, price_limit


def counts_of(problem):
    return {entry.gpu.name: entry.available for entry in problem.fleet}


@pytest.mark.parametrize("seed", range(16))
def test_any_prices_prove_no_less_than_any_plan_carries(seed, monkeypatch):
    """Property: what they say of these GPUs, and of any others; prices that are too low are raised first."""
    told(monkeypatch, module)
    problem, draw = drawn_cuts(seed, services=2), np.random.default_rng(seed)
    weights, rate_price = draw.choice([0.5, 1.0, 3.0], 2), draw.choice([0.0, 0.7], 2)
    price = draw.choice([0.0, 5.0, 30.0], 3)
    found = price_limit(problem, weights, price, rate_price)
    most = most_of(problem, weights)
    assert most is None or most <= found.at(counts_of(problem))
    expected, pays = 0.0, price.tolist()
    value = (weights + rate_price)[:, None] * problem.capacity_rps
    for w, one in enumerate(problem.problem.workloads):
        if one.max_replicas is None:
            pays = [max(own, float(a)) for own, a in zip(pays, value[w], strict=True)]
    for w, one in enumerate(problem.problem.workloads):
        expected -= rate_price[w] * problem.required_rps[w]
        if one.max_replicas is not None:
            expected += one.max_replicas * max(0.0, *(float(a) - p for a, p in zip(value[w], pays, strict=True)))
    for counts in (counts_of(problem), {"A": 2, "B": 9}):
        of_gpus = sum(
            number * max((float(np.dot(cut, pays)) for cut in CUTS[gpu]), default=0.0) for gpu, number in counts.items()
        )
        assert found.at(counts) == pytest.approx(expected + of_gpus, rel=1e-12, abs=1e-12)


def test_a_limit_is_rounded_up():
    limit = PriceLimit({"g": Fraction(1, 3), "h": Fraction(2, 7)}, Fraction(1, 11))
    found = limit.at({"g": 4, "h": 1})
    assert 0 < Fraction(found) - (Fraction(4, 3) + Fraction(2, 7) + Fraction(1, 11)) < Fraction(1, 10**14)
