"""What planners and modes claim of random MIG problems, judged by trying everything; a draw of mig_adversary.py."""

from collections import Counter

import pytest
from oracles.mig_adversary import judged
from oracles.mig_oracle import TooManyError


@pytest.mark.parametrize("first", [0, 4])
def test_no_claim_on_small_problems_is_false(first):
    """Property: no plan that does not hold, no bound, limit or optimum beyond what exists, no false infeasible."""
    answers = Counter()
    for seed in range(first, first + 4):
        try:
            verdict = judged(seed)
        except TooManyError:
            continue
        assert not verdict.false, (seed, verdict.false)
        answers += verdict.answers
    # How far each comes within its time depends on the machine; that it is false never does.
    asked = {answer.split()[0] for answer in answers}
    assert {"exact", "exact-pulp", "parvagpu", "headroom", "shed", "replan"} <= asked


def test_what_is_left_of_a_rate_may_be_more_than_a_partition_carries_by_rounding():
    """ParvaGPU's demand matching found no segment for it (seed 145)."""
    assert not judged(145).false
