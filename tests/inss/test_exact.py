"""The exact optimum against all placements, units and batches; its sizes; and what it finds for InSS' six models."""

from itertools import combinations, product

import numpy as np
import pytest
from oracles.inss_decisions import best_of_all
from problems.inss_instances import alike, random_inss_problem, six_models

from sliceplan.solver.inss.decision import Decision, judged
from sliceplan.solver.inss.exact.partition import best_partition
from sliceplan.solver.inss.exact.set_values import Asked, optimistic, set_value, upper_bound
from sliceplan.solver.inss.exact.unit_vectors import unit_vectors
from sliceplan.solver.inss.latency import latencies_of
from sliceplan.solver.inss.rates import walk_of
from sliceplan.solver.runtime.progress import listening


def test_the_optimum_is_the_best_of_all_decisions():
    feasible = 0
    for seed in range(24):
        problem, spare = random_inss_problem(seed), (1.0, 1.2)[seed % 2]
        latencies = latencies_of(problem)
        found, expected = best_partition(latencies, latencies.rates_rps, spare=spare), best_of_all(problem, spare)
        if expected is None:
            assert found is None, seed
            continue
        feasible += 1
        assert found.value == found.limit == pytest.approx(expected, rel=1e-9), seed
        verdict = judged(latencies, found.decision, latencies.rates_rps, spare)
        assert verdict.holds, (seed, verdict.missed)
        assert verdict.capacity_rps.sum() == pytest.approx(found.value, rel=1e-9)
    assert 4 < feasible < 22


def test_bounds_are_never_below_values():
    for seed in range(30):
        latencies = latencies_of(random_inss_problem(seed))
        asked = Asked(latencies, latencies.rates_rps, np.ones(3), 1.0)
        for kind in range(2):
            for size in (1, 2, 3):
                for models in combinations(range(3), size):
                    value = set_value(asked, kind, models).value
                    assert upper_bound(optimistic(asked, kind, np.array(models))) >= value * (1 - 1e-12)


def test_weights_count():
    problem = six_models()
    latencies = latencies_of(problem)
    plain = best_partition(latencies, latencies.rates_rps)
    solo = best_partition(latencies, latencies.rates_rps, weights=1 / latencies.solo_rps)
    by_solo = judged(latencies, solo.decision, latencies.rates_rps).capacity_rps
    assert solo.value == pytest.approx(float((by_solo / latencies.solo_rps).sum()))
    assert by_solo.sum() < plain.value


def test_unit_vectors_are_all_there_are():
    least = np.array([1, 3, 2])
    found = {tuple(one) for one in unit_vectors(9, least).tolist()}
    assert found == {u for u in product(range(1, 10), repeat=3) if sum(u) <= 9 and all(np.array(u) >= least)}
    assert len(unit_vectors(5, least)) == 0


@pytest.mark.parametrize(("models", "gpus"), [(8, (3, 2)), (12, (4, 4))])
def test_more_models_and_gpus_are_proven_with_few_values(models, gpus):
    """Of 12 models on two types there are 8,190 values; the bounds leave some dozens of them to compute."""
    latencies = latencies_of(alike(models, gpus, seed=0))
    said = []
    with listening(lambda one: said.append(one.text)):
        found = best_partition(latencies, latencies.rates_rps, spare=1.1)
    verdict = judged(latencies, found.decision, latencies.rates_rps, 1.1)
    assert verdict.holds
    assert verdict.capacity_rps.sum() == pytest.approx(found.value)
    assert int(said[-1].rpartition(" ")[2].replace(",", "")) < 150


def test_six_models_at_the_rates_of_the_evaluation():
    """
    7,429 requests/s on average here. The prototype has 7,761, with times of two models that nobody published.

    Each of us assumed its own for MobileNetV3 and EfficientNet; with ours a tenth shorter it is 7,760.
    """
    problem = six_models()
    latencies = latencies_of(problem)
    rates = walk_of(problem).evaluation(150)[::10]
    assert [int(row.sum()) for row in rates] == [1130] * 7 + [1210, 1250, 1330, 1410, 1490, 1530, 1570, 1570]
    found = [best_partition(latencies, row).value for row in rates]
    assert np.mean(found) == pytest.approx(7429, abs=1)
    assert int(np.argmin(found)) == 6  # at 60 s, where the published capacity is least too
    shorter = tuple(
        one.model_copy(
            update={
                "running": one.running.model_copy(
                    update={"rational": tuple(k if n == 3 else 0.9 * k for n, k in enumerate(one.running.rational))}
                )
            }
        )
        if one.model in ("mobilenet_v3", "efficientnet")
        else one
        for one in problem.models
    )
    other = latencies_of(problem.model_copy(update={"models": shorter}))
    assert np.mean([best_partition(other, row).value for row in rates]) == pytest.approx(7760, abs=1)


def test_what_a_decision_misses_is_named():
    latencies = latencies_of(six_models())
    one_gpu = Decision(np.zeros(6, dtype=np.int64), np.full(6, 4), np.full(6, 32))
    verdict = judged(latencies, one_gpu, latencies.rates_rps)
    assert not verdict.holds
    assert set(verdict.missed[0]) == {"units", "memory", "slo"}
    nowhere = Decision(np.array([-1, 0, 1, 2, 3, 3]), np.full(6, 2), np.array([1, 0, 1, 1, 1, 1]))
    missed = judged(latencies, nowhere, latencies.rates_rps).missed
    assert missed[0] == missed[1] == ("place",)
    assert "rate" in missed[5]
