"""Whether GPUs serve rates at all, against enumeration in plain loops."""

import random

import numpy as np
import pytest
from oracles.turns_enumeration import drawn, fewest

from sliceplan.solver.exact.turns.schedulable import Limited


@pytest.mark.parametrize("seed", range(12))
def test_decisions_are_those_of_enumeration(seed):
    """Property: on so many GPUs as are needed the rates are possible, on one fewer they are not."""
    rng = random.Random(300 + seed)
    base, slo_ms = drawn(rng, 2, batches=3)
    latency = {share: base * (100 / share) ** rng.uniform(0.3, 0.9) for share in (20, 40, 60, 80, 100)}
    limited = Limited(latency, slo_ms)
    assert set(limited.divisions) == {(100,), (80, 20), (60, 40)}
    rate = np.array([rng.uniform(50, 1500) for _ in slo_ms])
    if rng.random() < 0.2:
        rate[rng.randrange(2)] = 0.0
    on = np.flatnonzero(rate > 0)
    least = fewest({share: one[on] for share, one in latency.items()}, slo_ms[on], rate[on], limited.divisions, 8)
    if least is None:
        assert limited.decided(rate, 8).what == "impossible"
        return
    assert limited.decided(rate, least).what == "possible"
    assert limited.decided(rate, least + 2).what == "possible"
    if least > 1:
        assert limited.decided(rate, least - 1).what == "impossible"
