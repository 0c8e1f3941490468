"""
gpu-lets' Algorithm 1, of whose words an independent prototype gives the same counts and scales.

Not quite: with interference on the surrogate the prototype claims 831 sets of rates where this port claims 832.
"""

import pytest
from problems.gpulets import a100_problem, a100_profiles, a100_services, scenarios
from problems.gpulets_surrogate import surrogate

from sliceplan.solver.api import solve
from sliceplan.solver.planners.time_sharing.algorithm_one import algorithm_one
from sliceplan.solver.planners.time_sharing.shares import judged

GPUS = 4


def a100(rates):
    return a100_services(rates)


def a100_beside_neighbours(rates):
    return a100_services(rates, interferes=True)


def rtx(rates):
    return surrogate(rates, clean=False)


@pytest.mark.parametrize(
    ("services", "steps", "claims"),
    [
        (a100, (0, 800, 1600, 2400), 883),
        (a100_beside_neighbours, (0, 800, 1600, 2400), 879),
        (rtx, (0, 200, 400, 600), 852),
    ],
)
def test_counts_are_those_of_the_prototype(services, steps, claims):
    assert sum(algorithm_one(services(rates), GPUS) is not None for rates in scenarios(steps)) == claims


@pytest.mark.parametrize(
    ("services", "base", "step", "greatest"),
    [
        (a100, (200, 200, 200, 200, 200), 0.1, 8.7),
        (a100, (0, 0, 400, 400, 400), 0.05, 5.3),
        (rtx, (50, 50, 50, 50, 50), 0.2, 7.2),
        (rtx, (0, 0, 100, 100, 100), 0.1, 4.5),
    ],
)
def test_greatest_multiples_are_those_of_the_prototype(services, base, step, greatest):
    claimed = [
        factor * step
        for factor in range(1, round(1.2 * greatest / step))
        if algorithm_one(services([rate * factor * step for rate in base]), GPUS) is not None
    ]
    assert max(claimed) == pytest.approx(greatest)


def test_the_traffic_application_is_scheduled_up_to_the_prototypes_rate():
    """Its SLO of 136 ms is split: an SSD finds what GoogLeNet and VGG16 then look at."""

    def is_scheduled(rate):
        names = ("ssd", "googlenet", "vgg16")
        return algorithm_one(surrogate((rate,) * 3, clean=True, names=names, slo_ms=(69, 67, 67)), GPUS) is not None

    assert [is_scheduled(rate) for rate in (715, 720)] == [True, False]


def test_without_interference_claims_hold():
    for rates in list(scenarios())[::23]:
        services = a100(rates)
        gpus = algorithm_one(services, GPUS)
        if gpus is not None:
            assert judged(services, gpus, late=0, short=1e-6).holds
            for lets in gpus:
                assert sum(let.share for let in lets) == 100


def test_a_plan_is_judged_by_the_problems_rule():
    plan = solve(a100_problem((800, 800, 800, 400, 400)), "gpulets-paper", profiles=a100_profiles())
    assert plan.status == "feasible"
    assert plan.gpus_used <= GPUS
