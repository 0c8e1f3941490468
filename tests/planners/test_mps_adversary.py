"""What planners claim of random MPS problems, judged by trying everything; a draw of what mps_adversary.py runs."""

import pytest
from oracles.mps_adversary import judged
from problems.mps_draws import small_gpus


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


@pytest.mark.parametrize("first", [0, 10])
def test_no_claim_on_small_problems_is_false(first):
    """Property: no plan that does not hold, no bound or optimum above a plan that exists, no false infeasible."""
    for seed in range(first, first + 10):
        verdict = judged(seed)
        assert not verdict.false, (seed, verdict.false)


@pytest.mark.parametrize(("family", "seeds"), [("absurd", 5), ("many-replicas", 3), ("large", 1), ("mixed", 3)])
def test_no_claim_on_strange_problems_is_false(family, seeds):
    for seed in range(seeds):
        verdict = judged(seed, family)
        assert not verdict.false, (family, seed, verdict.false)


@pytest.mark.parametrize("least_sms", [3, 5])
@pytest.mark.parametrize(("family", "seeds"), [("small", 7), ("absurd", 2), ("many-replicas", 2), ("mixed", 2)])
def test_no_claim_is_false_where_the_hardware_gives_no_small_shares(family, seeds, least_sms):
    """Property: as above, the oracle trying no smaller ones; and no planner has any, in no plan whatever it misses."""
    with small_gpus(least_sms):
        for seed in range(100, 100 + seeds):
            verdict = judged(seed, family)
            assert not verdict.false, (family, seed, verdict.false)


def test_a_share_that_falls_without_end_with_its_coefficient_is_none():
    """A k4 of 1e300 makes the share that is needed a number below all whole ones."""
    verdict = judged(60060, "absurd")
    assert not verdict.false


def test_a_plan_beyond_igniters_rules_disputes_no_claim_about_plans_of_theirs():
    """`ffd` knows no neighbours: it gives the rest of a split service less than its part, and what costs less."""
    verdict = judged(77250, "many-replicas")
    assert not verdict.false
    assert ("ffd", "no plan of iGniter's rules: 38.10") in verdict.notes
