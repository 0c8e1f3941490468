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
    assert answers["exact optimal"]
    assert answers["headroom close"]
    assert answers["shed least"]
