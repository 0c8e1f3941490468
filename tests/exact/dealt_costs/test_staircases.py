"""The steps of cheapest residents: rising in both, none of nothing, and of rates below one as of others."""

import numpy as np
import pytest

from sliceplan.solver.exact.dealt_costs.staircases import in_order


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_each_step_carries_more_for_more_and_is_the_cheapest_that_carries_so_much(seed, scale):
    """Property: with costs, rates and limits that are often equal, and points that carry nothing."""
    draw = np.random.default_rng(seed)
    latency, rate = draw.integers(1, 6, 40).astype(float), scale * draw.integers(0, 8, 40)
    cost, limits = draw.integers(1, 9, 40) / 8, np.append(draw.integers(0, 7, 5).astype(float), 0.5)
    seen = []
    for workload, own in in_order(latency, rate, limits).staircases(cost):
        seen.append(workload)
        allowed = (latency <= limits[workload]) & (rate > 0)
        assert (np.diff(own.rate_rps) > 0).all()
        assert (np.diff(own.cost) > 0).all()
        assert allowed[own.point].all()
        assert own.rate_rps.tolist() == rate[own.point].tolist()
        assert own.cost.tolist() == cost[own.point].tolist()
        for asked in np.unique(rate[rate > 0]):
            step = int(np.searchsorted(own.rate_rps, asked))
            least = cost[allowed & (rate >= asked)].min(initial=np.inf)
            assert (own.cost[step] if step < len(own.cost) else np.inf) == least
    assert sorted(seen) == list(range(6))


def test_where_nobody_asks_there_are_no_steps():
    assert list(in_order(np.ones(3), np.ones(3), np.zeros(0)).staircases(np.ones(3))) == []
