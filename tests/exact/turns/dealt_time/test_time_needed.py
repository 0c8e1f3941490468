"""Which part of a share's time a service needs, beside rounds of all lengths."""

import numpy as np
import pytest

from sliceplan.solver.exact.turns.dealt_time.time_needed import Needs


def least_of_all_rounds(slo_ms, limit_ms, rate, slots_kept, batch, latency_ms, throughput):
    """Returns the least time for each part of the rate, over many lengths of a round and back to back."""
    least = max(1.0, rate / throughput) if latency_ms <= limit_ms else np.inf
    for d in np.append(np.linspace(latency_ms, slo_ms, 4001), [1000 * batch / rate, slo_ms - latency_ms, slo_ms / 2]):
        if d >= latency_ms and (d + latency_ms if slots_kept else 2 * d) <= slo_ms:
            least = min(least, latency_ms / d / min(1.0, 1000 * batch / (d * rate)))
    return least


@pytest.mark.parametrize("slots_kept", [True, False])
def test_it_is_the_least_of_all_rounds(slots_kept):
    draw = np.random.default_rng(4)
    several = 0
    for _ in range(300):
        slo_ms, rate = draw.uniform(20, 200), 10 ** draw.uniform(0, 3.5)
        limit_ms, batch = slo_ms * draw.uniform(0.3, 0.7), int(draw.integers(1, 33))
        latency_ms = slo_ms * draw.choice([draw.uniform(0.001, 0.6), draw.uniform(0.45, 0.55)])
        throughput = 1000 * batch / latency_ms * draw.uniform(1, 1.3)
        needs = Needs(np.array([slo_ms]), np.array([limit_ms]), np.array([rate]), slots_kept)
        found = float(needs.time_of(0, np.array(batch), np.array(latency_ms), np.array(throughput)))
        least = least_of_all_rounds(slo_ms, limit_ms, rate, slots_kept, batch, latency_ms, throughput)
        assert found == pytest.approx(least, rel=3e-6)
        assert np.isinf(least) or found <= least
        several += 1 < found < np.inf
    assert several > 20


def test_nothing_carries_it_that_is_nowhere():
    needs = Needs(np.array([100.0]), np.array([50.0]), np.array([10.0]), slots_kept=True)
    assert np.isinf(needs.time_of(0, np.array([1]), np.array([np.inf]), np.array([0.0]))).all()
