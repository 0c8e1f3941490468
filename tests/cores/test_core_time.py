"""The least core-time of a query: against every sequence of counts, and the figures of the published layer times."""

import random

import numpy as np
import pytest
from oracles.core_time_oracle import least_core_us
from problems.layer_chains import published_chain, random_chain

from sliceplan.solver.cores.chain import Chain
from sliceplan.solver.cores.core_time import least_core_time
from sliceplan.solver.model.errors import InputError


@pytest.mark.parametrize("seed", range(120))
def test_the_least_core_time_is_that_of_the_best_sequence_of_counts(seed):
    draw = random.Random(seed)
    chain = random_chain(draw, layers=draw.randint(1, 5), counts=draw.randint(1, 4))
    us, cores = chain.us.tolist(), chain.cores.tolist()
    limit = draw.randint(1, 40 * len(us))
    delta = draw.choice([0, 0, draw.randint(1, 15)])
    most_cores = draw.choice([None, draw.randint(1, cores[-1] + 1)])
    most_blocks = draw.choice([None, draw.randint(1, len(us) + 1)])
    expected = least_core_us(us, cores, limit, delta_us=delta, most_cores=most_cores, most_blocks=most_blocks)
    found = least_core_time(chain, limit / 1000, most_cores=most_cores, change_ms=delta / 1000, most_blocks=most_blocks)
    if expected is None:
        assert found is None
        return
    assert found.core_ms * 1000 == pytest.approx(expected, abs=1e-6)
    assert_is_its_own_way(found, chain, limit, delta)
    assert found.peak <= (most_cores or cores[-1])
    assert found.blocks <= (most_blocks or len(us))


def assert_is_its_own_way(found, chain, limit, delta):
    at = [int(np.flatnonzero(chain.cores == c)[0]) for c in found.cores]
    times = [int(chain.us[layer, c]) for layer, c in enumerate(at)]
    changed = [found.cores[layer] for layer in range(1, len(at)) if at[layer] != at[layer - 1]]
    assert found.ms * 1000 == pytest.approx(sum(times) + delta * len(changed))
    assert found.ms * 1000 <= limit + 1e-6
    spent = sum(t * c for t, c in zip(times, found.cores, strict=True)) + delta * sum(changed)
    assert found.core_ms * 1000 == pytest.approx(spent)


@pytest.mark.parametrize(
    ("slo_ms", "settings", "core_ms", "peak"),
    [
        (15, {}, 178.376, 32),
        (15, {"most_cores": 16}, 178.512, 16),
        (15, {"change_ms": 0.1}, 182.08, 16),
        (15, {"change_ms": 0.22}, 183.04, 16),
        (15, {"most_blocks": 1}, 183.296, 16),
        (10, {}, 184.248, 32),
        (10, {"most_cores": 24}, 186.008, 24),
        (10, {"change_ms": 0.1}, 190.744, 24),
        (10, {"change_ms": 0.22}, 192.904, 24),
        (10, {"most_blocks": 1}, 199.032, 24),
    ],
)
def test_resnet50_takes_the_least_core_time_that_a_prototype_found(slo_ms, settings, core_ms, peak):
    found = least_core_time(published_chain("resnet50"), slo_ms, **settings)
    assert found.core_ms == pytest.approx(core_ms, abs=1e-9)
    assert found.peak == peak
    assert found.blocks == {0: found.blocks, 0.1: 2, 0.22: 2}[settings.get("change_ms", 0)]


@pytest.mark.parametrize("slo_ms", [10, 15])
def test_googlenet_is_best_as_a_whole(slo_ms):
    found = least_core_time(published_chain("googlenet"), slo_ms)
    assert (found.core_ms, found.ms, found.peak, found.blocks) == (59.216, 7.402, 8, 1)


def test_a_limit_below_the_fastest_time_has_no_way():
    chain = published_chain("resnet50")
    assert least_core_time(chain, 4.29).ms == 4.29
    assert least_core_time(chain, 4.289) is None


def test_more_states_than_are_kept_are_refused():
    chain = Chain("long", np.array([1]), np.full((100, 1), 10), np.ones(100, dtype=int))
    with pytest.raises(InputError, match=r"is 10000 ms, with 100 layers .* expected at most"):
        least_core_time(chain, 10_000)
